#include "nbc/engine/collective.h"

#include "runtime/datatype/abi.h"

namespace mpc::nbc {

namespace {

// The memory that a collective in the pool may keep; more is freed after use.
constexpr size_t kKeptScratchBytes = 1 << 20;
constexpr size_t kKeptMessages = 256;

}  // namespace

const dt::Datatype& Collective::type(const BufferRef& ref) const noexcept {
  static const dt::Datatype* const bytes = dt::predefined(dt::abi::kByte);
  return ref.type == kByteType ? *bytes : *binding.types[ref.type];
}

bool Collective::bind(const Schedule& s, const Binding& b) noexcept {
  schedule = &s;
  nodes = s.nodes().data();
  binding = b;
  known_received_bytes.store(-1, std::memory_order_relaxed);
  const auto scratch_bytes = static_cast<size_t>(s.scratch_bytes());
  return states.reserve(s.nodes().size()) && messages.reserve(s.message_count()) &&
         scratch.reserve((scratch_bytes + sizeof(ScratchLine) - 1) /
                         sizeof(ScratchLine));
}

bool Collective::bind_copy(std::shared_ptr<const Schedule> s,
                           const Binding& b) noexcept {
  kept_schedule = std::move(s);
  try {
    kept_buffers.assign(b.buffers.begin(), b.buffers.end());
    kept_types.assign(b.types.begin(), b.types.end());
  } catch (const std::bad_alloc&) {
    return false;
  }
  Binding copied = b;
  copied.buffers = kept_buffers;
  copied.types = kept_types;
  return bind(*kept_schedule, copied);
}

void Collective::prepare() noexcept {
  const auto all = schedule->nodes();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].predecessor_count > 1)
      states[i].waiting.store(all[i].predecessor_count, std::memory_order_relaxed);
  // Relaxed: nothing is in flight; the first message's queue publishes the values.
  sinks_left.store(schedule->sink_count(), std::memory_order_relaxed);
  has_failed.store(false, std::memory_order_relaxed);
  is_broken.store(false, std::memory_order_relaxed);
  status = msg::Status{};
  phase.store(kRunning, std::memory_order_relaxed);
}

int64_t Collective::received_bytes() const noexcept {
  int64_t bytes = known_received_bytes.load(std::memory_order_relaxed);
  if (bytes >= 0) return bytes;
  bytes = 0;
  for (const Node& node : schedule->nodes())
    if (node.kind == NodeKind::kRecv) bytes += node.to.count * type(node.to).size();
  // Relaxed: executions that count at the same time get the same result.
  known_received_bytes.store(bytes, std::memory_order_relaxed);
  return bytes;
}

void Collective::fail(Errc error) noexcept {
  // Relaxed: the decrement of sinks_left that follows publishes the status.
  if (has_failed.exchange(true, std::memory_order_relaxed)) return;
  status.failed = true;
  status.error = error;
}

void Collective::trim() noexcept {
  kept_schedule.reset();
  waiter = nullptr;
  on_complete = nullptr;
  phase.store(kIdle, std::memory_order_relaxed);  // only the owner uses it again
  scratch.trim(kKeptScratchBytes / sizeof(ScratchLine));
  messages.trim(kKeptMessages);
}

}  // namespace mpc::nbc
