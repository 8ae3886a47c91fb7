#include "runtime/message/routes.h"

#include <memory>

#include "base/mutex.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/mailbox.h"

namespace mpc::msg {

static_assert(kMaxRanks == job::neighbours::kRankNumbers);

constinit Mailbox* g_routes[kMaxRanks] = {};
constinit const int* g_process_of = nullptr;
constinit int g_known_ranks = 0;

namespace {

// All mailboxes of this address space; g_routes has those that each rank may use.
constinit Mailbox* g_mailboxes[kMaxRanks] = {};  // accessed by atomic_ref

constinit Mutex g_lock;
int g_end MPC_GUARDED_BY(g_lock) = 0;  // highest world rank with a mailbox, plus one

// Set before ranks run. Null: all ranks share memory.
constinit const job::ProcessMap* g_processes = nullptr;
constinit bool g_are_virtual = false;
// Indexed by world rank, because each message needs it.
constinit std::unique_ptr<int[]> g_processes_of_ranks;

int table_end() {
  const Locked lock(g_lock);
  return g_end;
}

void visit_range(int first, int end, void (*visit)(Mailbox&, void*), void* argument) {
  for (int i = first; i < end; ++i) {
    // Acquire pairs with own_mailbox().
    if (Mailbox* mailbox =
            std::atomic_ref(g_mailboxes[i]).load(std::memory_order_acquire))
      visit(*mailbox, argument);
  }
}

}  // namespace

Mailbox& own_mailbox(int world_rank) {
  CHECK(world_rank >= 0 && world_rank < kMaxRanks, "world rank out of range");
  // Acquire pairs with the release below.
  Mailbox* mailbox =
      std::atomic_ref(g_mailboxes[world_rank]).load(std::memory_order_acquire);
  if (mailbox == nullptr) {
    auto fresh = std::make_unique<Mailbox>(world_rank);
    if (std::atomic_ref(g_mailboxes[world_rank])
            .compare_exchange_strong(mailbox, fresh.get(), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      mailbox = fresh.release();
      const Locked lock(g_lock);
      g_end = g_end > world_rank ? g_end : world_rank + 1;
    }  // else another rank was first
  }
  if (!g_are_virtual)
    std::atomic_ref(g_routes[world_rank]).store(mailbox, std::memory_order_release);
  return *mailbox;
}

Mailbox* resolve(const job::Rank& self, int world_rank) {
  if (process_of(self.world_rank) != process_of(world_rank)) return nullptr;
  return &own_mailbox(world_rank);
}

void for_each_mailbox(int world_rank, void (*visit)(Mailbox&, void*), void* argument) {
  if (g_processes == nullptr) return for_each_mailbox(visit, argument);
  const auto range = g_processes->ranks_of(g_processes->process_of(world_rank));
  visit_range(range.first, range.end, visit, argument);
}

void for_each_mailbox(void (*visit)(Mailbox&, void*), void* argument) {
  visit_range(0, table_end(), visit, argument);
}

void free_mailboxes() {
  const int end = table_end();
  for (int i = 0; i < end; ++i) {
    std::atomic_ref(g_routes[i]).store(nullptr, std::memory_order_relaxed);
    delete std::atomic_ref(g_mailboxes[i]).exchange(nullptr, std::memory_order_relaxed);
  }
  const Locked lock(g_lock);
  g_end = 0;
}

void set_processes(const job::ProcessMap& map, bool are_virtual) {
  CHECK(table_end() == 0, "the processes come after the first mailbox");
  g_processes = map.is_one_process() ? nullptr : &map;
  g_are_virtual = are_virtual && g_processes != nullptr;
  g_processes_of_ranks.reset();
  g_process_of = nullptr;
  g_known_ranks = 0;
  if (g_processes == nullptr) return;
  g_processes_of_ranks = std::make_unique<int[]>(static_cast<size_t>(map.ranks()));
  for (int rank = 0; rank < map.ranks(); ++rank)
    g_processes_of_ranks[static_cast<size_t>(rank)] = map.process_of(rank);
  g_process_of = g_processes_of_ranks.get();
  g_known_ranks = map.ranks();
}

int process_of_others(int world_rank) noexcept {
  const int slot = job::neighbours::slot_of(world_rank);
  return slot != 0 ? job::neighbours::far_process(slot) : 0;
}

}  // namespace mpc::msg
