// The gate of a window's accumulates: no change is lost, before, while and after it closes.
#include "runtime/rma/accumulate_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/rma/accumulate.h"

namespace mpc::rma {
namespace {

constexpr Count kWords = 512;

ElementOp sum_of_longs() {
  ElementOp op;
  EXPECT_TRUE(ElementOp::make(dt::abi::kSum, *dt::predefined(dt::abi::kLong), &op));
  return op;
}

void add_one(const AccumulateGate::Passage& who, const ElementOp& op, long* word) {
  const long one = 1;
  AccumulateGate::pass(who, [&] { op.apply(word, &one, nullptr); });
}

void add_ones(const AccumulateGate::Passage& who, const ElementOp& op,
              std::vector<long>& words) {
  std::vector<long> ones(words.size(), 1);
  const dt::Datatype& type = op.element();
  const auto n = static_cast<Count>(words.size());
  accumulate(who, op, {words.data(), &type, n}, {ones.data(), &type, n}, nullptr);
}

TEST(AccumulateGate, IsClosedByTheFirstLongOperation) {
  AccumulateGate gate(2);
  const ElementOp op = sum_of_longs();
  std::vector<long> few(8, 0), many(kWords, 0);
  add_ones({gate, 1, 0, true}, op, few);
  EXPECT_FALSE(gate.is_closed());
  add_ones({gate, 1, 0, true}, op, many);
  EXPECT_TRUE(gate.is_closed());
  add_ones({gate, 1, 1, false}, op, few);
  EXPECT_EQ(few, std::vector<long>(8, 2));
  EXPECT_EQ(many, std::vector<long>(kWords, 1));
}

TEST(AccumulateGate, StaysOpenForMemoryOfSeveralProcesses) {
  AccumulateGate gate(1);
  gate.keep_open();
  EXPECT_FALSE(gate.close());
  std::vector<long> many(kWords, 0);
  add_ones({gate, 0, 0, true}, sum_of_longs(), many);
  EXPECT_FALSE(gate.is_closed());
  EXPECT_EQ(many, std::vector<long>(kWords, 1));
}

// Members with one thread each, and threads that are nobody's main execution, change the same words.
TEST(AccumulateGate, NoChangeIsLostWhileItCloses) {
  constexpr int kRounds = 150, kMembers = 2, kOthers = 1, kLong = 2, kEach = 400;
  const ElementOp op = sum_of_longs();
  for (int round = 0; round < kRounds; ++round) {
    AccumulateGate gate(kMembers);
    std::vector<long> words(kWords, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < kMembers + kOthers; ++t)
      threads.emplace_back([&, t] {
        const bool is_main = t < kMembers;
        for (int i = 0; i < kEach; ++i)
          add_one({gate, 0, is_main ? t : 0, is_main}, op, &words[7]);
      });
    for (int t = 0; t < kLong; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < (round * 7 + t) % 90; ++i) std::this_thread::yield();
        for (int i = 0; i < 20; ++i) add_ones({gate, 0, t, false}, op, words);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(gate.is_closed());
    EXPECT_EQ(words[7], kEach * (kMembers + kOthers) + 20 * kLong);
    EXPECT_EQ(words[8], 20 * kLong);
  }
}

// Without the gaps of pairs.
std::vector<char> packed(const std::vector<char>& data, size_t at,
                         const dt::Datatype& type, Count n) {
  std::vector<char> bytes(static_cast<size_t>(type.size() * n));
  dt::pack(data.data() + at, type, n, 0, bytes.data(), bytes.size());
  return bytes;
}

// What a long operation does under the lock is what it does element by element.
TEST(AccumulateGate, LongOperationsDoWhatShortOnesDo) {
  const uint32_t ops[] = {dt::abi::kSum,     dt::abi::kMax,  dt::abi::kMinloc,
                          dt::abi::kReplace, dt::abi::kNoOp, dt::abi::kBxor};
  for (uint32_t code = dt::abi::kFirstType; code <= dt::abi::kLastType; ++code) {
    const dt::Datatype* const type = dt::predefined(code);
    if (type == nullptr || type->size() == 0) continue;
    for (const uint32_t op_code : ops) {
      ElementOp op;
      if (!ElementOp::make(op_code, *type, &op)) continue;
      for (const size_t shift : {0, 1}) {
        const Count n = 700;
        const auto bytes = static_cast<size_t>(n * type->extent()) + 16;
        std::vector<char> one(bytes), all(bytes), origin(bytes), old_one(bytes, 5),
            old_all(bytes, 5);
        for (size_t i = 0; i < bytes; ++i) {
          one[i] = all[i] = static_cast<char>(i * 5 % 61);
          origin[i] = static_cast<char>(i * 3 % 59);
        }
        AccumulateGate gate(1);
        char* const o = origin.data();
        const Buffer back{old_all.data(), type, n};
        accumulate({gate, 0, 0, true}, op, {all.data() + shift, type, n}, {o, type, n},
                   &back);
        for (Count i = 0; i < n; ++i) {
          const Count at = i * type->extent();
          op.apply(one.data() + shift + at, o + at, old_one.data() + at);
        }
        EXPECT_EQ(packed(all, shift, *type, n), packed(one, shift, *type, n))
            << op_code << " of type " << code;
        EXPECT_EQ(packed(old_all, 0, *type, n), packed(old_one, 0, *type, n))
            << op_code << " of type " << code;
      }
    }
  }
}

}  // namespace
}  // namespace mpc::rma
