// The plan by which many places meet: that everybody learns of everybody, in order, and alike.
#include "nbc/direct/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <vector>

namespace mpc::nbc::direct {
namespace {

using Known = std::string;  // which places' values were combined, and in which order

// What each place knows after all stages: an expression such as "((0 1) (2 3))".
std::vector<Known> play(const std::vector<Stages>& plan) {
  std::vector<Known> known;
  for (size_t p = 0; p < plan.size(); ++p) known.push_back(std::to_string(p));
  for (size_t s = 0; s < plan.front().size(); ++s) {
    std::vector<Known> next;
    for (size_t p = 0; p < plan.size(); ++p) {
      const auto& from = plan[p][s].from;
      Known all;
      for (const int q : from)
        all += (all.empty() ? "" : " ") + known[static_cast<size_t>(q)];
      next.push_back(from.size() == 1 ? all : "(" + all + ")");
    }
    known = std::move(next);
  }
  return known;
}

// The places in an expression, as they follow each other.
std::vector<int> places_in(const Known& known) {
  std::vector<int> places;
  std::string digits;
  for (const char c : known + " ") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    } else if (!digits.empty()) {
      places.push_back(std::stoi(digits));
      digits.clear();
    }
  }
  return places;
}

void expect_complete(const std::vector<Stages>& plan, const std::string& what) {
  const std::vector<Known> known = play(plan);
  std::vector<int> all(plan.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(places_in(known.front()), all) << what;
  for (const Known& each : known) ASSERT_EQ(each, known.front()) << what;
  for (size_t p = 0; p < plan.size(); ++p) {
    ASSERT_EQ(plan[p].size(), plan.front().size()) << what;
    for (size_t s = 0; s < plan[p].size(); ++s) {
      const auto& from = plan[p][s].from;
      EXPECT_EQ(std::ranges::count(from, static_cast<int>(p)), 1) << what;
      for (size_t q = 0; q < plan.size(); ++q) {
        const auto& readers = plan[q][s].readers;
        EXPECT_EQ(std::ranges::count(readers, static_cast<int>(p)),
                  q != p ? std::ranges::count(from, static_cast<int>(q)) : 0)
            << what;
      }
    }
  }
}

TEST(Stages, LetEverybodyKnowAllInTheOrderOfPlaces) {
  for (int places = 1; places <= 70; ++places) {
    for (const int radix : {2, 3, 4, 7, 100}) {
      const auto plan = plan_stages(places, radix, {});
      const std::string what = std::to_string(places) + " by " + std::to_string(radix);
      expect_complete(plan, what);
      for (const Stages& stages : plan) {
        for (const Stage& stage : stages)
          EXPECT_LE(stage.from.size(), static_cast<size_t>(radix)) << what;
      }
    }
  }
}

TEST(Stages, AreFew) {
  EXPECT_EQ(plan_stages(1, 4, {}).front().size(), 0u);
  EXPECT_EQ(plan_stages(4, 4, {}).front().size(), 1u);
  EXPECT_EQ(plan_stages(5, 4, {}).front().size(), 2u);
  EXPECT_EQ(plan_stages(16, 4, {}).front().size(), 2u);
  EXPECT_EQ(plan_stages(64, 4, {}).front().size(), 3u);
  EXPECT_EQ(plan_stages(64, 8, {}).front().size(), 2u);
}

TEST(Stages, CostAsTheyDidWhereTheyWereMeasured) {
  EXPECT_NEAR(meeting_us(2, 2), 0.30, 0.02);
  EXPECT_NEAR(meeting_us(16, 16), 0.67, 0.02);
  EXPECT_NEAR(meeting_us(16, 4), 0.98, 0.02);
  EXPECT_NEAR(meeting_us(16, 8), 0.98, 0.05);
  EXPECT_EQ(meeting_us(1, 2), 0);
}

TEST(Stages, BeginWhereTheModelOfLinesSaysThatTheyPay) {
  for (int places = 1; places <= 24; ++places)
    EXPECT_EQ(best_radix(places), std::max(2, places));
  for (const int places : {32, 48, 64, 128, 256, 1000}) {
    const int radix = best_radix(places);
    EXPECT_LT(radix, places);
    for (int other = 2; other <= places; ++other)
      EXPECT_LE(meeting_us(places, radix), meeting_us(places, other)) << places;
  }
  // Lines that do not overlap: as few of them as possible.
  EXPECT_LE(best_radix(64, {0.3, 0.3, 0}), 4);
}

TEST(Stages, FinishWithinADomainFirst) {
  for (int places = 2; places <= 48; ++places) {
    for (const int width : {1, 2, 3, 5, 6, 8, 12}) {
      std::vector<int> domains;
      for (int p = 0; p < places; ++p) domains.push_back(p / width);
      const auto plan = plan_stages(places, 4, domains);
      const std::string what =
          std::to_string(places) + " in domains of " + std::to_string(width);
      expect_complete(plan, what);
      // Until a place reads from another domain, it knows all of its own.
      for (size_t p = 0; p < plan.size(); ++p) {
        bool has_left = false;
        for (const Stage& stage : plan[p]) {
          const bool leaves = std::ranges::any_of(stage.from, [&](int q) {
            return domains[static_cast<size_t>(q)] != domains[p];
          });
          EXPECT_TRUE(leaves || !has_left || stage.from.size() == 1) << what;
          has_left = has_left || leaves;
        }
      }
    }
  }
}

TEST(Stages, IgnoreDomainsThatAreNoRows) {
  const std::vector<int> turns = {0, 1, 0, 1, 0, 1, 0, 1};
  const auto plan = plan_stages(8, 4, turns), plain = plan_stages(8, 4, {});
  expect_complete(plan, "in turns");
  for (size_t p = 0; p < plan.size(); ++p) EXPECT_EQ(plan[p][0].from, plain[p][0].from);
}

}  // namespace
}  // namespace mpc::nbc::direct
