#pragma once
// Credit: how much of a rank's memory another process may fill with messages not received yet.
//
// Role:      bounds what lies unreceived at a rank. A process takes from its share of the rank's
//            memory before it sends data there; what is not granted is offered, and stays with its
//            sender. The receiver gives credit back with messages that go there anyway, and with one
//            of its own only when half of the share has come together.
// Users:     runtime/message/endpoint.h.
// Threads:   any.
// See also:  docs/design/0019-virtual-processes.md, section "Memory".
//
//   sender's process                    receiver's process
//   take(rank, bytes)  -- kEager -----> unexpected queue, or posted receive
//   give_back(rank, n) <- any message - collect(process, rank) <- note_received(process, rank, bytes)
//                      <- kCredit ----- if nothing else goes there
//
// A message is charged from its sending to its receive, so the same share bounds what of it is in
// the network, in the list of those that came too early, and in the unexpected queue together.
// Nobody ever waits for credit: so it can cause no deadlock.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/job/neighbours.h"
#include "runtime/job/process_map.h"
#include "runtime/message/eager_pool.h"

namespace mpc::msg {

class Credit {
 public:
  // Of process `process`. `bytes`: see the setting net.unexpected_bytes.
  Credit(const job::ProcessMap& map, int process, size_t bytes);
  // Of the ranks `own`, towards `processes`, of which so many share a rank's memory at a time; ranks have
  // numbers below `numbers`.
  struct Shape {
    job::RankRange own;
    int processes, sharers, numbers;
  };
  Credit(const Shape& shape, size_t bytes);
  // The setting net.unexpected_bytes.
  static size_t bytes_from_settings() noexcept;

  // --- towards ranks of other processes ---
  // False: the message has to be offered.
  bool take(int world_rank, size_t bytes) noexcept {
    const uint32_t units = units_of(bytes);
    const std::atomic_ref used(used_[world_rank]);
    // Relaxed: a number that nothing else depends on. For a moment it may be too large: another
    // message is offered then that need not have been.
    if (used.fetch_add(units, std::memory_order_relaxed) + units <= share_) return true;
    used.fetch_sub(units, std::memory_order_relaxed);
    return false;
  }
  void give_back(uint32_t world_rank, uint32_t units) noexcept {
    std::atomic_ref(used_[world_rank]).fetch_sub(units, std::memory_order_relaxed);
  }

  // --- towards processes that send to ours ---
  // A message that was sent with its data is received, or dropped. True: its process is to be told.
  bool note_received(int from, int own_rank, size_t bytes) noexcept {
    const uint32_t units = units_of(bytes);
    const uint32_t before =
        owed(from, own_rank).fetch_add(units, std::memory_order_relaxed);
    return before < due_ && before + units >= due_;  // of many, one finds it due
  }
  // What a message from this rank to that process is to bring; 0: nothing.
  uint32_t collect(int to, int own_rank) noexcept {
    const auto all = owed(to, own_rank);
    return all.load(std::memory_order_relaxed) == 0
               ? 0
               : all.exchange(0, std::memory_order_relaxed);
  }
  // The next message from or to ranks of a process is the first one. `numbers`: its ranks' numbers here.
  // Caller: nobody sends to them, or has got something of them.
  void forget(int process, const std::vector<job::RankRange>& numbers) noexcept;
  // What of a rank's memory one process may use.
  size_t share_bytes() const noexcept { return size_t{share_} * kUnitBytes; }

 private:
  static constexpr size_t kUnitBytes = 64;
  // With many processes the limit is exceeded rather than that less is granted: some messages of
  // message.eager_limit, so that a pair of ranks need not wait for each other.
  static constexpr size_t kLeastShareBytes = 32 << 10;

  struct Free {
    void operator()(uint32_t* memory) const noexcept { std::free(memory); }
  };
  // Zeros, of which only touched pages cost memory. Used by atomic_ref.
  using Counts = std::unique_ptr<uint32_t[], Free>;
  static Counts make_counts(size_t n);

  static uint32_t units_of(size_t bytes) noexcept {
    return static_cast<uint32_t>(EagerPool::memory_of(bytes) / kUnitBytes);
  }
  std::atomic_ref<uint32_t> owed(int process, int own_rank) noexcept {
    const auto index = static_cast<size_t>(job::neighbours::index_of_process(process));
    return std::atomic_ref(
        owed_[index * own_ranks_ + static_cast<size_t>(own_rank - first_rank_)]);
  }

  const int first_rank_;
  const size_t own_ranks_;
  const uint32_t share_;  // in units
  const uint32_t due_;    // so much is told at once
  Counts used_;           // of our share, by world rank
  Counts owed_;           // by process and own rank: received, and not told yet
};

}  // namespace mpc::msg
