#pragma once
// MessageCounts: all messages between ranks, as a member of the head of a trace.
//
// Role:      what base/traffic.h has counted while the job ran, whatever became of the events.
// Users:     runtime/trace/json.cpp.
// Threads:   one, when the job is over or ends.
// See also:  docs/tracing.md (the file).

#include "runtime/trace/output.h"

namespace mpc::trace {

// ,"messages":[[to,from,messages,bytes],...]. Uses no malloc.
void write_messages(Output& out) noexcept;

}  // namespace mpc::trace
