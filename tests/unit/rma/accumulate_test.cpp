// Elements stay whole: every operation and type against plain reductions, and many ranks at once.
#include "runtime/rma/accumulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/mpi_handle_names.h"
#include "tests/unit/rma/window.h"

namespace mpc::rma {
namespace {

constexpr uint32_t kOps[] = {dt::abi::kSum,     dt::abi::kMin,    dt::abi::kMax,
                             dt::abi::kProd,    dt::abi::kBand,   dt::abi::kBor,
                             dt::abi::kBxor,    dt::abi::kLand,   dt::abi::kLor,
                             dt::abi::kLxor,    dt::abi::kMinloc, dt::abi::kMaxloc,
                             dt::abi::kReplace, dt::abi::kNoOp};

// Small numbers as any type: floating ones stay exact and are no NaN.
void fill(char* to, const dt::Datatype& type, Count n, unsigned number) {
  std::vector<char> packed(static_cast<size_t>(type.size() * n));
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = static_cast<char>((number + i * 7) % 61);
  dt::unpack(to, type, n, 0, packed.data(), packed.size());
}

std::vector<char> packed(const char* from, const dt::Datatype& type, Count n) {
  std::vector<char> bytes(static_cast<size_t>(type.size() * n));
  dt::pack(from, type, n, 0, bytes.data(), bytes.size());
  return bytes;
}

// One operation on `n` elements, `shift` bytes off their alignment, against the plain kernel.
void compare(uint32_t op_code, const dt::Datatype& type, Count n, size_t shift) {
  ElementOp op;
  const dt::ReduceFn kernel = dt::reduction(op_code, type.abi_code());
  ASSERT_EQ(ElementOp::make(op_code, type, &op), kernel != nullptr);
  if (kernel == nullptr) return;
  const auto bytes = static_cast<size_t>(type.extent() * n) + 64;
  std::vector<char> target(bytes), origin(bytes), result(bytes), want(bytes);
  char *t = target.data() + shift, *o = origin.data(), *r = result.data(),
       *w = want.data();
  fill(t, type, n, 3);
  fill(o, type, n, 17);
  fill(w, type, n, 3);
  const std::vector<char> before = packed(t, type, n);
  kernel(o, w, n);
  const Buffer result_buffer{r, &type, n};
  accumulate(op, {t, &type, n}, {o, &type, n}, &result_buffer);
  EXPECT_EQ(packed(t, type, n), packed(w, type, n));
  EXPECT_EQ(packed(r, type, n), before);
  // Without a result.
  fill(t, type, n, 3);
  accumulate(op, {t, &type, n}, {o, &type, n}, nullptr);
  EXPECT_EQ(packed(t, type, n), packed(w, type, n));
  // What lies around it is untouched.
  EXPECT_EQ(std::string(target.data(), shift), std::string(shift, '\0'));
}

TEST(Accumulate, DoesWhatTheReductionDoesForEveryTypeOperationAndAddress) {
  for (uint32_t code = dt::abi::kFirstType; code <= dt::abi::kLastType; ++code) {
    const dt::Datatype* const type = dt::predefined(code);
    if (type == nullptr || type->size() == 0) continue;
    for (const uint32_t op : kOps) {
      SCOPED_TRACE(std::string(abi::handle_name(code)) + " " + abi::handle_name(op));
      compare(op, *type, 5, 0);
      compare(op, *type, 3, 4);
      compare(op, *type, 2, 1);
      if (type->extent() >= Count{sizeof(uint64_t)}) continue;
      compare(op, *type, 37, 0);  // words of small elements
      compare(op, *type, 30, 4);
      compare(op, *type, 33, 1);
    }
  }
}

TEST(Accumulate, WalksDerivedTypesOnAllSidesInStep) {
  const dt::Datatype& base = *dt::predefined(dt::abi::kInt);
  auto vector = dt::make_vector(5, 2, 3, base);  // 10 elements with gaps
  auto blocks = dt::make_indexed(std::vector<int>{3, 1, 6}, std::vector<int>{9, 0, 20},
                                 base);  // 10 elements out of order
  ASSERT_TRUE(vector.ok() && blocks.ok());
  ASSERT_EQ(dt::element_of(**vector), &base);
  std::vector<int> target(64), origin(64), result(64);
  std::iota(origin.begin(), origin.end(), 100);
  std::iota(target.begin(), target.end(), 0);
  ElementOp op;
  ASSERT_TRUE(ElementOp::make(dt::abi::kSum, base, &op));
  const Buffer back{result.data(), &base, 10};
  accumulate(op, {target.data(), &**vector, 1}, {origin.data(), &**blocks, 1}, &back);
  const int from[] = {9, 10, 11, 0, 20, 21, 22, 23, 24, 25};
  for (int i = 0; i < 10; ++i) {
    const int at = i / 2 * 3 + i % 2;
    EXPECT_EQ(result[static_cast<size_t>(i)], at);
    EXPECT_EQ(target[static_cast<size_t>(at)], at + 100 + from[i]) << i;
  }
  EXPECT_EQ(target[2], 2);  // a gap
}

TEST(Accumulate, WalksPairsWithGaps) {
  struct Pair {
    short value;
    int index;
  };
  const dt::Datatype& base = *dt::predefined(dt::abi::kShortInt);
  auto three = dt::make_contiguous(3, base);
  ASSERT_TRUE(three.ok());
  ASSERT_EQ(dt::element_of(**three), &base);
  Pair target[6] = {{5, 0}, {5, 1}, {5, 2}, {5, 3}, {5, 4}, {5, 5}};
  Pair origin[6] = {{9, 10}, {1, 11}, {5, 1}, {9, 13}, {1, 14}, {9, 15}};
  ElementOp op;
  ASSERT_TRUE(ElementOp::make(dt::abi::kMaxloc, base, &op));
  accumulate(op, {target, &**three, 2}, {origin, &base, 6}, nullptr);
  const Pair want[6] = {{9, 10}, {5, 1}, {5, 1}, {9, 13}, {5, 4}, {9, 15}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(target[i].value, want[i].value) << i;
    EXPECT_EQ(target[i].index, want[i].index) << i;
  }
}

TEST(Elements, AreThoseOfTheOnlyPredefinedTypeInside) {
  const dt::Datatype &i = *dt::predefined(dt::abi::kInt),
                     &d = *dt::predefined(dt::abi::kDouble);
  const dt::Datatype* const both[] = {&i, &d};
  const dt::Datatype* const same[] = {&d, &d};
  auto mixed = dt::make_struct(std::vector<int>{1, 1}, std::vector<Count>{0, 8}, both);
  auto alike = dt::make_struct(std::vector<int>{1, 2}, std::vector<Count>{0, 8}, same);
  auto empty = dt::make_contiguous(0, i);
  ASSERT_TRUE(mixed.ok() && alike.ok() && empty.ok());
  EXPECT_EQ(dt::element_of(**mixed), nullptr);
  EXPECT_EQ(dt::element_of(**alike), &d);
  EXPECT_EQ(dt::element_of(*dt::f90_real(15, dt::kAny)),
            dt::predefined(dt::f90_real(15, dt::kAny)->uniform_code()));
}

TEST(CompareAndSwap, SwapsWhatIsExpectedAndTellsWhatWasThere) {
  for (const uint32_t code : {dt::abi::kByte, dt::abi::kShort, dt::abi::kInt,
                              dt::abi::kLong, dt::abi::kInteger16}) {
    const dt::Datatype& type = *dt::predefined(code);
    const auto bytes = static_cast<size_t>(type.size());
    for (const size_t shift : {size_t{0}, size_t{1}}) {
      alignas(16) char target[48] = {}, one[16], two[16], result[16];
      std::memset(one, 1, sizeof one);
      std::memset(two, 2, sizeof two);
      std::memset(target + shift, 1, bytes);
      compare_and_swap(type, target + shift, two, two, result);
      EXPECT_EQ(std::memcmp(result, one, bytes), 0);
      EXPECT_EQ(std::memcmp(target + shift, one, bytes), 0);
      compare_and_swap(type, target + shift, two, one, result);
      EXPECT_EQ(std::memcmp(result, one, bytes), 0);
      EXPECT_EQ(std::memcmp(target + shift, two, bytes), 0);
    }
  }
}

// ---- many at once ----------------------------------------------------------------------------------

constexpr int kThreads = 4, kTurns = 20000;

template <class Body>
void at_once(Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([t, &body] { body(t); });
  for (auto& thread : threads) thread.join();
}

template <class T>
void add_at_once(uint32_t code, size_t shift) {
  const dt::Datatype& type = *dt::predefined(code);
  alignas(16) char memory[64] = {};
  char* const target = memory + shift;
  ElementOp op;
  ASSERT_TRUE(ElementOp::make(dt::abi::kSum, type, &op));
  at_once([&](int) {
    const T one = 1;
    for (int i = 0; i < kTurns; ++i) op.apply(target, &one, nullptr);
  });
  T sum;
  std::memcpy(&sum, target, sizeof sum);
  EXPECT_EQ(sum, static_cast<T>(kThreads * kTurns));
}

TEST(Accumulate, LosesNothingWhereFourThreadsAdd) {
  add_at_once<int>(dt::abi::kInt, 0);
  add_at_once<int64_t>(dt::abi::kLong, 0);
  add_at_once<double>(dt::abi::kDouble, 0);
  add_at_once<float>(dt::abi::kFloat, 4);
  add_at_once<long double>(dt::abi::kLongDouble, 0);
  add_at_once<int64_t>(dt::abi::kLong, 1);  // off its alignment: a stripe lock
}

// Whole words of small elements, other words of them, and single ones, at once.
template <class T>
void add_runs_at_once(uint32_t code) {
  constexpr int kElements = 67, kRounds = 3000;
  const dt::Datatype& type = *dt::predefined(code);
  alignas(8) T target[kElements] = {};
  T ones[kElements];
  std::fill_n(ones, kElements, T{1});
  ElementOp op;
  ASSERT_TRUE(ElementOp::make(dt::abi::kSum, type, &op));
  const auto add = [&](int first, int n, T* result) {
    const Buffer to{target + first, &type, n}, back{result, &type, n};
    accumulate(op, to, {ones, &type, n}, result == nullptr ? nullptr : &back);
  };
  at_once([&](int thread) {
    T old[kElements];
    for (int i = 0; i < kRounds; ++i) {
      if (thread == 0) add(0, kElements, nullptr);
      if (thread == 1) add(0, kElements, old);
      if (thread == 2) add(3, 40, nullptr);
      if (thread == 3) op.apply(target + i % kElements, ones, nullptr);
    }
  });
  for (int k = 0; k < kElements; ++k) {
    const int singles = kRounds / kElements + (k < kRounds % kElements);
    const int sum = 2 * kRounds + (k >= 3 && k < 43 ? kRounds : 0) + singles;
    EXPECT_EQ(target[k], static_cast<T>(sum)) << k;
  }
}

TEST(Accumulate, LosesNothingWhereWordsAndTheirPartsAreAddedTo) {
  add_runs_at_once<uint8_t>(dt::abi::kUnsignedChar);
  add_runs_at_once<int16_t>(dt::abi::kShort);
  add_runs_at_once<float>(dt::abi::kFloat);
}

TEST(Accumulate, GivesEachNumberOnceWhereFourThreadsFetch) {
  const dt::Datatype& type = *dt::predefined(dt::abi::kLong);
  alignas(8) int64_t counter = 0;
  std::vector<std::atomic<char>> seen(kThreads * kTurns);
  ElementOp op;
  ASSERT_TRUE(ElementOp::make(dt::abi::kSum, type, &op));
  at_once([&](int) {
    const int64_t one = 1;
    for (int i = 0; i < kTurns; ++i) {
      int64_t mine = -1;
      op.apply(&counter, &one, &mine);
      seen[static_cast<size_t>(mine)].fetch_add(1, std::memory_order_relaxed);
    }
  });
  for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
}

// The two halves of a pair come from one writer.
TEST(Accumulate, NeverShowsHalfOfAPair) {
  struct Pair {
    double value;
    int index;
  };
  const dt::Datatype& type = *dt::predefined(dt::abi::kDoubleInt);
  alignas(16) Pair target{0, 0};
  std::atomic<int> torn{0};
  ElementOp replace, read;
  ASSERT_TRUE(ElementOp::make(dt::abi::kReplace, type, &replace));
  ASSERT_TRUE(ElementOp::make(dt::abi::kNoOp, type, &read));
  at_once([&](int thread) {
    for (int i = 0; i < kTurns; ++i) {
      const Pair mine{static_cast<double>(thread), thread};
      Pair got{-1, -2};
      if (i % 2 == 0) {
        replace.apply(&target, &mine, &got);
      } else {
        read.apply(&target, nullptr, &got);
      }
      if (got.value != got.index) ++torn;
    }
  });
  EXPECT_EQ(torn.load(), 0);
}

// A structure as bytes: words of it are whole, and who sees the first one sees the second.
TEST(Accumulate, ReplacesBytesWordByWordFromTheEnd) {
  const dt::Datatype& type = *dt::predefined(dt::abi::kByte);
  alignas(8) uint64_t target[2] = {0, 0};
  std::atomic<int> wrong{0};
  ElementOp replace, read;
  ASSERT_TRUE(ElementOp::make(dt::abi::kReplace, type, &replace));
  ASSERT_TRUE(ElementOp::make(dt::abi::kNoOp, type, &read));
  at_once([&](int thread) {
    for (uint64_t i = 1; i <= kTurns; ++i) {
      const uint64_t mine[2] = {i << 32 | i, i << 32 | i};
      uint64_t got[2] = {1, 0};
      if (thread == 0) {  // one writer, whose numbers grow
        replace.apply_run(reinterpret_cast<char*>(target),
                          reinterpret_cast<const char*>(mine), nullptr, 16);
        continue;
      }
      read.apply_run(reinterpret_cast<char*>(target), nullptr,
                     reinterpret_cast<char*>(got), 16);
      if (got[0] >> 32 != (got[0] & 0xffffffff) || got[1] < got[0]) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

// A lock of compare-and-swap and replace, as programs build it, around plain memory.
TEST(CompareAndSwap, MakesALockThatOrdersMemory) {
  const dt::Datatype& type = *dt::predefined(dt::abi::kInt);
  alignas(4) int lock = 0;
  int64_t guarded = 0;
  ElementOp replace;
  ASSERT_TRUE(ElementOp::make(dt::abi::kReplace, type, &replace));
  at_once([&](int) {
    const int zero = 0, one = 1;
    for (int i = 0; i < 2000; ++i) {
      for (int got = 1; got != 0;) {
        compare_and_swap(type, &lock, &one, &zero, &got);
        if (got != 0) std::this_thread::yield();
      }
      ++guarded;
      replace.apply(&lock, &zero, nullptr);
    }
  });
  EXPECT_EQ(guarded, kThreads * 2000);
}

}  // namespace
}  // namespace mpc::rma
