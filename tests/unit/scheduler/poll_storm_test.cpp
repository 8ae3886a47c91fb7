// Messages at any time, to ranks that wait, compute, test and give way in turn.
#include <cstdlib>
#include <random>

#include "tests/unit/scheduler/fake_net.h"

namespace mpc::sched {
namespace {

struct Storm {
  int workers = 2, ranks = 4, messages = 300;
  int refusals = 0;
  bool with_pipe = false;
  Interrupts interrupts = Interrupts::kAuto;
};

class PollingStorm : public Polling, public testing::WithParamInterface<Storm> {
 protected:
  static unsigned seed() {
    const char* text = std::getenv("MPC_TEST_SEED");
    return text != nullptr ? static_cast<unsigned>(std::atoi(text))
                           : std::random_device{}();
  }
  // Waits, computes, tests and yields in turn.
  void play_rank(Inbox& inbox, unsigned seed, int messages) {
    std::mt19937 random(seed);
    Demand& demand = scheduler_->poller().demand();
    for (int m = 1; m <= messages; ++m) {
      const bool asks = random() % 2 == 0;
      if (asks) demand.raise();
      switch (random() % 4) {
        case 0:
          inbox.compute_until(m, now_ns() + random() % 200'000);
          break;
        case 1:
          Execution::self().yield();
          break;
        case 2:
          look_outside();
          break;
        default:
          break;
      }
      inbox.wait_for(m);
      if (asks) demand.lower();
    }
  }
};

TEST_P(PollingStorm, EachMessageArrives) {
  const Storm storm = GetParam();
  const unsigned first = seed();
  RecordProperty("seed", static_cast<int>(first));
  SCOPED_TRACE("MPC_TEST_SEED=" + std::to_string(first));
  start_with_net(storm.workers);
  net_.refuse(storm.refusals);
  scheduler_->poller().set_interrupts(storm.interrupts);
  std::vector<Inbox> inboxes(static_cast<size_t>(storm.ranks));
  PipeNet pipe(inboxes);
  if (storm.with_pipe) add(pipe);
  for (size_t r = 0; r < inboxes.size(); ++r)
    spawn(static_cast<int>(r), [&, r] {
      play_rank(inboxes[r], first + static_cast<unsigned>(r), storm.messages);
    });
  std::mt19937 random(first);
  for (int m = 0; m < storm.messages; ++m) {
    for (size_t r = 0; r < inboxes.size(); ++r) {
      if (storm.with_pipe && random() % 2 == 0)
        pipe.send(r);
      else
        net_.send(inboxes[r]);
    }
    constexpr unsigned kPauses[] = {0, 0, 5, 30, 100, 400};
    if (const unsigned pause_us = kPauses[random() % 6]; pause_us != 0)
      usleep(pause_us);
  }
  scheduler_->wait_all();
  // More only if calls are lost: a thread that looks may lose its core for long now and then.
  EXPECT_LE(since().late_finds, 10u);
  if (storm.with_pipe) scheduler_->poller().remove(pipe);
}

INSTANTIATE_TEST_SUITE_P(
    Storms, PollingStorm,
    testing::Values(Storm{.workers = 1, .ranks = 1}, Storm{.workers = 1, .ranks = 4},
                    Storm{.workers = 2, .ranks = 2},
                    Storm{.workers = 2, .ranks = 6, .with_pipe = true},
                    Storm{.workers = 4, .ranks = 4, .refusals = 3},
                    Storm{.workers = 2, .ranks = 4, .refusals = 40},
                    Storm{.workers = 2, .ranks = 4, .interrupts = Interrupts::kNone},
                    Storm{.workers = 3,
                          .ranks = 6,
                          .with_pipe = true,
                          .interrupts = Interrupts::kAlways}));

}  // namespace
}  // namespace mpc::sched
