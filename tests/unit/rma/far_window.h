#pragma once
// FarWindow: a window whose members live in several virtual processes, for tests of runtime/rma.
//
// Role:      what mpi makes of such a window, without meetings: a share for each process, an access for each
//            rank; operations as mpi/rma does them, on targets here and elsewhere.
// Users:     tests/unit/rma.
// Threads:   each rank uses its own access, and closes it before it ends.
// See also:  tests/unit/rma/window.h (one process).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rma/accumulate.h"
#include "runtime/rma/port.h"
#include "runtime/rma/remote_access.h"
#include "tests/unit/rma/window.h"

namespace mpc::rma::test {

inline const dt::Datatype& word_type() { return *dt::predefined(dt::abi::kLong); }
inline Buffer words(const int64_t* base, Count n) {
  return {const_cast<int64_t*>(base), &word_type(), n};
}

// Tests that run with ranks in several processes, over a network that delays and reorders by a seed.
struct Processes {
  int ranks, processes;
  uint64_t seed;
};
class OverProcesses : public testing::TestWithParam<Processes> {
 public:
  static std::string name(const testing::TestParamInfo<Processes>& one) {
    const Processes& p = one.param;
    return std::to_string(p.ranks) + "in" + std::to_string(p.processes) + "seed" +
           std::to_string(p.seed);
  }

 protected:
  World make_world() const {
    return std::move(World(GetParam().ranks, 2)
                         .with_processes(GetParam().processes, GetParam().seed));
  }
};
inline auto some_processes() {
  return testing::Values(Processes{4, 2, 0}, Processes{4, 2, 3}, Processes{5, 3, 4},
                         Processes{6, 6, 5});
}

// `words` of each rank; one word is a displacement.
class FarWindow {
 public:
  FarWindow(World& world, int processes, size_t words,
            Addressing addressing = Addressing::kHere)
      : map_(job::ProcessMap::in_blocks(world.size(), processes)),
        memory_(static_cast<size_t>(world.size()), std::vector<int64_t>(words)) {
    Port::listen(map_);
    Span span;
    for (int r = 0; r < world.size(); ++r) span.process.push_back(map_.process_of(r));
    span.window = Port::of(0).new_window();
    for (int p = 0; p < processes; ++p) {
      auto& share = shares_.emplace_back(std::make_shared<WindowShare>(world.size()));
      for (int r = 0; r < world.size(); ++r) {
        char* const base = reinterpret_cast<char*>(of(r));
        share->target(r).memory = {base, static_cast<Count>(words * 8), 8, addressing};
      }
      span.here = p;
      share->set_span(span, [](const Span& its_span) noexcept {
        Port::of(its_span.here).remove_window(its_span.window);
      });
      Port::of(p).add_window(span.window, share);
    }
    for (int r = 0; r < world.size(); ++r)
      access_.push_back(std::make_unique<Access>(share_of(r), r, world.rank(r), false));
  }
  int64_t* of(int rank) { return memory_[static_cast<size_t>(rank)].data(); }
  Access& access(const job::Rank& rank) {
    return *access_[static_cast<size_t>(rank.world_rank)];
  }
  WindowShare& share_of(int rank) {
    return *shares_[static_cast<size_t>(map_.process_of(rank))];
  }
  // As MPI_Win_free: epochs may have run ahead.
  void close(const job::Rank& rank) {
    access(rank).finish_all(false, kWhy);
    access_[static_cast<size_t>(rank.world_rank)].reset();
  }
  // Of an operation; the address is that of a target here, else null.
  Fit find(const job::Rank& me, const Spot& spot, char** at) {
    EXPECT_EQ(text_of(reach_now(access(me), spot.target)), "");
    *at = nullptr;
    return share_of(me.world_rank)
        .target(spot.target)
        .find(spot.disp, spot.type, spot.count, at);
  }
  void put(const job::Rank& me, const Spot& spot, const Buffer& origin) {
    char* at = nullptr;
    const Fit fit = find(me, spot, &at);
    if (fit == Fit::kFar) return access(me).remote()->put(spot, origin, kWhy);
    ASSERT_EQ(fit, Fit::kFits);
    dt::copy(at, spot.type, spot.count, origin.base, *origin.type, origin.count);
  }
  void get(const job::Rank& me, const Spot& spot, const Buffer& origin) {
    char* at = nullptr;
    const Fit fit = find(me, spot, &at);
    if (fit == Fit::kFar) return access(me).remote()->get(spot, origin, kWhy);
    ASSERT_EQ(fit, Fit::kFits);
    dt::copy(origin.base, *origin.type, origin.count, at, spot.type, spot.count);
  }
  void accumulate(const job::Rank& me, uint32_t op, const dt::Datatype& element,
                  const Spot& spot, const Buffer& origin, const Buffer* result) {
    char* at = nullptr;
    const Fit fit = find(me, spot, &at);
    if (fit == Fit::kFar)
      return access(me).remote()->accumulate(op, element, spot, origin, result, kWhy);
    ASSERT_EQ(fit, Fit::kFits);
    ElementOp bound;
    ASSERT_TRUE(ElementOp::make(op, element, &bound));
    rma::accumulate(bound, {at, &spot.type, spot.count}, origin, result);
  }
  void flush(const job::Rank& me, int target) {
    EXPECT_EQ(text_of(access(me).flush(target)), "");
    access(me).finish(target, false, kWhy);
  }
  void lock(const job::Rank& me, int target, LockType type) {
    EXPECT_EQ(text_of(access(me).lock(type, target, false, kWhy)), "");
  }
  void unlock(const job::Rank& me, int target) {
    access(me).before_unlock(target, kWhy);
    EXPECT_EQ(text_of(access(me).unlock(target)), "");
    access(me).finish(target, false, kWhy);
  }

 private:
  job::ProcessMap map_;
  std::vector<std::vector<int64_t>> memory_;
  std::vector<std::shared_ptr<WindowShare>> shares_;
  std::vector<std::unique_ptr<Access>> access_;
};

}  // namespace mpc::rma::test
