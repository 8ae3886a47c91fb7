// A profile for another process and back, added up, and what a user reads.

#include "runtime/profile/profile.h"

#include <gtest/gtest.h>

namespace mpc::profile {
namespace {

Profile example(int rank) {
  Profile profile;
  profile.program = "./prog with \"words\"\nand lines";
  profile.ranks = 2;
  profile.seconds = 1.5;
  profile.samples = 1500;
  profile.times = {{rank, {1'000'000'000, 400'000'000, 100'000'000, 0, 0}}};
  profile.calls = {{rank, 1 - rank, "MPI_Recv", 400'000'000, 100'000'000}};
  profile.messages = {{rank, 1 - rank, 3, 3000}};
  return profile;
}

TEST(Profile, IsTheSameBehindItsEncoding) {
  const Profile before = example(1);
  const auto after = decode(encode(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->program, "./prog with \"words\" and lines");
  EXPECT_EQ(to_text(*after), to_text(before));
  EXPECT_EQ(to_json(*after), to_json(before));
}

TEST(Profile, RefusesWhatIsNoEncoding) {
  for (const char* text : {"job 1", "times 1 2\n", "call 1 x 3 4 MPI_Send\n", "what\n",
                           "message 1 2 3\n", "\n"})
    EXPECT_FALSE(decode(text).ok()) << text;
  EXPECT_TRUE(decode("").ok());  // a process that has left nothing
}

TEST(Profile, OfSeveralProcessesIsSortedByRanks) {
  Profile all;
  all.add(example(1));
  all.add(example(0));
  ASSERT_EQ(all.times.size(), 2u);
  EXPECT_EQ(all.times[0].rank, 0);
  EXPECT_EQ(all.messages.size(), 2u);
  EXPECT_DOUBLE_EQ(all.seconds, 1.5);
}

TEST(Profile, SaysWhoWaitedForWhom) {
  Profile all;
  all.add(example(0));
  all.add(example(1));
  const std::string text = to_text(all);
  for (const char* part :
       {"profile of 2 ranks: 1.500 s, looked at 1500 times", "rank 0 for rank 1",
        "0.400 s  in MPI_Recv", "66.7 %", "6 messages, 5.9 KiB",
        "rank 1 to rank 0             2.9 KiB  in 3 messages"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("too short"), std::string::npos);
}

TEST(Profile, SaysThatAJobWasTooShort) {
  Profile profile = example(0);
  profile.samples = 3;
  EXPECT_NE(to_text(profile).find("too short"), std::string::npos);
}

}  // namespace
}  // namespace mpc::profile
