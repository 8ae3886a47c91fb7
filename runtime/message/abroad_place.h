#pragma once
// AbroadPlace: in which lobby this process meets other jobs, unless the name of a port says otherwise.
//
// Role:      the folder that the settings name. A job on several hosts has one lobby, that of the host of
//            process 0, which has a door for the others from the start.
// Users:     runtime/message (network, abroad).
// Threads:   put and get: the thread that starts the job; the others any.
// See also:  runtime/wireup/lobby.h, docs/design/0048-spawn-over-hosts.md.

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/wireup/place.h"

namespace mpc::msg::abroad {

wireup::Place home_place();
// May processes of other hosts connect to this one (mpi.port_network)?
bool may_be_reached() noexcept;

// Of a job of several processes: before the exchange, and after it. Errors: kSystem.
Result<> put_place(job::Job& job);
Result<> get_place(job::Job& job);

}  // namespace mpc::msg::abroad
