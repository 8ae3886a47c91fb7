#pragma once
// Neighbours: other jobs that this one is connected with, and the numbers that their ranks have here.
//
// Role:      a rank of another job gets a number of this job's, far behind those of its own ranks, so
//            all that knows ranks by number goes on as it is. Between jobs a rank is named by its
//            job's slot and its number there, which both sides compute alike.
// Users:     runtime/message (routes, abroad), mpi/objects.
// Threads:   any. Only jobs of one process have neighbours.
// See also:  docs/design/0039-jobs-that-connect.md; runtime/wireup/lobby.h, which gives out slots.

#include <atomic>
#include <cstdint>

#include "runtime/job/process_map.h"

namespace mpc::job::neighbours {

// Ranks have numbers below this in every job; mailboxes are found in a table of that size.
inline constexpr int kRankBits = 20, kRankNumbers = 1 << kRankBits;
// Slots are 1 .. kMostJobs; this one stands for a job that is gone.
inline constexpr int kMostJobs = 255, kGoneSlot = kMostJobs + 1;

[[gnu::visibility("hidden")]] extern std::atomic<int> g_own_slot;

// This job's slot; 0: it has no neighbours. From the first one on it stays the same.
inline int own_slot() noexcept {
  return g_own_slot.load(std::memory_order_acquire);  // pairs with join()
}
inline bool any() noexcept { return own_slot() != 0; }

// May ranks live elsewhere than in this process: in another one of the job, or in a neighbour? Once true it
// stays true. In ProcessMap::process_of() a process is then a job's slot.
inline bool has_others(const ProcessMap& map) noexcept {
  return !map.is_one_process() || any();
}

// `generation`: how many jobs have had the slot before.
void join(int slot, uint64_t generation) noexcept;
uint64_t generation() noexcept;

// The job in this slot has so many ranks. Their first number here; -1: there are not enough left.
int add(int slot, int ranks);
// That job has ended, or its connection: its ranks' numbers now belong to nobody.
void remove(int slot) noexcept;

// Of a rank by its number here; 0: one of this job.
int slot_of(int rank) noexcept;
// What names it in all jobs. Where there are no neighbours: its number.
int name_of(int rank) noexcept;
// -1: of a job that is no neighbour.
int rank_of(int name);
inline int slot_in(int name) noexcept { return name >> kRankBits; }
inline int rank_in(int name) noexcept { return name & (kRankNumbers - 1); }

}  // namespace mpc::job::neighbours
