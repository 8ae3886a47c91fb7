#include "runtime/message/match_note.h"

#include "base/trace.h"
#include "runtime/message/mailbox.h"

namespace mpc::msg {
namespace {

constexpr trace::Site kMatch{
    "message", "match", {"bytes", "source", "tag", "context", "send"}};

}  // namespace

void note_match(int receiver, const Key& key, int64_t bytes,
                const Entry* send) noexcept {
  traffic::count(receiver, key.context, key.source, static_cast<uint64_t>(bytes));
  if (!trace::enabled()) return;
  trace::instant(
      kMatch,
      {static_cast<uint64_t>(bytes),
       static_cast<uint64_t>(traced_source(receiver, key)),
       static_cast<uint64_t>(key.tag), key.context, reinterpret_cast<uintptr_t>(send)},
      receiver);
}

}  // namespace mpc::msg
