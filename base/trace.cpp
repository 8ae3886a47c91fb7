#include "base/trace.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/traffic.h"

namespace mpc::trace {
namespace {

using detail::Chunk;
using detail::kChunkEvents;

// Kept until the next start(): a late recorder may still write to it.
constinit Chunk* memory = nullptr;
constinit size_t capacity_chunks = 0;
constinit std::atomic<size_t> chunks_taken{0};
constinit std::atomic<uint32_t> session{0};
constinit std::atomic<void* (*)()> who_source{nullptr};
constinit std::atomic<int (*)()> core_source{nullptr};
// On a cache line of its own: every recorder writes it once the memory is full.
alignas(64) constinit std::atomic<uint64_t> lost{0};

// What an execution knows about its part of the trace.
struct Local {
  Chunk* chunk;
  uint32_t session;
  uint32_t writer;
  Role role;
  void* who;
};
thread_local constinit Local t_local __attribute__((tls_model("initial-exec"))) = {
    nullptr, 0, 0, Role::kUnknown, nullptr};

// The chunk that has room, or null.
Chunk* chunk_with_room(Local& local) noexcept {
  const uint32_t present = session.load(std::memory_order_relaxed);
  const bool is_first = local.session != present;
  if (is_first) local.chunk = nullptr;
  Chunk* chunk = local.chunk;
  if (chunk != nullptr && chunk->used.load(std::memory_order_relaxed) < kChunkEvents)
    return chunk;
  // The count goes on growing when all are taken; it is read through chunk_count().
  const size_t index = chunks_taken.fetch_add(1, std::memory_order_relaxed);
  if (index >= capacity_chunks) {
    chunks_taken.store(capacity_chunks, std::memory_order_relaxed);
    return nullptr;
  }
  if (is_first) local.writer = static_cast<uint32_t>(index);
  local.session = present;
  chunk = local.chunk = &memory[index];
  auto* source = who_source.load(std::memory_order_relaxed);
  void* who = local.who != nullptr || source == nullptr ? local.who : source();
  chunk->writer = local.writer;
  chunk->role.store(local.role, std::memory_order_relaxed);
  chunk->who.store(who, std::memory_order_relaxed);
  return chunk;
}

// Longer calls are worth a span of their own, and so is what the caller does between them.
constexpr uint64_t kPollingNs = 1000;

// [begin, end, begin] at the end of the list, and now the second end: are these calls of a rank
// that polls? The last value of a begin counts the repetitions.
bool is_repetition(const Event* last, const Site& site, uint64_t now) noexcept {
  const Event &first = last[-3], &first_end = last[-2], &second = last[-1];
  return first.kind == Kind::kBegin && first_end.kind == Kind::kEnd &&
         second.kind == Kind::kBegin && first.site == &site && second.site == &site &&
         first.core == second.core && second.time_ns - first_end.time_ns < kPollingNs &&
         now - second.time_ns < kPollingNs &&
         std::equal(first.values, first.values + kMaxValues - 1, second.values);
}

}  // namespace

namespace detail {

alignas(64) constinit std::atomic<bool> is_on{false};

const Site kRunSite{"scheduler", "run"};

void record(Kind kind, const Site& site, const uint64_t* values, size_t count,
            int32_t rank) noexcept {
  if (!is_on.load(std::memory_order_acquire)) return;  // pairs with start()
  Chunk* chunk = chunk_with_room(t_local);
  if (chunk == nullptr) {
    lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint32_t used = chunk->used.load(std::memory_order_relaxed);
  Event& event = chunk->events[used];
  auto* core = core_source.load(std::memory_order_relaxed);
  event.time_ns = now_ns();
  event.site = &site;
  std::fill(std::copy_n(values, count, event.values), event.values + kMaxValues, 0);
  event.rank = rank;
  event.core = static_cast<int16_t>(core != nullptr ? core() : -1);
  event.kind = kind;
  chunk->used.store(used + 1, std::memory_order_release);  // pairs with for_each()
}

// A reader that comes between the stores sees a span without an end, which is harmless.
void end(const Site& site) noexcept {
  Chunk* chunk = t_local.chunk;
  if (chunk != nullptr && t_local.session == session.load(std::memory_order_relaxed) &&
      is_on.load(std::memory_order_relaxed)) {
    const uint32_t used = chunk->used.load(std::memory_order_relaxed);
    Event* last = chunk->events + used;
    const uint64_t now = now_ns();
    if (used >= 3 && is_repetition(last, site, now)) {
      std::atomic_ref(last[-2].time_ns).store(now, std::memory_order_relaxed);
      std::atomic_ref count(last[-3].values[kMaxValues - 1]);
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      chunk->used.store(used - 1, std::memory_order_release);
      return;
    }
  }
  record(Kind::kEnd, site, nullptr, 0, kOwn);
}

size_t chunk_count() noexcept {
  return std::min(chunks_taken.load(std::memory_order_relaxed), capacity_chunks);
}

const Chunk& chunk(size_t index) noexcept { return memory[index]; }

}  // namespace detail

void introduce(Role role, void* who) noexcept {
  Local& local = t_local;
  local.role = role;
  local.who = who;
  if (local.chunk == nullptr ||
      local.session != session.load(std::memory_order_relaxed))
    return;
  // The execution has been switched to already, which was an event.
  local.chunk->role.store(role, std::memory_order_relaxed);
  local.chunk->who.store(who, std::memory_order_relaxed);
}

bool start(size_t capacity) noexcept {
  stop();
  if (memory != nullptr) ::munmap(memory, capacity_chunks * sizeof(Chunk));
  capacity_chunks = std::max<size_t>((capacity + kChunkEvents - 1) / kChunkEvents, 1);
  // Zeroed; memory is committed only when an event is written.
  void* mapped =
      ::mmap(nullptr, capacity_chunks * sizeof(Chunk), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    memory = nullptr;
    capacity_chunks = 0;
    return false;
  }
  memory = static_cast<Chunk*>(mapped);
  chunks_taken.store(0, std::memory_order_relaxed);
  lost.store(0, std::memory_order_relaxed);
  session.fetch_add(1, std::memory_order_relaxed);
  detail::is_on.store(true, std::memory_order_release);  // pairs with record()
  traffic::note_trace(true);
  return true;
}

void stop() noexcept {
  detail::is_on.store(false, std::memory_order_release);
  traffic::note_trace(false);
}

uint64_t lost_count() noexcept { return lost.load(std::memory_order_relaxed); }

std::vector<Taken> take() {
  std::vector<Taken> events;
  for_each([&](const Event& event, const Writer& writer) {
    events.push_back({event, writer});
  });
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time_ns < b.time_ns;
  });
  return events;
}

void set_who_source(void* (*source)()) noexcept {
  who_source.store(source, std::memory_order_relaxed);
}

void set_core_source(int (*source)()) noexcept {
  core_source.store(source, std::memory_order_relaxed);
}

}  // namespace mpc::trace
