#pragma once
// Executor: a table that decides who runs a node that is ready.
//
// Role:      the decision as a pure function: the first row whose conditions
//            hold decides. Facts are asked for one by one, in the order of
//            the enumeration, and only while a row needs them.
// Users:     nbc/engine/node_facts.cpp, with the facts of a real node; a test per row.
// Threads:   pure functions.
// See also:  docs/collectives.md, docs/overlap.md.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mpc::nbc {

enum class Executor : uint8_t {
  kHere,            // the execution that found the node ready
  kRank,            // the node's rank, in a wait or another call of its own
  kProgressThread,  // the rank's progress thread; see executor_if_refused()
};

// What is asked about a node and about the execution that found it ready. Facts that cost more to
// determine come later.
enum Fact : uint32_t {
  // It is in the lower levels of a split tree: Where::kApplication.
  kKeptForRank = 1u << 0,
  kSend = 1u << 1,
  kReduction = 1u << 2,
  kLocalWork = 1u << 3,  // a reduction or a copy
  kUserCode = 1u << 4,   // a reduction by a function of the user
  kAnyThread = 1u << 5,  // ... that the rank's progress thread may call, too
  kGoesUp = 1u << 6,  // its last predecessor was a reduction, or further from the root
  kBlocking = 1u << 7,       // an execution of the rank waits in the blocking call
  kWaiterHere = 1u << 8,     // ... and that is the caller
  kRankHere = 1u << 9,       // the caller is the rank itself, not its progress thread
  kSomeRankHere = 1u << 10,  // the caller is a rank, not a progress thread
  kOwnProgressHere = 1u << 11,    // the caller is the rank's progress thread
  kLarge = 1u << 12,              // its data are at least nbc.local_work_bytes
  kHasProgressThread = 1u << 13,  // the rank has one
  // The caller should return soon, or is not the rank, or ranks that wait do not help.
  kMayLeave = 1u << 14,
  kDataHere =
      1u << 15,  // no progress thread accepts it: its data are in the caller's cache
};
inline constexpr int kFactCount = 16;

struct ExecutorRow {
  Executor executor;
  uint32_t yes, no;  // sets of Fact
  const char* why;
};

inline constexpr ExecutorRow kExecutorRows[] = {
    // The lower levels of a split tree belong to the rank, when it is in a call. But towards the
    // root the rank that has completed what they wait for continues for the others: the last rank
    // of a subtree to start does the kept levels, while the earlier ones compute already.
    {Executor::kHere, kKeptForRank | kRankHere, 0, "the rank is there"},
    {Executor::kHere, kKeptForRank | kReduction | kSomeRankHere, kUserCode,
     "a rank goes on towards the root"},
    {Executor::kHere, kKeptForRank | kSend | kGoesUp | kSomeRankHere, 0,
     "a rank goes on towards the root"},
    {Executor::kRank, kKeptForRank, 0, "kept for the rank"},
    // A send copies if its receive is posted. Large work of a blocking call is done by the rank: it
    // has a core of its own, and the execution that completed the message has other things to do.
    {Executor::kRank, kSend | kBlocking | kLarge, kWaiterHere,
     "the rank waits, and may copy"},
    {Executor::kHere, 0, kLocalWork, "messages are only started"},
    // User code runs as its rank, from a wait or another call of the rank, never from within the
    // completion of a message; on its progress thread if the program says that it is ready for
    // several threads.
    {Executor::kRank, kUserCode, kAnyThread, "user code in calls of its rank only"},
    {Executor::kRank, kUserCode | kBlocking, 0,
     "the rank waits, and runs its user code"},
    {Executor::kRank, kBlocking | kLarge, kWaiterHere,
     "the rank waits, and has a core"},
    {Executor::kHere, kBlocking, 0, "small, or the rank itself"},
    // Large work of a non-blocking call goes to the rank's progress thread, if that has a core.
    {Executor::kHere, kOwnProgressHere, 0, "this is the rank's progress thread"},
    {Executor::kProgressThread, kLarge | kHasProgressThread | kMayLeave, kDataHere,
     "another core may do it meanwhile"},
    {Executor::kRank, kUserCode, 0, "user code, and no progress thread for it"},
    {Executor::kHere, 0, 0, "small, or nobody else would do it sooner"},
};
inline constexpr size_t kExecutorRowCount =
    sizeof(kExecutorRows) / sizeof(kExecutorRows[0]);

// --- the lookup: the compiler unrolls it into the ifs that one would write by hand -----------

template <uint32_t kAsked, uint32_t kYes, class Facts>
[[gnu::always_inline]] constexpr bool all_hold(const Facts& facts) noexcept {
  if constexpr (kAsked == 0) {
    return true;
  } else {
    constexpr auto kFact = static_cast<Fact>(1u << std::countr_zero(kAsked));
    return facts.template holds<kFact>() == ((kYes & kFact) != 0) &&
           all_hold<kAsked & ~kFact, kYes>(facts);
  }
}

template <class Facts, size_t... kRow>
[[gnu::always_inline]] constexpr size_t first_row(
    const Facts& facts, std::index_sequence<kRow...>) noexcept {
  size_t found = 0;
  (void)((all_hold<kExecutorRows[kRow].yes | kExecutorRows[kRow].no,
                   kExecutorRows[kRow].yes>(facts) &&
          (found = kRow, true)) ||
         ...);
  return found;
}

// The row that decides. `facts.holds<kFact>()` says whether a fact holds.
template <class Facts>
[[gnu::always_inline]] constexpr size_t executor_row(const Facts& facts) noexcept {
  return first_row(facts, std::make_index_sequence<kExecutorRowCount>());
}
template <class Facts>
[[gnu::always_inline]] constexpr Executor choose_executor(const Facts& facts) noexcept {
  return kExecutorRows[executor_row(facts)].executor;
}

// For the case that the chosen progress thread has no core for it: the table without
// kHasProgressThread.
constexpr Executor executor_if_refused(bool is_user_code) noexcept {
  return is_user_code ? Executor::kRank : Executor::kHere;
}

// Facts that are known beforehand, as a set.
struct FixedFacts {
  uint32_t set = 0;
  template <Fact kFact>
  constexpr bool holds() const noexcept {
    return (set & kFact) != 0;
  }
};

}  // namespace mpc::nbc
