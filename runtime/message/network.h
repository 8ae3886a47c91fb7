#pragma once
// Network: the connection between the processes of a job, opened before its ranks start.
//
// Role:      creates the endpoint of each process, and the net between them.
// Users:     mpi/objects/rank_life; tests.
// Threads:   one, before ranks run and after they have ended.
// See also:  runtime/message/endpoint.h, runtime/transport/net.h.

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/job/process_map.h"
#include "runtime/transport/loopback/loopback.h"

namespace mpc::msg {

// Opens it between virtual processes. No effect if there is only one process. Ownership: the map
// outlives the network. Errors: kSystem.
Result<> open_network(const job::ProcessMap& map,
                      const transport::LoopbackConfig& config);
// Opens it between this process and the others of the job: load before a program is loaded, open
// when all have told each other their addresses. Errors: kUnsupported, kSystem.
Result<> load_process_network(job::Job& job);
Result<> open_process_network(job::Job& job);
// No effect if there is none, or if ranks still have mailboxes: then the process is about to end.
// Messages that were not received are dropped.
void close_network();
bool has_network() noexcept;

}  // namespace mpc::msg
