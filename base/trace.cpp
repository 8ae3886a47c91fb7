#include "base/trace.h"

#include <time.h>

#include <algorithm>
#include <memory>

namespace mpc::trace {
namespace {

// A slot's fields are atomic because a reader may come while a late recorder still writes.
struct Slot {
  std::atomic<uint64_t> time_ns{0};
  std::atomic<const char*> layer{nullptr};
  std::atomic<const char*> what{nullptr};
  std::atomic<uint64_t> value{0};
  std::atomic<void*> who{nullptr};
};

// Kept until the next start(): a late recorder may still write to it.
Slot* ring = nullptr;
size_t ring_size = 0;
constinit std::atomic<uint64_t> recorded{0};
constinit std::atomic<void* (*)()> who_source{nullptr};

uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

namespace detail {

constinit std::atomic<bool> is_on{false};

void record(const char* layer, const char* what, uint64_t value) noexcept {
  if (!is_on.load(std::memory_order_acquire)) return;  // pairs with start()
  Slot& slot = ring[recorded.fetch_add(1, std::memory_order_relaxed) % ring_size];
  auto* source = who_source.load(std::memory_order_relaxed);
  slot.time_ns.store(now_ns(), std::memory_order_relaxed);
  slot.layer.store(layer, std::memory_order_relaxed);
  slot.value.store(value, std::memory_order_relaxed);
  slot.who.store(source != nullptr ? source() : nullptr, std::memory_order_relaxed);
  slot.what.store(what, std::memory_order_release);  // last: pairs with take()
}

}  // namespace detail

void start(size_t capacity) {
  stop();
  delete[] ring;
  ring_size = std::max<size_t>(capacity, 1);
  ring = new Slot[ring_size];
  recorded.store(0, std::memory_order_relaxed);
  detail::is_on.store(true, std::memory_order_release);
}

void stop() noexcept { detail::is_on.store(false, std::memory_order_release); }

std::vector<Event> take() {
  std::vector<Event> events;
  const uint64_t end = recorded.load(std::memory_order_relaxed);
  const uint64_t begin = end > ring_size ? end - ring_size : 0;
  for (uint64_t i = begin; i < end; ++i) {
    const Slot& slot = ring[i % ring_size];
    const char* what = slot.what.load(std::memory_order_acquire);
    if (what == nullptr) continue;  // claimed, not yet written
    events.push_back({slot.time_ns.load(std::memory_order_relaxed),
                      slot.layer.load(std::memory_order_relaxed), what,
                      slot.value.load(std::memory_order_relaxed),
                      slot.who.load(std::memory_order_relaxed)});
  }
  return events;
}

void set_who_source(void* (*source)()) noexcept {
  who_source.store(source, std::memory_order_relaxed);
}

}  // namespace mpc::trace
