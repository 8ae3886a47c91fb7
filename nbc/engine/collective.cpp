#include "nbc/engine/collective.h"

#include <new>

#include "runtime/datatype/abi.h"

namespace mpc::nbc {

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kKeptScratchBytes = 1 << 20;  // more goes back after use
constexpr size_t kKeptMessages = 256;

}  // namespace

Collective::~Collective() {
  delete[] states;
  delete[] messages;
  ::operator delete(scratch, kAlignment);
}

const dt::Datatype& Collective::type(const Place& place) const noexcept {
  static const dt::Datatype* const bytes = dt::predefined(dt::abi::kByte);
  return place.type == kByteType ? *bytes : *binding.types[place.type];
}

bool Collective::reserve(const Schedule& s) {
  const size_t node_count = s.nodes().size();
  if (node_count > node_capacity_) {
    delete[] states;
    states = new (std::nothrow) NodeState[node_count];
    node_capacity_ = states != nullptr ? node_count : 0;
    if (states == nullptr) return false;
  }
  if (s.message_count() > message_capacity_) {
    delete[] messages;
    messages = new (std::nothrow) Message[s.message_count()];
    message_capacity_ = messages != nullptr ? s.message_count() : 0;
    if (messages == nullptr) return false;
  }
  const auto scratch_bytes = static_cast<size_t>(s.scratch_bytes());
  if (scratch_bytes > scratch_capacity_) {
    ::operator delete(scratch, kAlignment);
    scratch = static_cast<std::byte*>(
        ::operator new(scratch_bytes, kAlignment, std::nothrow));
    scratch_capacity_ = scratch != nullptr ? scratch_bytes : 0;
    if (scratch == nullptr) return false;
  }
  return true;
}

bool Collective::bind(const Schedule& s, const Binding& b) {
  schedule = &s;
  nodes = s.nodes().data();
  binding = b;
  received_bytes_.store(-1, std::memory_order_relaxed);
  return reserve(s);
}

bool Collective::bind_copy(std::shared_ptr<const Schedule> s, const Binding& b) {
  kept_schedule_ = std::move(s);
  kept_buffers_.assign(b.buffers.begin(), b.buffers.end());
  kept_types_.assign(b.types.begin(), b.types.end());
  Binding copied = b;
  copied.buffers = kept_buffers_;
  copied.types = kept_types_;
  return bind(*kept_schedule_, copied);
}

void Collective::prepare() noexcept {
  const auto all = schedule->nodes();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].predecessor_count > 1)
      states[i].waiting.store(all[i].predecessor_count, std::memory_order_relaxed);
  // Relaxed: nothing is in flight; the first message's queue publishes them.
  sinks_left.store(schedule->sink_count(), std::memory_order_relaxed);
  has_failed.store(false, std::memory_order_relaxed);
  status = msg::Status{};
  state.store(kRunning, std::memory_order_relaxed);
}

int64_t Collective::received_bytes() const noexcept {
  int64_t bytes = received_bytes_.load(std::memory_order_relaxed);
  if (bytes >= 0) return bytes;
  bytes = 0;
  for (const Node& node : schedule->nodes())
    if (node.kind == NodeKind::kRecv) bytes += node.to.count * type(node.to).size();
  received_bytes_.store(bytes,
                        std::memory_order_relaxed);  // all who come now find the same
  return bytes;
}

void Collective::fail(Errc error) noexcept {
  // Relaxed: the decrement of sinks_left that follows publishes the status.
  if (has_failed.exchange(true, std::memory_order_relaxed)) return;
  status.failed = true;
  status.error = error;
}

void Collective::trim() noexcept {
  kept_schedule_.reset();
  waiter = nullptr;
  on_complete = nullptr;
  state.store(kIdle, std::memory_order_relaxed);  // the owner's alone again
  if (scratch_capacity_ > kKeptScratchBytes) {
    ::operator delete(scratch, kAlignment);
    scratch = nullptr;
    scratch_capacity_ = 0;
  }
  if (message_capacity_ > kKeptMessages) {
    delete[] messages;
    messages = nullptr;
    message_capacity_ = 0;
  }
}

}  // namespace mpc::nbc
