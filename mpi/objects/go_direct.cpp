#include "mpi/objects/go_direct.h"

#include "base/settings.h"
#include "mpi/objects/check.h"

namespace mpc::mpi {
namespace {

BoolSetting is_on(
    "nbc.direct", true,
    "Blocking collectives whose members all wait for each other copy straight "
    "between the members' buffers; 0: by messages");

}  // namespace

bool is_direct_on() noexcept { return is_on.get() && !is_checking(); }

bool may_go_direct(const Comm& comm) noexcept {
  return is_direct_on() && comm.has_team();
}

}  // namespace mpc::mpi
