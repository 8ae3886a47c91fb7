// Watch in all orders of its steps: no message is lost while somebody waits for it or is to be interrupted.
//
// The model (watch_model.h) tries all schedules in which few threads are interrupted in the middle,
// then random ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "scheduler/annotate.h"
#include "tests/unit/scheduler/choices.h"
#include "tests/unit/scheduler/watch_model.h"

#ifndef MPC_TSAN  // it would have to be told of each switch, and all is one thread

namespace mpc::sched {
namespace {

using watch_model::Model;
using watch_model::Plan;

void try_all(const Plan& plan, int most_preemptions) {
  AllChoices choices;
  int schedules = 0;
  do {
    const std::string problem = Model(plan, choices, most_preemptions).play();
    ++schedules;
    ASSERT_EQ(problem, "") << "schedule " << schedules;
  } while (choices.next());
  EXPECT_GT(schedules, 10);
}

void try_some(const Plan& plan) {
  const char* text = std::getenv("MPC_TEST_SEED");
  const unsigned first =
      text != nullptr ? static_cast<unsigned>(std::atoi(text)) : std::random_device{}();
  for (unsigned i = 0; i < 3000; ++i) {
    RandomChoices choices(first + i);
    constexpr int kAnyNumber = 1 << 30;
    const std::string problem = Model(plan, choices, kAnyNumber).play();
    ASSERT_EQ(problem, "") << "MPC_TEST_SEED=" << first + i;
  }
}

constexpr Interrupts kModes[] = {Interrupts::kAuto, Interrupts::kAlways,
                                 Interrupts::kNone};

TEST(WatchModel, ARankThatWaitsGetsItsMessages) {
  for (const Interrupts interrupts : kModes)
    try_all({.waiters = 1, .messages = 2, .interrupts = interrupts}, 3);
}

TEST(WatchModel, RanksThatWaitHearForEachOther) {
  try_all({.waiters = 2}, 2);
  for (const Interrupts interrupts : kModes)
    try_some({.waiters = 3, .messages = 3, .interrupts = interrupts});
}

TEST(WatchModel, ARankThatComputesIsInterrupted) {
  try_all({.computers = 1, .messages = 2}, 3);
  try_all({.computers = 2}, 2);
  try_all({.computers = 2, .keeps_account = false}, 2);
  try_all({.computers = 1, .interrupts = Interrupts::kAlways}, 3);
  try_some({.computers = 3, .messages = 3});
}

TEST(WatchModel, OneComputesWhileAnotherWaits) {
  try_all({.waiters = 1, .computers = 1}, 3);
  try_some({.waiters = 2, .computers = 2, .messages = 3});
}

TEST(WatchModel, ASourceThatCannotBeArmedIsAskedAgain) {
  try_all({.computers = 1, .refusals = 20}, 1);
  try_all({.waiters = 1, .refusals = 20}, 1);
  try_some({.waiters = 1, .computers = 1, .both = 1, .refusals = 10});
}

TEST(WatchModel, RanksThatAskAndWaitLater) {
  try_all({.both = 1, .messages = 2}, 3);
  try_all({.both = 2}, 2);
  try_some({.waiters = 1, .computers = 1, .both = 2, .messages = 3});
}

// A rank asks before it computes: the alarm arms for it, if nobody has looked, or become urgent, before.
TEST(WatchModel, ArrivalsThatCanWaitAreFoundAfterTheAlarm) {
  try_all({.computers = 1, .messages = 2, .patient = 1}, 3);
  try_all({.computers = 2, .patient = 2}, 2);
  try_all({.both = 2, .patient = 2}, 2);
  try_all({.computers = 1, .refusals = 20, .patient = 1}, 1);
  try_some({.waiters = 1, .computers = 2, .both = 2, .messages = 3, .patient = 5});
}

TEST(WatchModel, UrgentDemandDoesNotWaitForTheAlarm) {
  try_all({.computers = 2, .patient = 1}, 2);
  try_all({.computers = 1, .messages = 2, .patient = 1, .hastens = true}, 3);
  try_some({.waiters = 1, .computers = 2, .both = 2, .messages = 3, .patient = 3});
  try_some({.computers = 2, .both = 2, .messages = 3, .patient = 4, .hastens = true});
}

}  // namespace
}  // namespace mpc::sched

#endif
