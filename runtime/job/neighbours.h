#pragma once
// Neighbours: processes of other jobs that this one is connected with, and the numbers that their ranks have here.
//
// Role:      a rank of another job gets a number of this process's, far behind those of its own job's ranks, so
//            all that knows ranks by number goes on as it is. Between jobs a rank is named by its
//            process's slot and its number in its job, which all sides compute alike.
// Users:     runtime/message (routes, abroad), mpi/objects.
// Threads:   any.
// See also:  docs/design/0039-jobs-that-connect.md, 0042-child-jobs.md; runtime/wireup/lobby.h, which gives out
//            slots.

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/job/process_map.h"

namespace mpc::job::neighbours {

// Ranks have numbers below this in every job; mailboxes are found in a table of that size.
inline constexpr int kRankBits = 20, kRankNumbers = 1 << kRankBits;
// Below it a job's own ranks are: those that it starts, and those that it spawns.
inline constexpr int kFirstNumber = kRankNumbers / 2;
// Slots are 1 .. kMostSlots; this one stands for a process that is gone.
inline constexpr int kMostSlots = 511, kGoneSlot = kMostSlots + 1;

// Processes are numbered within their job, from 0 on. Where members of several jobs meet, all processes, those of
// this job as well, have these numbers, which are the same everywhere.
inline constexpr int kFirstFarProcess = 1 << 20;
inline constexpr bool is_far_process(int process) noexcept {
  return process >= kFirstFarProcess;
}
inline constexpr int far_process(int slot) noexcept { return kFirstFarProcess + slot; }
// Of either kind of number: its place among those of that kind.
inline constexpr int index_of_process(int process) noexcept {
  return process & (kFirstFarProcess - 1);
}

[[gnu::visibility("hidden")]] extern std::atomic<int> g_own_slot;

// This process's slot; 0: it has no neighbours. From the first one on it stays the same.
inline int own_slot() noexcept {
  return g_own_slot.load(std::memory_order_acquire);  // pairs with join()
}
inline bool any() noexcept { return own_slot() != 0; }

// May ranks live elsewhere than in this process: in another one of the job, or in a neighbour? Once true it
// stays true.
inline bool has_others(const ProcessMap& map) noexcept {
  return !map.is_one_process() || any();
}

// How to find the slots of this job's other processes, which it asks for once each. Caller of both: any, without
// waiting. 0: it has none. -1: it is none of this job.
struct Siblings {
  int (*slot_of)(int process);
  int (*process_in)(int slot);
};
// `process`: this one's number in its job. `generation`: how many processes have had the slot before.
void join(int slot, uint64_t generation, int process, Siblings siblings) noexcept;
uint64_t generation() noexcept;

// The process of another job in this slot has ranks first .. first + count - 1 of it. False: there are not enough
// numbers left.
bool add(int slot, int first, int count);
// The numbers that ranks in this slot have here.
std::vector<RankRange> numbers_of(int slot);
// That process has ended, or its connection: its ranks' numbers now belong to nobody.
void remove(int slot) noexcept;

// Of a rank of another job by its number here; 0: one of this job.
int slot_of(int rank) noexcept;
// Of a process of this job. 0: it has none.
int slot_of_process(int process);
// A process of this job; -1: the slot is another job's, or unknown. It may be this one.
int process_in(int slot);
// What names a rank in all jobs. Where there are no neighbours: its number. -1: its process has no slot.
int name_of(int rank);
// The number of a rank by its name; it gets one if it has none. -1: there are none left, or the process has gone.
int rank_of(int name);
inline int slot_in(int name) noexcept { return name >> kRankBits; }
inline int rank_in(int name) noexcept { return name & (kRankNumbers - 1); }
// Numbers of this job's ranks are none.
inline bool is_name(int number) noexcept { return number >= kRankNumbers; }

}  // namespace mpc::job::neighbours
