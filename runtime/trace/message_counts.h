#pragma once
// MessageCounts: all messages between ranks, as a member of the head of a trace.
//
// Role:      the counts of base/traffic.h while the job ran, even if events were lost.
// Users:     runtime/trace/json.cpp.
// Threads:   one, when the job is over or ends.
// See also:  docs/tracing.md (the file).

#include "runtime/trace/output.h"

namespace mpc::trace {

// ,"messages":[[to,from,messages,bytes],...]. Uses no malloc.
void write_messages(Output& out) noexcept;

}  // namespace mpc::trace
