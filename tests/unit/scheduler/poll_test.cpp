// Who polls a source of events: ranks that wait, idle workers, sleepers, the listener, the monitor.
#include "base/settings.h"
#include "tests/unit/scheduler/fake_net.h"

namespace mpc::sched {
namespace {

// Says that all comes from outside, and counts what it is told.
struct SimpleAccount final : DemandAccount {
  bool may_help_caller() noexcept override { return true; }
  void look_away(bool is_over) noexcept override { ++(is_over ? over : parking); }
  int over = 0, parking = 0;
};

class PollingWorkers : public Polling, public testing::WithParamInterface<int> {
 protected:
  void keep_account() { scheduler_->poller().keep_account(account_); }
  SimpleAccount account_;
};
INSTANTIATE_TEST_SUITE_P(Workers, PollingWorkers, testing::Values(1, 2, 4));

TEST_P(PollingWorkers, ASleepingWorkerIsWokenByTheDescriptor) {
  start_with_net(GetParam());
  Inbox inbox;
  spawn(0, [&] { inbox.wait_for(3); });
  for (int i = 0; i < 3; ++i) {
    usleep(30'000);
    net_.send(inbox);
  }
  scheduler_->wait_all();
  EXPECT_EQ(since().late_finds, 0u);
  EXPECT_GE(since().wake_ups, 1u);
  EXPECT_EQ(since().interrupts, 0u);
}

TEST_P(PollingWorkers, ARankThatWaitsLongerThanAMessageTakesPolls) {
  start_with_net(GetParam());
  const int before = net_.polls();
  Inbox inbox;
  int pauses = 0;  // between two budgets nobody looks
  spawn(0, [&] {
    int identity = 0;
    Execution::self().set_identity(&identity);
    net_.send(inbox);
    SpinBudget spin;
    const uint64_t end = now_ns() + 1000 * kMs;
    while (inbox.count() == 0 && now_ns() < end) {
      if (spin.once()) continue;
      spin = SpinBudget();
      ++pauses;
    }
    EXPECT_EQ(Execution::self().identity(), &identity);
    Execution::self().set_identity(nullptr);
  });
  scheduler_->wait_all();
  EXPECT_EQ(inbox.count(), 1);
  EXPECT_GT(net_.polls(), before);
  EXPECT_LE(since().interrupts,
            static_cast<uint64_t>(pauses) + 1);  // and before the first look
}

TEST_P(PollingWorkers, ARankThatAwaitsSomethingOfOutsidePollsAtItsFirstTurn) {
  start_with_net(GetParam());
  keep_account();
  Inbox inbox;
  spawn(0, [&] {
    net_.send(inbox);
    SpinBudget spin;
    const bool has_turn = spin.once();
    // Unless another worker looked first, and has the message in its hands.
    if (has_turn && GetParam() > 1) inbox.compute_until(1, now_ns() + 1000 * kMs);
    EXPECT_TRUE(!has_turn || inbox.count() == 1);
  });
  scheduler_->wait_all();
  EXPECT_LE(account_.over, 1);
  EXPECT_EQ(account_.parking, 0);
}

// It has its share of that time only, as it gives the core away after each poll.
TEST_P(PollingWorkers, WhereProcessesShareACoreALookerPollsForAsManyTimesAsLong) {
  ASSERT_TRUE(Settings::assign("sched.spin_us=2000").ok());
  start_with_net(GetParam());
  keep_account();
  const auto longest_wait_ns = [&] {
    uint64_t spent = 0;
    spawn(0, [&] {
      const uint64_t begin = now_ns();
      SpinBudget spin;
      while (spin.once()) {
      }
      spent = now_ns() - begin;
    });
    scheduler_->wait_all();
    return spent;
  };
  EXPECT_GE(longest_wait_ns(), 2 * kMs);
  scheduler_->poller().share_core(5);
  // Not while other programs want the core: turns.h.
  bool is_longer = false;
  for (int i = 0; i < 50 && !is_longer; ++i) {
    is_longer = longest_wait_ns() >= 10 * kMs &&
                scheduler_->poller().idle_spin_ns() >= uint64_t{5} * 50'000;
    if (!is_longer) usleep(50'000);
  }
  EXPECT_TRUE(is_longer);
  EXPECT_TRUE(Settings::assign("sched.spin_us=20").ok());
}

// With others one would sleep: a core is idle then, and each end of a look arms for it.
class PollingAlone : public PollingWorkers {};
INSTANTIATE_TEST_SUITE_P(Workers, PollingAlone, testing::Values(1));

TEST_P(PollingAlone, WaitsThatFindWhatTheyWaitForArmNothingWithoutDemand) {
  start_with_net(GetParam());
  keep_account();
  constexpr uint64_t kWaits = 1000;
  spawn(0, [&] {
    for (uint64_t i = 0; i < kWaits; ++i) {
      Inbox inbox;
      net_.send(inbox);
      inbox.wait_for(1);
    }
  });
  scheduler_->wait_all();
  // A wait may lose its core, and park.
  EXPECT_LT(since().arms, kWaits / 2);
}

TEST_P(PollingWorkers, RanksThatComputeAreInterruptedIfSomethingOfTheirsWaits) {
  start_with_net(GetParam());
  Demand& demand = scheduler_->poller().demand();
  demand.raise();
  EXPECT_TRUE(are_interrupted());
  demand.lower();
}

TEST_P(PollingWorkers, TheyAreInterruptedAfterAGraceIfItCanWait) {
  start_with_net(GetParam());
  Demand& demand = scheduler_->poller().demand();
  demand.raise(1, Urgency::kCanWait);
  EXPECT_TRUE(are_interrupted());
  demand.lower(1, Urgency::kCanWait);
}

// Irecv, Isend, Waitall: to arm the network for the time in between would take most of the time.
TEST_P(PollingAlone, CallsThatAskAndWaitSoonArmNothing) {
  constexpr uint64_t kCalls = 1000;
  const auto arms_of_calls = [&](const char* grace) {
    EXPECT_TRUE(Settings::assign(grace).ok());
    before_ = Poller::counts();
    spawn(0, [&] {
      for (uint64_t i = 0; i < kCalls; ++i) {
        Inbox inbox;
        scheduler_->poller().demand().raise(1, Urgency::kCanWait);
        net_.send(inbox);
        inbox.wait_for(1);
        scheduler_->poller().demand().lower(1, Urgency::kCanWait);
      }
    });
    scheduler_->wait_all();
    return since().arms;
  };
  start_with_net(GetParam());
  keep_account();
  EXPECT_GT(arms_of_calls("net.grace_us=0"), kCalls / 2);  // unless the listener looks
  EXPECT_LT(arms_of_calls("net.grace_us=10000"), kCalls / 2);  // a wait may park
  EXPECT_TRUE(Settings::assign("net.grace_us=20").ok());
}

// A time that has not come yet: nobody else polls before it.
TEST_P(PollingAlone, WhoAsksAgainAtOncePollsSooner) {
  start_with_net(GetParam());
  keep_account();
  spawn(0, [&] {
    Poller& poller = scheduler_->poller();
    const uint64_t now = now_ns() + 1000 * kMs, before = since().arms;
    EXPECT_TRUE(poller.come_by(now, false));
    const uint64_t polls = net_.polls(), arms = since().arms;
    EXPECT_FALSE(poller.come_by(now + 2'000, false));
    EXPECT_FALSE(poller.come_by(now + 100, true));
    EXPECT_EQ(net_.polls(), polls);
    EXPECT_TRUE(poller.come_by(now + 2'000, true));
    EXPECT_EQ(net_.polls(), polls + 1);
    EXPECT_EQ(since().arms, arms) << "it was armed " << before << " times before";
  });
  scheduler_->wait_all();
}

TEST_P(PollingWorkers, OthersAreLeftAloneUntilATick) {
  start_with_net(GetParam());
  scheduler_->poller().demand().raise();
  scheduler_->poller().demand().lower();
  scheduler_->poller().set_interrupts(Interrupts::kAuto);  // nothing is armed any more
  EXPECT_TRUE(are_left_alone());
}

TEST_P(PollingWorkers, WhereNobodyKeepsAccountOfDemandAllAreInterrupted) {
  start_with_net(GetParam());
  EXPECT_TRUE(are_interrupted());
}

TEST_P(PollingWorkers, InterruptsAreSwitchedAtRunTime) {
  start_with_net(GetParam());
  Poller& poller = scheduler_->poller();
  poller.demand().raise();
  poller.set_interrupts(Interrupts::kNone);
  EXPECT_TRUE(are_left_alone());
  poller.demand().lower();
  poller.set_interrupts(Interrupts::kAlways);
  EXPECT_EQ(poller.interrupts(), Interrupts::kAlways);
  EXPECT_TRUE(are_interrupted());
}

TEST_P(PollingWorkers, ABlockedJobWithASourceUsesNoCpu) {
  start_with_net(GetParam());
  std::vector<Inbox> inboxes(20);
  for (size_t i = 0; i < inboxes.size(); ++i)
    spawn(static_cast<int>(i), [&, i] { inboxes[i].wait_for(1); });
  usleep(100'000);
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  usleep(500'000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  for (Inbox& inbox : inboxes) net_.send(inbox);
  scheduler_->wait_all();
#ifdef __SANITIZE_THREAD__
  constexpr double kMost = 0.05;  // see Quiescence.AWaitingJobUsesNoCpu
#else
  constexpr double kMost = 0.01;
#endif
  EXPECT_LT(used, kMost);
}

TEST_F(Polling, WhoLooksIsNotInterrupted) {
  ASSERT_TRUE(Settings::assign("sched.spin_us=1000000").ok());
  start_with_net(2);
  scheduler_->poller().demand().raise();
  Inbox inbox;
  spawn(0, [&] { inbox.compute_until(200); });
  spawn(1, [&] {
    SpinBudget spin;
    while (inbox.count() < 200 && spin.once()) {
    }
  });
  usleep(2000);
  before_ = Poller::counts();
  for (int i = 0; i < 200; ++i) {
    net_.send(inbox);
    usleep(20);
  }
  scheduler_->wait_all();
  scheduler_->poller().demand().lower();
  EXPECT_TRUE(Settings::assign("sched.spin_us=20").ok());
  // None but where the system did not let run who looks.
  EXPECT_LT(since().interrupts, 20u);
}

TEST_F(Polling, AJobWithoutASourcePollsNothing) {
  start(2);
  before_ = Poller::counts();
  Inbox inbox;
  spawn(0, [&] { inbox.wait_for(1); });
  spawn(1, [&] {
    sleep_until(now_ns() + 20 * kMs);
    look_outside();
    inbox.deliver();
  });
  scheduler_->wait_all();
  EXPECT_EQ(since().polls, 0u);
  EXPECT_EQ(since().arms, 0u);
}

TEST_F(Polling, ASourceThatIsRemovedIsNotCalledAgain) {
  start_with_net(2);
  Inbox inbox;
  spawn(0, [&] { inbox.wait_for(1); });
  spawn(1, [&] { inbox.compute_until(1); });
  usleep(5000);
  std::vector<Inbox> inboxes(2);
  for (int round = 0; round < 20; ++round) {
    FakeNet other;
    add(other);
    other.send(inboxes[0]);
    usleep(round * 10);
    scheduler_->poller().remove(other);
    other.note_removed();
  }
  net_.send(inbox);
  scheduler_->wait_all();
}

// ---- deadlock ------------------------------------------------------------------------------

TEST_F(Polling, RanksThatAllWaitForOtherProcessesAreQuietNotDeadlocked) {
  start_with_net(2);
  std::atomic<int> calls{0};
  scheduler_->set_quiescence_handler([&] { calls.fetch_add(1); });
  std::vector<Inbox> inboxes(2);
  std::atomic<int> received{0};
  for (int i = 0; i < 2; ++i)
    spawn(i, [&, i] {
      inboxes[static_cast<size_t>(i)].wait_for(1);
      received.fetch_add(1);
      inboxes[static_cast<size_t>(i)].wait_for(2);
    });
  const auto wait_until_quiet = [&] {
    Quiet quiet = scheduler_->quiet();
    for (; !quiet.is_quiet; quiet = scheduler_->quiet()) usleep(1000);
    return quiet.epoch;
  };
  const uint64_t first = wait_until_quiet();
  usleep(300'000);
  EXPECT_EQ(wait_until_quiet(), first);
  net_.send(inboxes[0]);
  while (received.load() != 1) usleep(1000);
  const uint64_t second = wait_until_quiet();
  EXPECT_GT(second, first);
  EXPECT_EQ(calls.load(), 0);
  for (Inbox& inbox : inboxes)
    for (int i = 0; i < 2; ++i) net_.send(inbox);
  scheduler_->wait_all();
  EXPECT_FALSE(scheduler_->quiet().is_quiet);  // nobody is left who waits
}

TEST_F(Polling, ASourceWithinTheProcessHidesNoDeadlock) {
  start_with_net(2, EventReach::kThisProcess);
  std::atomic<int> calls{0};
  Inbox inbox;
  scheduler_->set_quiescence_handler([&] {
    calls.fetch_add(1);
    net_.send(inbox);
  });
  spawn(0, [&] { inbox.wait_for(1); });
  scheduler_->wait_all();
  EXPECT_EQ(calls.load(), 1);
}

}  // namespace
}  // namespace mpc::sched
