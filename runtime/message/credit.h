#pragma once
// Credit: how much of a rank's memory another process may fill with messages not received yet.
//
// Role:      bounds the unreceived data at a rank. A process takes from its share of the rank's
//            memory before it sends data there; data beyond the share are offered, and stay with
//            the sender. The receiver gives credit back with messages that go there anyway, and
//            with one of its own only when half of the share has accumulated.
// Users:     runtime/message/endpoint.h.
// Threads:   any.
// See also:  docs/design/0019-virtual-processes.md, section "Memory".
//
//   sender's process                    receiver's process
//   take(rank, bytes)  -- kEager -----> unexpected queue, or posted receive
//   give_back(rank, n) <- any message - collect(process, rank) <- note_received(process, rank, bytes)
//                      <- kCredit ----- if nothing else goes there
//
// A message is charged from its sending to its receive. So the same share bounds all its data in
// the network, in the list of messages that came too early, and in the unexpected queue together.
// No rank ever waits for credit, so credit can cause no deadlock.

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
  // For process `process`. `bytes`: see the setting net.unexpected_bytes.
  Credit(const job::ProcessMap& map, int process, size_t bytes);
  // For the ranks `own` towards `processes`, of which `sharers` share a rank's memory at a time;
  // ranks have numbers below `numbers`.
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
    // Relaxed: nothing else depends on the number. For a moment it may be too large: then another
    // message is offered that need not have been.
    if (used.fetch_add(units, std::memory_order_relaxed) + units <= share_) return true;
    used.fetch_sub(units, std::memory_order_relaxed);
    return false;
  }
  void give_back(uint32_t world_rank, uint32_t units) noexcept {
    std::atomic_ref(used_[world_rank]).fetch_sub(units, std::memory_order_relaxed);
  }

  // --- towards processes that send to ours ---
  // A message that was sent with its data is received, or
  // dropped. True: its process should be told.
  bool note_received(int from, int own_rank, size_t bytes) noexcept {
    const uint32_t units = units_of(bytes);
    const uint32_t before =
        owed(from, own_rank).fetch_add(units, std::memory_order_relaxed);
    // Of several threads one finds it due.
    return before < due_ && before + units >= due_;
  }
  // The credit that a message from this rank to that process must carry; 0: none.
  uint32_t collect(int to, int own_rank) noexcept {
    const auto all = owed(to, own_rank);
    return all.load(std::memory_order_relaxed) == 0
               ? 0
               : all.exchange(0, std::memory_order_relaxed);
  }
  // The next message from or to ranks of a process is the first one. `numbers`: its ranks' numbers here.
  // Caller: no rank sends to them, or has received anything from them.
  void forget(int process, const std::vector<job::RankRange>& numbers) noexcept;
  // The part of a rank's memory that one process may use.
  size_t share_bytes() const noexcept { return size_t{share_} * kUnitBytes; }

 private:
  static constexpr size_t kUnitBytes = 64;
  // With many processes the limit is exceeded rather than granting less than this: some messages of
  // message.eager_limit, so that a pair of ranks need not wait for each other.
  static constexpr size_t kLeastShareBytes = 32 << 10;

  struct Free {
    void operator()(uint32_t* memory) const noexcept { std::free(memory); }
  };
  // Zeros, of which only touched pages cost memory. Accessed by atomic_ref.
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
  const uint32_t due_;    // this much is reported at once
  Counts used_;           // what we use of our share, by world rank
  Counts owed_;           // by process and own rank: received, but not reported yet
};

}  // namespace mpc::msg
