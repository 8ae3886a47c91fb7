#pragma once
// Hosted: a process that the user's own command has started, and that becomes a rank when it calls MPI.
//
// Role:      finds the shim of its rank (tools/mpclaunch/shim.h) by the environment, asks it for the
//            rank's seat, which the first process gets, and is a process of the job from then on.
// Users:     runtime/job (hosted_job, one_of_many), tools/mpcrun.
// Threads:   any, while no other thread changes the environment.
// See also:  docs/design/0032-hosted-ranks.md.

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/wireup/wireup.h"

namespace mpc::wireup {

// Has a command that is a hosted rank started this process?
bool has_shim() noexcept;
// From now on children of this process do not find the shim.
void hide_shim();

// The address where a shim of this name listens: a name of
// the kernel, no file. Cut if it is too long.
struct ShimAddress {
  explicit ShimAddress(const std::string& name) noexcept;
  alignas(8) char bytes[128];
  unsigned size = 0;  // bytes
};

// The number of the rank's program among those of the job. Caller: before connect_hosted().
int program_number();

// Waits until the shim has answered. Removes the shim's variables from the environment.
// Errors: kOther: another process is the rank; kSystem, kUnsupported. Without a text the
// launcher prints it.
Result<std::unique_ptr<Wireup>> connect_hosted();

}  // namespace mpc::wireup
