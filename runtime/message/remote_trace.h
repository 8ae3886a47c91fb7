#pragma once
// Remote trace: what a trace shows of messages between processes.
//
// Role:      events like those of messages within a process, with the same names, joined by a number
//            that both processes know.
// Users:     runtime/message/remote_*.cpp.
// Threads:   any.
// See also:  base/trace.h, docs/tracing.md.

#include "base/trace.h"
#include "runtime/message/message.h"

namespace mpc::msg::remote {

inline constexpr trace::Site kCopySite{
    "message", "copy", {"bytes", "source", "tag", "context", "flow"}, false, true};
// The data have been requested; they come later.
inline constexpr trace::Site kFetchSite{
    "message", "fetch", {"bytes", "source", "tag", "context", "flow"}, false, true};
// The data have come.
inline constexpr trace::Site kFetchedSite{
    "message", "fetched", {"bytes", "source", "tag", "context"}};

// Names message `id` of a process uniquely in the job; never equal to the address of a send.
inline uint64_t flow_of(int process, uint64_t id) noexcept {
  constexpr int kIdBits = 40;
  return uint64_t{1} << 63 | static_cast<uint64_t>(process) << kIdBits | id;
}

// Begins the event of this rank's receive with message `id`
// of process `from`; trace::end() ends it.
// Caller: if trace::enabled().
[[gnu::cold]] void trace_begin(const trace::Site& site, int own_rank, const Key& key,
                               int64_t bytes, int from, uint64_t id) noexcept;
[[gnu::cold]] void trace_send(const job::Rank& self, const SendArgs& args, size_t bytes,
                              int process, uint64_t id) noexcept;
[[gnu::cold]] void trace_fetched(const Operation& receive) noexcept;

}  // namespace mpc::msg::remote
