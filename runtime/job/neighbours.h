#pragma once
// Neighbours: connected processes of other jobs, and the numbers that their ranks have here.
//
// Role:      a rank of another job gets a number in this process, far above those of its own job's
//            ranks, so that code which knows ranks by number needs no change. Between jobs a rank's
//            name consists of its process's slot and its number in its job; all sides compute the
//            same one.
// Users:     runtime/message (routes, abroad), mpi/objects.
// Threads:   any.
// See also:  docs/design/0039-jobs-that-connect.md, 0042-child-jobs.md; runtime/wireup/lobby.h, which gives out
//            slots.

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/job/process_map.h"

namespace mpc::job::neighbours {

// Ranks have numbers below this in every job; a table of that size leads to the mailboxes.
inline constexpr int kRankBits = 20, kRankNumbers = 1 << kRankBits;
// A job's own ranks, those it starts and those it spawns, have numbers below this.
inline constexpr int kFirstNumber = kRankNumbers / 2;
// Slots are 1 .. kMostSlots; kGoneSlot stands for a process that has ended.
inline constexpr int kMostSlots = 511, kGoneSlot = kMostSlots + 1;

// Processes are numbered within their job, from 0 on. Where members of several jobs meet, all
// processes, also those of this job, have numbers from here on, which are the same everywhere.
inline constexpr int kFirstFarProcess = 1 << 20;
inline constexpr bool is_far_process(int process) noexcept {
  return process >= kFirstFarProcess;
}
inline constexpr int far_process(int slot) noexcept { return kFirstFarProcess + slot; }
// The index of a process among the numbers of its kind, for numbers of either kind.
inline constexpr int index_of_process(int process) noexcept {
  return process & (kFirstFarProcess - 1);
}

[[gnu::visibility("hidden")]] extern std::atomic<int> g_own_slot;

// This process's slot; 0: it has no neighbours. Once set it does not change.
inline int own_slot() noexcept {
  return g_own_slot.load(std::memory_order_acquire);  // pairs with join()
}
inline bool any() noexcept { return own_slot() != 0; }

// True: ranks may live outside this process, in another one of the job or in a neighbour. Once true
// it stays true.
inline bool has_others(const ProcessMap& map) noexcept {
  return !map.is_one_process() || any();
}

// Functions that find the slots of this job's other processes, each of which is asked for once.
// Caller of both: any; they do not wait. 0: that process has no slot. -1: no process of this job
// has that slot.
struct Siblings {
  int (*slot_of)(int process);
  int (*process_in)(int slot);
};
// `process`: this one's number in its job. `generation`: how many processes have had the slot before.
void join(int slot, uint64_t generation, int process, Siblings siblings) noexcept;
uint64_t generation() noexcept;

// Gives numbers to ranks first .. first + count - 1 of another job, which live in the process in
// this slot. False: there are not enough numbers left.
bool add(int slot, int first, int count);
// The numbers that ranks of the process in this slot have here.
std::vector<RankRange> numbers_of(int slot);
// That process or the connection to it has ended: its ranks' numbers no longer belong to a rank.
void remove(int slot) noexcept;

// The slot of a rank's process, by the rank's number here; 0: the rank is of this job.
int slot_of(int rank) noexcept;
// The slot of a process of this job. 0: it has none.
int slot_of_process(int process);
// The process of this job that has this slot, which may be the calling one. -1: the slot is another
// job's, or unknown.
int process_in(int slot);
// The name of a rank, the same in all jobs. If there are no neighbours: its number. -1: its process
// has no slot.
int name_of(int rank);
// The number of a rank by its name; assigned now if it has none. -1: no number is left, or the
// process has ended.
int rank_of(int name);
inline int slot_in(int name) noexcept { return name >> kRankBits; }
inline int rank_in(int name) noexcept { return name & (kRankNumbers - 1); }
// False for the numbers of this job's ranks.
inline bool is_name(int number) noexcept { return number >= kRankNumbers; }

}  // namespace mpc::job::neighbours
