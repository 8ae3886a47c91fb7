// Windows between processes: over a network that delays and reorders, against what it must come to.
#include <algorithm>
#include <array>

#include "base/settings.h"
#include "tests/unit/rma/far_window.h"

namespace mpc::rma {
namespace {

using test::FarWindow;
using test::kWhy;
using test::word_type;
using test::words;
using test::World;

const dt::Datatype& pair_type() { return *dt::predefined(dt::abi::kDoubleInt); }

class Windows : public test::OverProcesses {};
INSTANTIATE_TEST_SUITE_P(Processes, Windows, test::some_processes(),
                         test::OverProcesses::name);

TEST_P(Windows, CountUnderExclusiveLocksOfOneTarget) {
  World world = make_world();
  FarWindow window(world, GetParam().processes, 2);
  constexpr int kTurns = 20;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    for (int turn = 0; turn < kTurns; ++turn) {
      window.lock(me, 0, LockType::kExclusive);
      int64_t seen = -1;
      window.get(me, {0, 1, word_type(), 1}, words(&seen, 1));
      window.flush(me, 0);
      ++seen;
      window.put(me, {0, 1, word_type(), 1}, words(&seen, 1));
      window.unlock(me, 0);
    }
    window.close(me);
  }),
            "");
  EXPECT_EQ(window.of(0)[1], int64_t{world.size()} * kTurns);
}

// Ranks of the target's own process use the same memory at the same time.
TEST_P(Windows, AddElementsAsAWholeFromInsideAndOutside) {
  World world = make_world();
  FarWindow window(world, GetParam().processes, 8);
  constexpr int kTurns = 50;
  EXPECT_EQ(world.run([&](job::Rank& me) {
    window.lock(me, 0, LockType::kShared);
    const std::array<int64_t, 2> ones{1, 1};
    const struct {
      double value;
      int index;
    } least{-1.0 * me.world_rank, me.world_rank};
    for (int turn = 0; turn < kTurns; ++turn) {
      window.accumulate(me, dt::abi::kSum, word_type(), {0, 0, word_type(), 2},
                        words(ones.data(), 2), nullptr);
      window.accumulate(
          me, dt::abi::kMinloc, pair_type(), {0, 4, pair_type(), 1},
          {const_cast<void*>(static_cast<const void*>(&least)), &pair_type(), 1},
          nullptr);
    }
    window.unlock(me, 0);
    window.close(me);
  }),
            "");
  EXPECT_EQ(window.of(0)[0], int64_t{world.size()} * kTurns);
  EXPECT_EQ(window.of(0)[1], int64_t{world.size()} * kTurns);
  double least = 0;
  std::memcpy(&least, &window.of(0)[4], sizeof least);
  EXPECT_EQ(least, 1.0 - world.size());
}

TEST_P(Windows, GiveEachFetchANumberOfItsOwn) {
  World world = make_world();
  FarWindow window(world, GetParam().processes, 1);
  constexpr size_t kTurns = 25;
  std::vector<std::vector<int64_t>> drawn(static_cast<size_t>(world.size()));
  EXPECT_EQ(world.run([&](job::Rank& me) {
    auto& mine = drawn[static_cast<size_t>(me.world_rank)];
    mine.assign(kTurns, -1);
    window.lock(me, 0, LockType::kShared);
    const int64_t one = 1;
    for (int64_t& number : mine) {
      const Buffer result = words(&number, 1);
      window.accumulate(me, dt::abi::kSum, word_type(), {0, 0, word_type(), 1},
                        words(&one, 1), &result);
    }
    window.unlock(me, 0);
    window.close(me);
    // Those of one origin are done in its order.
    EXPECT_TRUE(std::ranges::is_sorted(mine));
  }),
            "");
  std::vector<int64_t> all;
  for (const auto& list : drawn) all.insert(all.end(), list.begin(), list.end());
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i));
}

TEST_P(Windows, PostStartCompleteWaitAroundARing) {
  World world = make_world();
  FarWindow window(world, GetParam().processes, 1);
  const int n = world.size();
  EXPECT_EQ(world.run([&](job::Rank& me) {
    Access& access = window.access(me);
    const std::array to{(me.world_rank + 1) % n}, from{(me.world_rank + n - 1) % n};
    for (int64_t turn = 1; turn <= 20; ++turn) {
      EXPECT_EQ(access.post(from), nullptr);
      EXPECT_EQ(access.start(to), nullptr);
      const int64_t told = turn * 100 + me.world_rank;
      window.put(me, {to[0], 0, word_type(), 1}, words(&told, 1));
      EXPECT_EQ(access.complete(kWhy), nullptr);
      EXPECT_EQ(access.wait(kWhy), nullptr);
      EXPECT_EQ(*window.of(me.world_rank), turn * 100 + from[0]);
    }
    window.close(me);
  }),
            "");
}

