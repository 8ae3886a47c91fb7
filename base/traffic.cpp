#include "base/traffic.h"

#include <sys/mman.h>

#include <algorithm>
#include <unordered_map>

#include "base/mutex.h"

namespace mpc::traffic {
namespace {

// The counts of one receiver for one sender.
struct Cell {
  std::atomic<uint64_t> messages, bytes;
};

// What an execution has counted and not yet added to its cell, for the last few senders.
struct Entry {
  std::atomic<uint64_t> key;  // receiver and context, see key_of(); 0: free
  std::atomic<int32_t> source, from;
  std::atomic<uint64_t> messages, bytes;
};

constexpr size_t kEntries = 16;
struct Block {
  Entry entries[kEntries];
  uint64_t generation;  // the generation of senders that its entries belong to
};
constexpr size_t kMostBlocks = 1 << 16;

// Mapped at the first start(), never unmapped: a late execution may still count.
constinit Cell* cells = nullptr;
constinit size_t cell_count = 0;
constinit Block* blocks = nullptr;
constinit Ranks ranks;
constinit std::atomic<size_t> blocks_taken{0};
constinit std::atomic<uint32_t> session{0};
// Changes whenever a context id gets another meaning.
constinit std::atomic<uint64_t> generation{1};

struct Local {
  Block* block;
  uint32_t session;
};
thread_local constinit Local t_local
    __attribute__((tls_model("initial-exec"))) = {nullptr, 0};

struct Senders {
  const int* world_ranks;
  int count;
};
constinit Mutex senders_lock;
// Never destroyed: ranks may outlive the destructors of the process.
std::unordered_map<uint64_t, Senders>* g_senders MPC_GUARDED_BY(senders_lock) = nullptr;

uint64_t key_of(int rank, uint32_t context) noexcept {
  return (static_cast<uint64_t>(rank) + 1) << 32 | context;
}
int rank_of(uint64_t key) noexcept { return static_cast<int>(key >> 32) - 1; }

template <class T>
T* map(size_t count) noexcept {
  void* memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

// The last column is for unknown senders.
Cell* cell_of(int to, int from) noexcept {
  const int row = to - ranks.first;
  if (cells == nullptr || row < 0 || row >= ranks.count) return nullptr;
  const int column = from >= 0 && from < ranks.size ? from : ranks.size;
  return cells + static_cast<size_t>(row) * (static_cast<size_t>(ranks.size) + 1) +
         static_cast<size_t>(column);
}

void add_to_cell(int to, int from, uint64_t messages, uint64_t bytes) noexcept {
  Cell* const cell = cell_of(to, from);
  if (cell == nullptr || messages == 0) return;
  cell->messages.fetch_add(messages, std::memory_order_relaxed);
  cell->bytes.fetch_add(bytes, std::memory_order_relaxed);
}

int look_up(uint64_t key, int source) noexcept {
  const Locked lock(senders_lock);
  if (g_senders == nullptr) return -1;
  const auto found = g_senders->find(key);
  if (found == g_senders->end() || source < 0 || source >= found->second.count)
    return -1;
  return found->second.world_ranks[source];
}

void flush(Entry& entry) noexcept {
  const uint64_t key = entry.key.load(std::memory_order_relaxed);
  if (key == 0) return;
  add_to_cell(rank_of(key), entry.from.load(std::memory_order_relaxed),
              entry.messages.load(std::memory_order_relaxed),
              entry.bytes.load(std::memory_order_relaxed));
  entry.messages.store(0, std::memory_order_relaxed);
  entry.bytes.store(0, std::memory_order_relaxed);
  entry.key.store(0, std::memory_order_relaxed);
}

// The execution's own block, with entries of this generation; null: none is left.
[[gnu::cold, gnu::noinline]] Block* renewed_block(uint64_t now) noexcept {
  Local& local = t_local;
  const uint32_t present = session.load(std::memory_order_relaxed);
  if (local.session != present) {
    const size_t index = blocks_taken.fetch_add(1, std::memory_order_relaxed);
    local.block = blocks != nullptr && index < kMostBlocks ? &blocks[index] : nullptr;
    local.session = present;
  }
  if (local.block == nullptr) return nullptr;
  for (Entry& entry : local.block->entries) flush(entry);
  local.block->generation = now;
  return local.block;
}

[[gnu::cold, gnu::noinline]] void replace(Entry& entry, uint64_t key,
                                          int source) noexcept {
  flush(entry);
  entry.source.store(source, std::memory_order_relaxed);
  entry.from.store(look_up(key, source), std::memory_order_relaxed);
  entry.key.store(key, std::memory_order_relaxed);
}

// Without entries: counts directly in the cell.
[[gnu::cold, gnu::noinline]] void count_in_cell(int to, uint64_t key, int source,
                                                uint64_t bytes) noexcept {
  add_to_cell(to, look_up(key, source), 1, bytes);
}

[[gnu::always_inline]] inline Entry* entry_of(uint64_t key, int source) noexcept {
  const Local& local = t_local;
  // Relaxed: a receiver of a communicator's message knows the communicator by other means.
  const uint64_t now = generation.load(std::memory_order_relaxed);
  Block* block = local.block;
  if (block == nullptr || local.session != session.load(std::memory_order_relaxed) ||
      block->generation != now) [[unlikely]] {
    block = renewed_block(now);
    if (block == nullptr) return nullptr;
  }
  Entry& entry = block->entries[(static_cast<uint64_t>(source) ^ key) % kEntries];
  if (entry.key.load(std::memory_order_relaxed) != key ||
      entry.source.load(std::memory_order_relaxed) != source) [[unlikely]]
    replace(entry, key, source);
  return &entry;
}

// There is only one writer: no locked instruction.
void add_alone(std::atomic<uint64_t>& value, uint64_t by) noexcept {
  value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

bool counts() noexcept {
  return (detail::watchers.load(std::memory_order_relaxed) & detail::kCounts) != 0;
}

}  // namespace

namespace detail {

alignas(64) constinit std::atomic<uint8_t> watchers{0};

void set_watcher(Watcher watcher, bool is_on) noexcept {
  if (is_on)
    watchers.fetch_or(watcher, std::memory_order_release);
  else
    watchers.fetch_and(static_cast<uint8_t>(~watcher), std::memory_order_release);
}

}  // namespace detail

void note_trace(bool is_on) noexcept { detail::set_watcher(detail::kTrace, is_on); }

bool start(const Ranks& of_job) noexcept {
  stop();
  if (cells != nullptr) ::munmap(cells, cell_count * sizeof(Cell));
  if (blocks != nullptr) ::munmap(blocks, kMostBlocks * sizeof(Block));
  ranks = of_job;
  cell_count = static_cast<size_t>(ranks.count) * (static_cast<size_t>(ranks.size) + 1);
  cells = map<Cell>(cell_count);
  blocks = map<Block>(kMostBlocks);
  if (cells == nullptr || blocks == nullptr) return false;
  blocks_taken.store(0, std::memory_order_relaxed);
  session.fetch_add(1, std::memory_order_relaxed);
  detail::set_watcher(detail::kCounts, true);
  return true;
}

void stop() noexcept { detail::set_watcher(detail::kCounts, false); }

void count(int to, uint32_t context, int source, uint64_t bytes) noexcept {
  if (!counts()) return;
  const uint64_t key = key_of(to, context);
  Entry* const entry = entry_of(key, source);
  if (entry == nullptr) return count_in_cell(to, key, source, bytes);
  add_alone(entry->messages, 1);
  add_alone(entry->bytes, bytes);
}

int world_rank(int to, uint32_t context, int source) noexcept {
  return look_up(key_of(to, context), source);
}

void add_senders(int rank, uint32_t context, const int* world_ranks, int count) {
  const Locked lock(senders_lock);
  if (g_senders == nullptr) g_senders = new std::unordered_map<uint64_t, Senders>;
  (*g_senders)[key_of(rank, context)] = {world_ranks, count};
  generation.fetch_add(1, std::memory_order_relaxed);
}

void remove_senders(int rank, uint32_t context) noexcept {
  const Locked lock(senders_lock);
  if (g_senders != nullptr) g_senders->erase(key_of(rank, context));
}

void visit(void (*visitor)(void* argument, const Flow& flow), void* argument) noexcept {
  const size_t taken =
      std::min(blocks_taken.load(std::memory_order_relaxed), kMostBlocks);
  for (size_t b = 0; blocks != nullptr && b < taken; ++b)
    for (Entry& entry : blocks[b].entries) flush(entry);
  for (int to = ranks.first; to < ranks.first + ranks.count; ++to) {
    for (int from = 0; from <= ranks.size; ++from) {
      const Cell* const cell = cell_of(to, from);
      if (cell == nullptr) return;
      const uint64_t messages = cell->messages.load(std::memory_order_relaxed);
      if (messages == 0) continue;
      visitor(argument, {to, from < ranks.size ? from : -1, messages,
                         cell->bytes.load(std::memory_order_relaxed)});
    }
  }
}

}  // namespace mpc::traffic
