#include "runtime/job/card.h"

#include <gtest/gtest.h>

#include "runtime/job/build_id.h"

namespace mpc::job {
namespace {

Card some_card() {
  Card card;
  card.ranks = 8;
  card.local = {4, 7};
  card.application_workers = 2;
  card.cores = 16;
  card.settings = 0xfedcba9876543210;
  card.workers = {0, 1, 1};
  card.builds = {0x123456789abcdef0, 0, 77};
  return card;
}

TEST(Card, IsReadAsItWasWritten) {
  const auto read = decode(encode(some_card()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->ranks, 8);
  EXPECT_EQ(read->local.first, 4);
  EXPECT_EQ(read->local.end, 7);
  EXPECT_EQ(read->application_workers, 2);
  EXPECT_EQ(read->cores, 16);
  EXPECT_EQ(read->settings, 0xfedcba9876543210);
  EXPECT_EQ(read->workers, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(read->builds, (std::vector<uint64_t>{0x123456789abcdef0, 0, 77}));
}

TEST(Card, OtherBuildsAreNamedWhereTheyAreKnown) {
  std::vector<Card> cards(3, some_card());
  const std::vector<std::string> names = {"lib", "first", "second"};
  EXPECT_EQ(other_build(cards, names), "");
  cards[1].builds[1] = 5;  // process 0 does not know its own
  cards[1].builds[2] = 0;
  EXPECT_EQ(other_build(cards, names), "");
  cards[2].builds[2] = 78;
  EXPECT_EQ(other_build(cards, names)
                .find("second: process 2 (ranks 4-6) runs another build"),
            0u)
      << other_build(cards, names);
  cards[1].builds[0] = 1;
  EXPECT_EQ(other_build(cards, names).find("lib: process 1 "), 0u);
}

TEST(BuildId, IsThatOfTheFile) {
  EXPECT_NE(build_of("/proc/self/exe"), 0u);
  EXPECT_EQ(build_of("/proc/self/exe"), build_of_this_library());
  for (const char* other : {"/nonexistent", "/dev/null", "/etc/passwd", "/"})
    EXPECT_EQ(build_of(other), 0u) << other;
}

TEST(Card, OfAnotherVersionIsRefused) {
  wireup::Bytes bytes = encode(some_card());
  wireup::Bytes other = bytes;
  other[6 * sizeof(int32_t)] ^= std::byte{1};
  EXPECT_FALSE(decode(other));
  bytes.resize(bytes.size() - sizeof(int32_t));  // a worker is missing
  EXPECT_FALSE(decode(bytes));
  EXPECT_FALSE(decode({}));
}

TEST(Card, CoresOfAHostAreCountedOnce) {
  std::vector<Card> cards(4, some_card());
  EXPECT_EQ(cores_of(cards), 16);
  cards[2].host = 1;
  cards[3].host = 2;
  cards[3].cores = 4;
  EXPECT_EQ(cores_of(cards), 36);
}

TEST(Card, DifferentSettingsAreNamed) {
  EXPECT_EQ(first_difference("a=1\nb=2\n", "a=1\nb=3\n"), "b=2 (there b=3)");
  EXPECT_EQ(first_difference("a=1\n", "a=1\nb=3\n"), " (there b=3)");
  EXPECT_EQ(first_difference("a=1\n", "a=1\n"), "");
}

// Two processes in one: each has what the other one has put.
class FakeWireup final : public wireup::Wireup {
 public:
  FakeWireup(int index, wireup::Bytes card, wireup::Bytes settings)
      : index_(index), card_(std::move(card)), settings_(std::move(settings)) {}
  int index() const noexcept override { return index_; }
  int size() const noexcept override { return 2; }
  int local_index() const noexcept override { return index_; }
  int local_size() const noexcept override { return 2; }
  Result<> put(std::string_view key, const wireup::Bytes& bytes) override {
    (key == "mpc.card" ? own_card_ : own_settings_) = bytes;
    return {};
  }
  Result<> exchange() override { return {}; }
  Result<wireup::Bytes> get(int process, std::string_view key) override {
    if (key == "mpc.card") return process == index_ ? own_card_ : card_;
    return process == index_ ? own_settings_ : settings_;
  }
  void leave() noexcept override {}
  void finalize() noexcept override {}
  void tell(wireup::Report, int, std::string_view) noexcept override {}
  bool has_launcher() const noexcept override { return false; }
  void on_order(Handler) override {}
  std::unique_lock<std::mutex> hold_end() override { return {}; }
  int console_memory() const noexcept override { return -1; }

 private:
  int index_;
  wireup::Bytes card_, settings_, own_card_, own_settings_;
};

wireup::Bytes bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

TEST(Card, ProcessesThatFitHaveEachOthers) {
  FakeWireup wireup(1, encode(some_card()), {});
  const auto cards = exchange_cards(wireup, some_card());
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(cards->size(), 2u);
}

TEST(Card, ProcessesWithOtherSettingsAreRefusedByName) {
  Card other = some_card();
  other.settings = 1;
  FakeWireup wireup(1, encode(other), bytes_of("aa.first=1\n"));
  const auto cards = exchange_cards(wireup, some_card());
  ASSERT_FALSE(cards);
  EXPECT_EQ(cards.error().code, Errc::kArg);
  EXPECT_NE(cards.error().message.find("aa.first=1"), std::string::npos)
      << cards.error().message;
}

TEST(Card, ProcessesWithOtherCommandLinesAreRefused) {
  Card other = some_card();
  other.ranks = 9;
  FakeWireup wireup(0, encode(other), {});
  const auto cards = exchange_cards(wireup, some_card());
  ASSERT_FALSE(cards);
  EXPECT_NE(cards.error().message.find('9'), std::string::npos);
}

}  // namespace
}  // namespace mpc::job