// More than there is room for on the way, in both directions at once.
TEST_P(Windows, MoveMoreThanThereIsRoomFor) {
  constexpr Count kWords = 200'000;
  ASSERT_TRUE(Settings::assign("net.window_bytes=262144").ok());
  ASSERT_TRUE(Settings::assign("net.window_offer_bytes=1G").ok());
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, kWords);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const int to = (me.world_rank + n / 2) % n;
    std::vector<int64_t> data(kWords), back(kWords, -1);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<int64_t>(i) * (me.world_rank + 1);
    window.lock(me, to, LockType::kShared);
    window.put(me, {to, 0, word_type(), kWords}, words(data.data(), kWords));
    window.get(me, {to, 0, word_type(), kWords}, words(back.data(), kWords));
    window.unlock(me, to);
    EXPECT_EQ(data, back);
    window.close(me);
  }),
            "");
  ASSERT_TRUE(Settings::assign("net.window_bytes=4194304").ok());
  ASSERT_TRUE(Settings::assign("net.window_offer_bytes=32k").ok());
}

// Long puts and gets do not go with the packets: the lock must not be released before they are done.
TEST_P(Windows, HoldTheLockUntilLongDataAreThere) {
  constexpr Count kWords = 20'000;
  World world = make_world();
  const int n = world.size();
  FarWindow window(world, GetParam().processes, kWords);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    std::vector<int64_t> data(kWords, 0);
    for (int turn = 0; turn < 10; ++turn) {
      window.lock(me, 0, LockType::kExclusive);
      window.get(me, {0, 0, word_type(), kWords}, words(data.data(), kWords));
      window.flush(me, 0);
      EXPECT_EQ(data, std::vector<int64_t>(kWords, data.front()));
      for (int64_t& word : data) ++word;
      window.put(me, {0, 0, word_type(), kWords}, words(data.data(), kWords));
      window.unlock(me, 0);
    }
    window.close(me);
  }),
            "");
  EXPECT_EQ(*window.of(0), 10 * n);
}

// As packets, and as offers, which the target refuses.
TEST_P(Windows, TellTheOriginWhatADynamicTargetHasNotAttached) {
  for (const char* const setting :
       {"net.window_offer_bytes=1", "net.window_offer_bytes=32k"}) {
    SCOPED_TRACE(setting);
    ASSERT_TRUE(Settings::assign(setting).ok());
    World world = make_world();
    FarWindow window(world, GetParam().processes, 4, Addressing::kDynamic);
    const int last = world.size() - 1;
    auto& regions = window.share_of(last).target(last).regions;
    const auto base = reinterpret_cast<uintptr_t>(window.of(last));
    EXPECT_TRUE(regions.attach(base, 16));
    EXPECT_EQ(world.run([&](job::Rank& me) {
      if (me.world_rank == 0) {
        const int64_t value = 7;
        window.lock(me, last, LockType::kShared);
        const auto disp = static_cast<Count>(base);
        window.put(me, {last, disp, word_type(), 1}, words(&value, 1));
        window.flush(me, last);
        EXPECT_FALSE(window.access(me).remote()->take_failure());
        window.put(me, {last, disp + 16, word_type(), 1}, words(&value, 1));
        int64_t got = 0;
        window.get(me, {last, disp + 8, word_type(), 2}, words(&got, 2));
        window.unlock(me, last);
        const auto failure = window.access(me).remote()->take_failure();
        EXPECT_TRUE(failure);
        if (failure) {
          EXPECT_EQ(failure->fit, Fit::kNotAttached);
          EXPECT_EQ(failure->disp, disp + 16);
        }
        EXPECT_FALSE(window.access(me).remote()->take_failure());
      }
      window.close(me);
    }),
              "");
    EXPECT_EQ(window.of(last)[0], 7);
    EXPECT_EQ(window.of(last)[2], 0);
  }
}

// ---- programs of random operations ----------------------------------------------------------------

// A datatype of words, and where they lie.
struct Shape {
  dt::TypeRef type;
  std::vector<Count> places;
};

Shape random_shape(std::mt19937& random, Count room) {
  const auto below = [&](Count n) {
    return static_cast<Count>(random() % static_cast<uint64_t>(n));
  };
  Shape shape;
  std::vector<Count> lengths, starts;
  switch (below(3)) {
    case 0: {
      const Count n = 1 + below(room);
      shape.type = *dt::make_contiguous(n, word_type());
      for (Count i = 0; i < n; ++i) shape.places.push_back(i);
      break;
    }
    case 1: {
      const Count blocks = 1 + below(4), stride = room / blocks;
      const Count length = 1 + below(stride);
      shape.type = *dt::make_vector(blocks, length, stride, word_type());
      for (Count b = 0; b < blocks; ++b)
        for (Count i = 0; i < length; ++i) shape.places.push_back(b * stride + i);
      break;
    }
    default:
      for (Count at = below(3); at < room;) {
        const Count length = std::min(1 + below(4), room - at);
        starts.push_back(at);
        lengths.push_back(length);
        for (Count i = 0; i < length; ++i) shape.places.push_back(at + i);
        at += length + below(4);
      }
      // Not in the order of memory.
      if (starts.size() > 1) {
        std::swap(starts[0], starts[1]);
        std::swap(lengths[0], lengths[1]);
        shape.places.clear();
        for (size_t b = 0; b < starts.size(); ++b)
          for (Count i = 0; i < lengths[b]; ++i) shape.places.push_back(starts[b] + i);
      }
      shape.type = *dt::make_indexed(lengths, starts, word_type());
  }
  return shape;
}

