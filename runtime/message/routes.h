#pragma once
// Routes: where the messages for a world rank go: into a mailbox, or to another process.
//
// Role:      a send looks its receiver's mailbox up with one load. Where there is none it asks:
//            the mailbox is made, or the receiver lives in another process and never has one here.
// Users:     runtime/message.
// Threads:   any.
// See also:  runtime/message/network.h, docs/design/0019-virtual-processes.md.
//
// With several processes the table has the mailboxes of this one. If they are virtual it stays empty,
// although all mailboxes are in this address space: each send asks, and only ranks of its own process
// are found.

#include <atomic>

#include "base/check.h"
#include "runtime/job/process_map.h"
#include "runtime/job/rank.h"

namespace mpc::msg {

struct Mailbox;
class Endpoint;

// One pointer for each world rank that could ever be; only touched pages cost memory. Plain, and used
// by atomic_ref: a million atomic objects are too many for clang to make when it compiles.
inline constexpr int kMaxRanks = 1 << 20;
// Hidden: found without the table of global names.
[[gnu::visibility("hidden")]] extern Mailbox* g_routes[kMaxRanks];

// Null: ask resolve().
inline Mailbox* find_mailbox(int world_rank) noexcept {
  DCHECK(world_rank >= 0 && world_rank < kMaxRanks, "no such world rank");
  // acquire pairs with the release in own_mailbox().
  return std::atomic_ref(g_routes[world_rank]).load(std::memory_order_acquire);
}
// Null: `self` reaches the rank through a network.
[[gnu::cold]] Mailbox* resolve(const job::Rank& self, int world_rank);

// The mailbox of a rank of the caller's own process; made at the first use, by whoever comes first.
Mailbox& own_mailbox(int world_rank);
// Calls `visit(mailbox, argument)` for each one in the process of this rank.
void for_each_mailbox(int world_rank, void (*visit)(Mailbox&, void*), void* argument);
// The same for all that there are.
void for_each_mailbox(void (*visit)(Mailbox&, void*), void* argument);
// Frees all of them. Caller: their ranks have ended, and what stood in them is discarded.
void free_mailboxes();
// lifetime.cpp: each rank that has created its mailbox has destroyed it.
bool have_all_ended() noexcept;
// lifetime.cpp: discards and frees. Caller: have_all_ended().
void free_all_mailboxes();
// Before the first mailbox is made. are_virtual: all of them are in this address space.
void set_processes(const job::ProcessMap& map, bool are_virtual);
// As job::ProcessMap::process_of(), for each message.
int process_of(int world_rank) noexcept;

}  // namespace mpc::msg
