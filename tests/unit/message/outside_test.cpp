// Outside: which receives are demand, when it is raised, and that none is lost.
#include "runtime/message/outside.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/message/background.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/routes.h"

namespace mpc::msg {
namespace {

constexpr ContextId kSpanning = 2, kLocal = 4;

class CountedDemand final : public sched::Demand {
 public:
  void raise(uint32_t things, sched::Urgency urgency) noexcept override {
    things_.fetch_add(things);
    if (urgency == sched::Urgency::kNow) urgent_.fetch_add(things);
  }
  void call_now() noexcept override {}
  bool come_by(uint64_t, bool) noexcept override { return ++visits > 0; }
  void hasten(uint32_t things) noexcept override { urgent_.fetch_add(things); }
  void lower(uint32_t things, sched::Urgency urgency) noexcept override {
    things_.fetch_sub(things);
    if (urgency == sched::Urgency::kNow) urgent_.fetch_sub(things);
  }
  int64_t things() const { return things_.load(); }
  int64_t urgent() const { return urgent_.load(); }
  int visits = 0;

 private:
  std::atomic<int64_t> things_{0}, urgent_{0};
};

// Rank 0 of four, of which 0 and 1 live in its process.
class OutsideOfARank : public testing::Test {
 protected:
  OutsideOfARank() {
    set_processes(map_, false);
    account_ = &Outside::open(demand_);
    rank_.mailbox = &mine_;
    mine_.owner.store(&rank_);
    mine_.outside.add_senders(kSpanning, kWorld);
    rank_.execution = &sched::Execution::self();
  }
  ~OutsideOfARank() override {
    mine_.outside.note_rank_end();
    EXPECT_EQ(demand_.things(), 0);
    EXPECT_EQ(demand_.urgent(), 0);
    Outside::close();
    set_processes(job::ProcessMap(1), false);
  }
  void act_for_rank(bool on) {
    sched::Execution::self().set_identity(on ? &rank_ : nullptr);
  }
  void append(Operation& op, ContextId context, int source, bool is_long = false) {
    op.key = {context, source, 0};
    mine_.lock_now();
    mine_.posted.append(op);
    mine_.unlock();
    mine_.outside.note_posted(mine_, context, source, false, is_long);
  }
  void remove(Operation& op) {
    mine_.lock_now();
    mine_.posted.remove(op);
    mine_.unlock();
    mine_.outside.note_end(mine_);
  }