// Each origin has a slice of each target to itself, of which it knows what must be in it.
class RandomProgram {
 public:
  static constexpr Count kSlice = 48;
  static constexpr int kSteps = 60;

  RandomProgram(FarWindow& window, job::Rank& me, int ranks, unsigned seed)
      : window_(window), me_(me), ranks_(ranks), random_(seed) {
    known_.assign(static_cast<size_t>(ranks), std::vector<int64_t>(kSlice, 0));
  }
  void run() {
    for (int epoch = 0; epoch < 4; ++epoch) {
      const int target = static_cast<int>(random_() % static_cast<unsigned>(ranks_));
      const bool is_all = random_() % 2 == 0;
      if (is_all)
        EXPECT_EQ(window_.access(me_).lock_all(false, kWhy), nullptr);
      else
        window_.lock(me_, target,
                     random_() % 3 == 0 ? LockType::kExclusive : LockType::kShared);
      for (int step = 0; step < kSteps; ++step)
        do_one(is_all ? static_cast<int>(random_() % static_cast<unsigned>(ranks_))
                      : target);
      if (is_all) {
        window_.access(me_).before_unlock_all(kWhy);
        EXPECT_EQ(window_.access(me_).unlock_all(), nullptr);
        window_.access(me_).finish_all(false, kWhy);
      } else {
        window_.unlock(me_, target);
      }
    }
  }
  const std::vector<int64_t>& known(int target) const {
    return known_[static_cast<size_t>(target)];
  }

 private:
  void do_one(int target) {
    auto& known = known_[static_cast<size_t>(target)];
    const Shape shape = random_shape(random_, kSlice);
    const auto n = static_cast<Count>(shape.places.size());
    const Spot spot{target, me_.world_rank * kSlice, *shape.type, 1};
    std::vector<int64_t> data(shape.places.size());
    for (int64_t& word : data) word = static_cast<int64_t>(random_() % 1000);
    switch (random_() % 4) {
      case 0:
        // Puts are ordered by flushes only.
        window_.flush(me_, target);
        window_.put(me_, spot, words(data.data(), n));
        window_.flush(me_, target);
        for (size_t i = 0; i < data.size(); ++i) at(known, shape, i) = data[i];
        break;
      case 1: {
        std::vector<int64_t> got(data.size(), -1);
        window_.flush(me_, target);
        window_.get(me_, spot, words(got.data(), n));
        window_.flush(me_, target);
        for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], at(known, shape, i));
        break;
      }
      case 2:  // accumulates are ordered as they are
        window_.accumulate(me_, dt::abi::kSum, word_type(), spot, words(data.data(), n),
                           nullptr);
        for (size_t i = 0; i < data.size(); ++i) at(known, shape, i) += data[i];
        kept_.push_back(std::move(data));  // it is in use until the epoch ends
        break;
      default: {
        std::vector<int64_t> got(data.size(), -1);
        const Buffer result = words(got.data(), n);
        window_.accumulate(me_, dt::abi::kReplace, word_type(), spot,
                           words(data.data(), n), &result);
        window_.flush(me_, target);
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(got[i], at(known, shape, i));
          at(known, shape, i) = data[i];
        }
      }
    }
  }
  static int64_t& at(std::vector<int64_t>& slice, const Shape& shape, size_t i) {
    return slice[static_cast<size_t>(shape.places[i])];
  }

  FarWindow& window_;
  job::Rank& me_;
  const int ranks_;
  std::mt19937 random_;
  std::vector<std::vector<int64_t>> known_;
  std::vector<std::vector<int64_t>> kept_;
};

TEST_P(Windows, DoWhatRandomProgramsExpect) {
  for (unsigned seed = test::seed(); seed < test::seed() + 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world = make_world();
    const int n = world.size();
    FarWindow window(world, GetParam().processes,
                     static_cast<size_t>(RandomProgram::kSlice * n));
    std::vector<std::vector<std::vector<int64_t>>> expected(static_cast<size_t>(n));
    EXPECT_EQ(world.run([&](job::Rank& me) {
      RandomProgram program(window, me, n,
                            seed * 100 + static_cast<unsigned>(me.world_rank));
      program.run();
      for (int t = 0; t < n; ++t)
        expected[static_cast<size_t>(me.world_rank)].push_back(program.known(t));
      window.close(me);
    }),
              "");
    for (int origin = 0; origin < n; ++origin) {
      for (int target = 0; target < n; ++target) {
        const int64_t* const slice = window.of(target) + origin * RandomProgram::kSlice;
        EXPECT_EQ(std::vector<int64_t>(slice, slice + RandomProgram::kSlice),
                  expected[static_cast<size_t>(origin)][static_cast<size_t>(target)])
            << "origin " << origin << ", target " << target;
      }
    }
  }
}

}  // namespace
}  // namespace mpc::rma
