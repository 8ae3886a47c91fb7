// Where an access lies: displacements, attached regions, shared pages.
#include <gtest/gtest.h>

#include "runtime/rma/window_share.h"

namespace mpc::rma {
namespace {

const dt::Datatype& int_type() { return *dt::predefined(dt::abi::kInt); }

TEST(Target, FindsDisplacementsInItsUnitAndRefusesWhatLiesBeyond) {
  alignas(8) char memory[64];
  Target target(1);
  target.memory = {memory, 64, 4};
  char* at = nullptr;
  EXPECT_EQ(target.find(3, int_type(), 2, &at), Fit::kFits);
  EXPECT_EQ(at, memory + 12);
  EXPECT_EQ(target.find(15, int_type(), 1, &at), Fit::kFits);
  EXPECT_EQ(target.find(15, int_type(), 2, &at), Fit::kBeyond);
  EXPECT_EQ(target.find(16, int_type(), 1, &at), Fit::kBeyond);
  EXPECT_EQ(target.find(1000, int_type(), 0, &at), Fit::kFits);  // no data
  EXPECT_EQ(target.find(-1, int_type(), 1, &at), Fit::kNegative);
  EXPECT_EQ(target.find(INT64_MAX / 2, int_type(), 1, &at), Fit::kBeyond);
  EXPECT_EQ(target.find(0, int_type(), INT64_MAX / 2, &at), Fit::kBeyond);
}

TEST(Target, LooksAtBothEndsOfADatatype) {
  char memory[64];
  Target target(1);
  target.memory = {memory, 64, 1};
  auto strided = dt::make_hvector(3, 1, -8, int_type());
  ASSERT_TRUE(strided.ok());
  char* at = nullptr;
  EXPECT_EQ(target.find(16, **strided, 1, &at), Fit::kFits);
  EXPECT_EQ(target.find(15, **strided, 1, &at), Fit::kBeyond);
  auto backwards = dt::make_resized(int_type(), 0, -4);
  ASSERT_TRUE(backwards.ok());
  EXPECT_EQ(target.find(12, **backwards, 4, &at), Fit::kFits);
  EXPECT_EQ(target.find(12, **backwards, 5, &at), Fit::kBeyond);
}

TEST(Target, OfAnotherProcessHasSizesAndNoAddress) {
  Target target(1);
  target.memory = {nullptr, 64, 4, Addressing::kFar};
  char* at = nullptr;
  EXPECT_EQ(target.find(15, int_type(), 1, &at), Fit::kFar);
  EXPECT_EQ(target.find(15, int_type(), 2, &at), Fit::kBeyond);
  EXPECT_EQ(target.find(-1, int_type(), 1, &at), Fit::kNegative);
  EXPECT_EQ(target.find(0, int_type(), 0, &at), Fit::kFar);
  // What is attached there is not known here.
  target.memory.addressing = Addressing::kFarDynamic;
  EXPECT_EQ(target.find(123456, int_type(), 1, &at), Fit::kFar);
  EXPECT_EQ(target.find(0, int_type(), INT64_MAX, &at), Fit::kBeyond);
}

TEST(Target, KnowsOnlyAttachedMemoryOfADynamicWindow) {
  alignas(8) char memory[64];
  Target target(1);
  target.memory.addressing = Addressing::kDynamic;
  const auto base = reinterpret_cast<uintptr_t>(memory);
  const auto disp = static_cast<Count>(base);
  char* at = nullptr;
  EXPECT_EQ(target.find(disp, int_type(), 1, &at), Fit::kNotAttached);
  EXPECT_TRUE(target.regions.attach(base + 32, 32));
  EXPECT_TRUE(target.regions.attach(base, 16));
  EXPECT_FALSE(target.regions.attach(base + 8, 16));
  EXPECT_FALSE(target.regions.attach(base + 24, 16));
  EXPECT_FALSE(target.regions.attach(base + 36, 4));
  EXPECT_EQ(target.find(disp + 12, int_type(), 1, &at), Fit::kFits);
  EXPECT_EQ(at, memory + 12);
  EXPECT_EQ(target.find(disp + 12, int_type(), 2, &at), Fit::kNotAttached);
  EXPECT_TRUE(target.regions.attach(base + 16, 16));  // fills the gap
  EXPECT_EQ(target.find(disp + 12, int_type(), 2, &at), Fit::kFits);
  EXPECT_EQ(target.find(disp, int_type(), 16, &at), Fit::kFits);
  EXPECT_EQ(target.find(disp + 4, int_type(), 16, &at), Fit::kNotAttached);
  EXPECT_FALSE(target.regions.detach(base + 8));
  EXPECT_TRUE(target.regions.detach(base));
  EXPECT_EQ(target.find(disp + 12, int_type(), 1, &at), Fit::kNotAttached);
}

TEST(WindowShare, AllocatesOnePieceOrPagesApart) {
  for (const bool is_apart : {false, true}) {
    WindowShare share(3);
    share.target(0).memory.bytes = 100;
    share.target(1).memory.bytes = 0;
    share.target(2).memory.bytes = 5000;
    ASSERT_TRUE(share.allocate(is_apart));
    char* const first = share.target(0).memory.base;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 4096, 0u);
    EXPECT_EQ(share.target(1).memory.base, nullptr);
    EXPECT_EQ(share.target(2).memory.base - first, is_apart ? 4096 : 100);
    first[0] = share.target(2).memory.base[4999] = 1;
  }
}

TEST(WindowShare, SaysThatThereIsNotSoMuchMemory) {
  WindowShare share(2);
  share.target(0).memory.bytes = INT64_MAX;
  share.target(1).memory.bytes = INT64_MAX;
  EXPECT_FALSE(share.allocate(false));
  EXPECT_FALSE(share.allocate(true));
  share.target(1).memory.bytes = 0;
  EXPECT_FALSE(share.allocate(false));
}

}  // namespace
}  // namespace mpc::rma
