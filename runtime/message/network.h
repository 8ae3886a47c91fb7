#pragma once
// Network: the way between the processes of a job, opened before its ranks start.
//
// Role:      makes the end of each process, and the net between them.
// Users:     mpi/objects/rank_life; tests.
// Threads:   one, before ranks run and after they have ended.
// See also:  runtime/message/endpoint.h, runtime/transport/net.h.

#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/job/process_map.h"
#include "runtime/transport/loopback/loopback.h"

namespace mpc::msg {

// Between virtual processes. Nothing if there is one process only. Ownership: the map outlives the
// network. Errors: kSystem.
Result<> open_network(const job::ProcessMap& map,
                      const transport::LoopbackConfig& config);
// Between this process and the others of the job: before a program is loaded (load), and when all
// have told each other their addresses (open). Errors: kUnsupported, kSystem.
Result<> load_process_network(job::Job& job);
Result<> open_process_network(job::Job& job);
// Nothing if there is none, or if ranks have mailboxes yet: then the process is about to end.
// What nobody has received is dropped.
void close_network();
bool has_network() noexcept;

}  // namespace mpc::msg
