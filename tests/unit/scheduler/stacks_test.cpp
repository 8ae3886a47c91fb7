// Stacks have guards, wide ones while the limits allow it; what touches one is recognised.
#include "scheduler/stacks.h"

#include <gtest/gtest.h>

#include <vector>

namespace mpc::sched {
namespace {

constexpr size_t kStackBytes = 1u << 20;

std::vector<char*> stacks_of(StackArena& arena, size_t count) {
  std::vector<char*> out;
  for (size_t i = 0; i < count; ++i) {
    Result<char*> stack = arena.allocate();
    EXPECT_TRUE(stack) << stack.error().message;
    if (stack) out.push_back(*stack);
  }
  return out;
}

void fill_all(const std::vector<char*>& stacks) {
  for (size_t s = 0; s < stacks.size(); ++s)
    for (size_t i = 0; i < kStackBytes; i += 4096)
      stacks[s][i] = static_cast<char>(s + 1);
  for (size_t s = 0; s < stacks.size(); ++s)
    for (size_t i = 0; i < kStackBytes; i += 4096)
      ASSERT_EQ(stacks[s][i], static_cast<char>(s + 1)) << "stack " << s << " at " << i;
}

class Guards : public testing::TestWithParam<size_t> {};

TEST_P(Guards, BelongToNoStack) {
  StackArena arena(kStackBytes);
  arena.limit_wide_guards(GetParam());
  const auto stacks = stacks_of(arena, 5);
  fill_all(stacks);
  for (const char* stack : stacks) {
    EXPECT_FALSE(is_stack_guard(stack));
    EXPECT_FALSE(is_stack_guard(stack + kStackBytes - 1));
    EXPECT_TRUE(is_stack_guard(stack - 1));
    const size_t guard = arena.guard_bytes(stack);
    EXPECT_GE(guard, StackArena::kLeastGuardBytes);
    EXPECT_TRUE(is_stack_guard(stack - guard));
    EXPECT_DEATH(*const_cast<volatile char*>(stack - 1) = 1, "");
    EXPECT_DEATH(*const_cast<volatile char*>(stack - guard) = 1, "");
  }
}

// How many are wide; the others are marked.
INSTANTIATE_TEST_SUITE_P(Wide, Guards, testing::Values(5, 2, 0));

TEST(Stacks, AreZeroAndGuardedWhenUsedAgain) {
  for (const size_t wide : {size_t{10}, size_t{0}}) {
    StackArena arena(kStackBytes);
    arena.limit_wide_guards(wide);
    char* stack = stacks_of(arena, 1).front();
    stack[0] = stack[kStackBytes - 1] = 1;
    arena.release(stack);
    char* again = stacks_of(arena, 1).front();
    EXPECT_EQ(again, stack);
    EXPECT_EQ(again[0] + again[kStackBytes - 1], 0);
    EXPECT_TRUE(is_stack_guard(again - 1));
  }
}

TEST(Stacks, GuardsOfArenasThatAreGoneAreForgotten) {
  const char* stack = nullptr;
  {
    StackArena arena(kStackBytes);
    stack = stacks_of(arena, 1).front();
    EXPECT_TRUE(is_stack_guard(stack - 1));
  }
  EXPECT_FALSE(is_stack_guard(stack - 1));
}

}  // namespace
}  // namespace mpc::sched
