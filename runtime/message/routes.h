#pragma once
// Routes: finds the place for messages to a world rank: a mailbox, or another process.
//
// Role:      a send looks up its receiver's mailbox with one load. If there is
//            none it calls resolve(): the mailbox is created, or the receiver
//            lives in another process and never has one here.
// Users:     runtime/message.
// Threads:   any.
// See also:  runtime/message/network.h, docs/design/0019-virtual-processes.md.
//
// With several processes the table has the mailboxes of this one. If they are virtual it stays empty,
// although all mailboxes are in this address space: each send calls
// resolve(), and only ranks of its own process are found.

#include <atomic>

#include "base/check.h"
#include "runtime/job/process_map.h"
#include "runtime/job/rank.h"

namespace mpc::msg {

struct Mailbox;
class Endpoint;

// One pointer for each possible world rank; only touched pages cost memory. Plain pointers,
// accessed by atomic_ref: clang cannot construct a million atomic objects at compile time.
inline constexpr int kMaxRanks = 1 << 20;
// Hidden: accessed without the global offset table.
[[gnu::visibility("hidden")]] extern Mailbox* g_routes[kMaxRanks];

// Null: call resolve().
inline Mailbox* find_mailbox(int world_rank) noexcept {
  DCHECK(world_rank >= 0 && world_rank < kMaxRanks, "no such world rank");
  // Acquire pairs with the release in own_mailbox().
  return std::atomic_ref(g_routes[world_rank]).load(std::memory_order_acquire);
}
// Null: `self` reaches the rank through a network.
Mailbox* resolve(const job::Rank& self, int world_rank);

// The mailbox of a rank of the caller's own process; created by the first caller.
Mailbox& own_mailbox(int world_rank);
// Calls `visit(mailbox, argument)` for each mailbox in the process of this rank.
void for_each_mailbox(int world_rank, void (*visit)(Mailbox&, void*), void* argument);
// The same for all mailboxes.
void for_each_mailbox(void (*visit)(Mailbox&, void*), void* argument);
// Frees all mailboxes. Caller: their ranks have ended, and their content is discarded.
void free_mailboxes();
// lifetime.cpp: each rank that has created its mailbox has destroyed it.
bool have_all_ended() noexcept;
// lifetime.cpp: discards and frees. Caller: have_all_ended().
void free_all_mailboxes();
// Called before the first mailbox is created. are_virtual: all of them are in this address space.
void set_processes(const job::ProcessMap& map, bool are_virtual);
// routes.cpp: the processes of ranks below g_known_ranks.
[[gnu::visibility("hidden")]] extern const int* g_process_of;
[[gnu::visibility("hidden")]] extern int g_known_ranks;
[[gnu::cold]] int process_of_others(int world_rank) noexcept;

// As job::ProcessMap::process_of(), for each message. Ranks of other jobs have larger numbers than all of this one.
inline int process_of(int world_rank) noexcept {
  return world_rank < g_known_ranks ? g_process_of[world_rank]
                                    : process_of_others(world_rank);
}

}  // namespace mpc::msg