  static constexpr int kWorld[] = {0, 1, 2, 3};
  const job::ProcessMap map_ = job::ProcessMap::in_blocks(4, 2);
  CountedDemand demand_;
  sched::DemandAccount* account_ = nullptr;
  job::Rank rank_;
  Mailbox mine_{0};
};

TEST_F(OutsideOfARank, KnowsWhichReceivesAnotherProcessMayFill) {
  const auto may_come = [&](ContextId context, int source) {
    return mine_.outside.may_come_from_outside(mine_, context, source);
  };
  EXPECT_FALSE(may_come(kSpanning, 1));
  EXPECT_TRUE(may_come(kSpanning, 2));
  EXPECT_TRUE(may_come(kSpanning, kAnySource));
  EXPECT_FALSE(may_come(kLocal, kAnySource));
  mine_.outside.remove_senders(kSpanning);
  EXPECT_FALSE(may_come(kSpanning, 2));
}

TEST_F(OutsideOfARank, AReceiveOfANonBlockingCallIsDemandUntilItIsFilled) {
  act_for_rank(true);
  Request local, remote;
  {
    const ShortCall call;
    append(operation_of(local), kSpanning, 1);
    EXPECT_EQ(demand_.things(), 0);
    append(operation_of(remote), kSpanning, 3);
    EXPECT_EQ(demand_.things(), 1);
  }
  remove(operation_of(remote));
  remove(operation_of(local));
  EXPECT_EQ(demand_.things(), 0);
  act_for_rank(false);
}

// Who computes asks for a short message itself soon. A long one needs its receiver before it moves.
TEST_F(OutsideOfARank, LongReceivesAreUrgent) {
  act_for_rank(true);
  Request small, large, another;
  {
    const ShortCall call;
    append(operation_of(small), kSpanning, 2);
    EXPECT_EQ(demand_.urgent(), 0);
    append(operation_of(large), kSpanning, 2, true);
    EXPECT_EQ(demand_.urgent(), 1);
    append(operation_of(another), kSpanning, 2, true);
    EXPECT_EQ(demand_.urgent(), 1);
  }
  remove(operation_of(large));
  remove(operation_of(another));
  EXPECT_EQ(demand_.urgent(), 1);  // as long as any is there
  remove(operation_of(small));
  EXPECT_EQ(demand_.urgent(), 0);
  act_for_rank(false);
}

TEST_F(OutsideOfARank, WhatIsLeftWhenARankLooksAwayIsUrgentIfItIsLongOrTheRankWaits) {
  act_for_rank(true);
  Request small, large;
  append(operation_of(small), kSpanning, 2);
  account_->look_away(true);
  EXPECT_EQ(demand_.things(), 1);
  EXPECT_EQ(demand_.urgent(), 0);
  account_->look_away(false);  // it parks
  EXPECT_EQ(demand_.urgent(), 1);
  remove(operation_of(small));
  account_->look_away(true);
  EXPECT_EQ(demand_.things(), 0);
  append(operation_of(large), kSpanning, 2, true);
  EXPECT_EQ(demand_.things(), 0);
  account_->look_away(true);
  EXPECT_EQ(demand_.urgent(), 1);
  remove(operation_of(large));
  act_for_rank(false);
}

// A thread that a rank has made: it has not polled, so nothing has been raised for it.
TEST_F(OutsideOfARank, AThreadThatParksIsUrgent) {
  Request request;
  append(operation_of(request), kSpanning, 2);  // as a blocking receive does
  mine_.outside.begin_rest(mine_, false);
  EXPECT_EQ(demand_.urgent(), 1);
  remove(operation_of(request));
  EXPECT_EQ(demand_.things(), 0);
  mine_.outside.begin_rest(mine_, false);  // a probe
  EXPECT_EQ(demand_.urgent(), 1);
  mine_.outside.note_end(mine_);
  EXPECT_EQ(demand_.things(), 0);
}

// A probe has posted nothing. Its thread sleeps on while the rank looks away, and while receives of the rank are
// filled.
TEST_F(OutsideOfARank, AProbeThatParksIsUrgentUntilItIsOver) {
  std::atomic<bool> has_come{false};
  std::thread thread([&] {
    class Probing : public sched::WaitReason {
      std::string text() const override { return "a probe"; }
    };
    act_for_rank(true);
    wait_for_message(
        rank_, kSpanning, kAnySource,
        [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); },
        &has_come, Probing());
    act_for_rank(false);
  });
  while (demand_.urgent() == 0) std::this_thread::yield();
  act_for_rank(true);
  account_->look_away(true);
  EXPECT_EQ(demand_.urgent(), 1);
  Request local, remote;
  append(operation_of(local), kSpanning, 1);
  EXPECT_TRUE(account_->may_help_caller());
  append(operation_of(remote), kSpanning, 2);
  remove(operation_of(remote));
  remove(operation_of(local));
  account_->look_away(true);
  EXPECT_EQ(demand_.urgent(), 1);
  has_come.store(true);
  notify(rank_);
  thread.join();
  EXPECT_EQ(demand_.things(), 0);
  act_for_rank(false);
}

// It has not polled, so it has not looked away.
TEST_F(OutsideOfARank, ARankThatGivesWayAtOnceAndParksIsDemandThatCanWait) {
  act_for_rank(true);
  Request request;
  append(operation_of(request), kSpanning, 2);
  mine_.outside.begin_rest(mine_, true);
  EXPECT_EQ(demand_.things(), 1);
  EXPECT_EQ(demand_.urgent(), 0);
  remove(operation_of(request));
  EXPECT_EQ(demand_.things(), 0);
  act_for_rank(false);
}

// What MPI_Iprobe looks for is no demand, so nobody else looks for it: neither for the rank nor for its threads.
TEST_F(OutsideOfARank, EachTestThatFailsComesBy) {
  act_for_rank(true);
  relax(rank_);
  EXPECT_EQ(demand_.visits, 1);
  act_for_rank(false);
  std::thread([&] { relax(rank_); }).join();
  EXPECT_EQ(demand_.visits, 2);
}

// Its rank looks for itself, and raises when it looks away.
TEST_F(OutsideOfARank, AReceiveWithinACallIsNoDemandBeforeItsRankLooksAway) {
  act_for_rank(true);
  Request request;
  append(operation_of(request), kSpanning, kAnySource);
  EXPECT_EQ(demand_.things(), 0);
  EXPECT_TRUE(account_->may_help_caller());
  account_->look_away(false);
  EXPECT_EQ(demand_.things(), 1);
  account_->look_away(true);
  EXPECT_EQ(demand_.things(), 1);
  mine_.lock_now();
  mine_.posted.remove(operation_of(request));
  mine_.unlock();
  account_->look_away(true);
  EXPECT_EQ(demand_.things(), 0);
  act_for_rank(false);
}

TEST_F(OutsideOfARank, OnlyReceivesOfItsOwnProcessLetItLookWithinFirst) {
  act_for_rank(true);
  EXPECT_TRUE(account_->may_help_caller());  // a probe, or what processes agree on
  Request request;
  append(operation_of(request), kSpanning, 1);
  EXPECT_FALSE(account_->may_help_caller());
  mine_.outside.begin_operation();
  EXPECT_TRUE(account_->may_help_caller());
  mine_.outside.end_operation(mine_);
  EXPECT_FALSE(account_->may_help_caller());
  remove(operation_of(request));
  act_for_rank(false);
}

// A collective without messages: nothing of another process ends it.
TEST_F(OutsideOfARank, WhoWaitsForItsOwnProcessIsNoDemand) {
  act_for_rank(true);
  mine_.outside.set_waits_inside(true);
  EXPECT_FALSE(account_->may_help_caller());
  account_->look_away(false);
  EXPECT_EQ(demand_.things(), 0);
  Request request;
  append(operation_of(request), kSpanning, 3);  // which may come meanwhile
  EXPECT_TRUE(account_->may_help_caller());
  account_->look_away(false);
  EXPECT_EQ(demand_.things(), 1);
  remove(operation_of(request));
  account_->look_away(false);
  EXPECT_EQ(demand_.things(), 0);
  mine_.outside.set_waits_inside(false);
  EXPECT_TRUE(account_->may_help_caller());
  act_for_rank(false);
}

// Non-blocking calls post while another execution of the rank looks away again and again. Whoever has posted finds demand, at once or when the other one is through.
TEST_F(OutsideOfARank, NoDemandIsLostBetweenWhoPostsAndWhoLooksAway) {
  constexpr int kRounds = 50'000;
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> looks{0};
  std::thread looker([&] {
    act_for_rank(true);
    for (; !is_over.load(std::memory_order_relaxed); looks.fetch_add(1))
      account_->look_away(true);
    act_for_rank(false);
  });
  int lost = 0;
  for (int i = 0; i < kRounds && lost == 0; ++i) {
    Request request;
    {
      const ShortCall call;
      append(operation_of(request), kSpanning, 2);
    }
    // Whoever looked before the receive was there may still lower, and raise again. From the second look
    // on that ends after now, all have seen it.
    const uint64_t seen = looks.load();
    while (looks.load() < seen + 2) std::this_thread::yield();
    lost += demand_.things() == 0 ? 1 : 0;
    remove(operation_of(request));
  }
  is_over.store(true);
  looker.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace mpc::msg
