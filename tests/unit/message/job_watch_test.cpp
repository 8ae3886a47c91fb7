// Deadlocks over several processes are seen, nothing else is taken for one, and all tell what their ranks do.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/message/job_watch.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// Ranks in virtual processes, whose net says nothing of what is under way: it is counted.
class Watched {
 public:
  Watched(int ranks, int processes, uint64_t seed, int64_t delay_ns)
      : world(ranks, 2), have_ended_(static_cast<size_t>(ranks)) {
    transport::LoopbackConfig net;
    net.seed = seed;
    net.delay_ns = delay_ns;
    world.with_processes(processes).with_network(net).with_watch(
        [this](const job::ProcessMap& map, sched::Scheduler& scheduler) {
          return make(map, scheduler);
        });
  }

  std::string run(const std::function<void(job::Rank&)>& body) {
    return world.run([&](job::Rank& me) {
      body(me);
      // The alarm that has released this rank may still be about to wake others.
      const std::lock_guard until_all_are_told(alarm_);
      have_ended_[static_cast<size_t>(me.world_rank)].store(true);
    });
  }
  // What a rank does that has nothing more to do until the deadlock.
  void wait_for_alarm(job::Rank& me) {
    wait_until(
        me, nullptr, 0,
        [](void* count) { return static_cast<std::atomic<int>*>(count)->load() > 0; },
        &alarms, Why());
  }

  World world;
  std::atomic<int> alarms{0};
  std::atomic<JobWatch*> watch{nullptr};
  std::string table;  // of the first alarm

 private:
  std::unique_ptr<JobWatch> make(const job::ProcessMap& map,
                                 sched::Scheduler& scheduler) {
    std::vector<int> here;
    for (int p = 0; p < map.processes(); ++p) here.push_back(p);
    JobWatch::Ranks ranks;
    ranks.have_ended = [this, map](int process) {
      const job::RankRange range = map.ranks_of(process);
      for (int r = range.first; r < range.end; ++r)
        if (!have_ended_[static_cast<size_t>(r)].load()) return false;
      return true;
    };
    ranks.rows = [map](int process) {
      job::StateTable rows;
      const job::RankRange range = map.ranks_of(process);
      for (int r = range.first; r < range.end; ++r) {
        job::StateRow row;
        row.text = r % 2 != 0 ? "waits in odd" : "waits in even";
        row.ranks = {r};
        row.threads = 1;
        rows.push_back(row);
      }
      return rows;
    };
    ranks.is_ending = [] { return false; };
    ranks.on_deadlock = [this](const std::string& text) {
      const std::lock_guard all_are_told(alarm_);
      if (alarms.load() == 0) table = text;
      alarms.fetch_add(1);
      for (int r = 0; r < world.size(); ++r)
        if (!have_ended_[static_cast<size_t>(r)].load()) notify(world.rank(r));
    };
    auto made = std::make_unique<JobWatch>(map, here, scheduler, std::move(ranks));
    watch.store(made.get());
    return made;
  }
  std::mutex alarm_;
  std::vector<std::atomic<bool>> have_ended_;
};

unsigned test_seed() {
  const char* const text = std::getenv("MPC_TEST_SEED");
  const unsigned seed =
      text != nullptr ? static_cast<unsigned>(std::atoi(text)) : std::random_device{}();
  std::printf("MPC_TEST_SEED=%u\n", seed);
  return seed;
}

// ---- what is one -----------------------------------------------------------------------------

class Deadlocks : public testing::TestWithParam<uint64_t /* of the network */> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Deadlocks, testing::Values(0, 1));

TEST_P(Deadlocks, OfReceivesAreSeenOnceWithOneTable) {
  Watched watched(6, 3, GetParam(), 1'000'000);
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    Request request;
    start_recv(me, request, from((me.world_rank + 1) % 6, nullptr, 0, 1));
    watched.wait_for_alarm(me);
    cancel(me, request);
  }),
            "");
  EXPECT_EQ(watched.alarms.load(), 1);
  EXPECT_EQ(watched.table, "  ranks 0,2,4: wait in even\n  ranks 1,3,5: wait in odd\n");
}

// Messages have crossed before, of all kinds.
TEST_P(Deadlocks, OfSendsAfterMessagesOfAllKindsAreSeen) {
  Watched watched(2, 2, GetParam(), 1'000'000);
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    std::vector<char> data(100'000);
    for (const size_t bytes : {size_t{1}, size_t{5000}, data.size()}) {
      for (const Mode mode : {Mode::kStandard, Mode::kSynchronous}) {
        Request request;
        start_send(me, request, to(other, data.data(), bytes, 1, me.world_rank, mode));
        std::vector<char> in(bytes / 2);
        recv(me, from(other, in.data(), in.size(), 1), Why());
        wait(me, request, Why());
      }
    }
    Request unmatched, withdrawn;
    start_send(me, withdrawn, to(other, data.data(), data.size(), 3, me.world_rank));
    cancel(me, withdrawn);
    wait(me, withdrawn, Why());
    start_send(me, unmatched, to(other, data.data(), data.size(), 2, me.world_rank));
    watched.wait_for_alarm(me);
    cancel(me, unmatched);
    wait(me, unmatched, Why());
  }),
            "");
  EXPECT_EQ(watched.alarms.load(), 1);
}

TEST_P(Deadlocks, OfOneRankWhileAllOthersHaveEndedAreSeen) {
  Watched watched(4, 4, GetParam(), 1'000'000);
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    if (me.world_rank == 2) watched.wait_for_alarm(me);
  }),
            "");
  EXPECT_EQ(watched.alarms.load(), 1);
}

// ---- what is none ----------------------------------------------------------------------------

// Longer under way than it takes to look at all processes twice.
TEST(NoDeadlock, WhileAMessageIsUnderWay) {
  Watched watched(2, 2, 7, 700'000'000);
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    char byte = 0;
    if (me.world_rank == 0) {
      send(me, to(1, &byte, 1, 1, 0), Why());
      send(me, to(1, &byte, 1, 2, 0, Mode::kSynchronous), Why());
    } else {
      recv(me, from(0, &byte, 1, 2), Why());
      recv(me, from(0, &byte, 1, 1), Why());
    }
  }),
            "");
  EXPECT_EQ(watched.alarms.load(), 0);
}

TEST(NoDeadlock, WhileARankSleepsAndOthersWaitForItOrHaveEnded) {
  Watched watched(3, 3, 0, 0);
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    char byte = 0;
    if (me.world_rank == 0) return;
    if (me.world_rank == 1) {
      recv(me, from(2, &byte, 1, 1), Why());
      return;
    }
    sched::sleep_until(sched::now_ns() + 400'000'000);
    send(me, to(1, &byte, 1, 1, 2), Why());
  }),
            "");
  EXPECT_EQ(watched.alarms.load(), 0);
}

struct Message {
  int from, to;
  size_t bytes;
  Mode mode;
};

// In the order of this list no program of it can deadlock.
std::vector<Message> random_messages(std::mt19937& random, int ranks, int count) {
  std::vector<Message> out;
  constexpr size_t kSizes[] = {1, 1, 300, 8192, 20'000};
  constexpr Mode kModes[] = {Mode::kStandard, Mode::kStandard, Mode::kSynchronous};
  for (int i = 0; i < count; ++i) {
    const auto pick = [&](int n) {
      return static_cast<int>(random() % static_cast<unsigned>(n));
    };
    const int from = pick(ranks);
    out.push_back(
        {from, (from + 1 + pick(ranks - 1)) % ranks, kSizes[pick(5)], kModes[pick(3)]});
  }
  return out;
}

// Programs that end, while all processes are looked at all the time: each look is one that the
// scheduler might have asked for.
TEST(NoDeadlock, InProgramsThatEndHoweverOftenTheyAreLookedAt) {
  const unsigned seed = test_seed();
  const char* const wanted = std::getenv("MPC_TEST_PROGRAMS");
  const int programs = wanted != nullptr ? std::atoi(wanted) : 30;
  for (int i = 0; i < programs; ++i) {
    std::mt19937 random(seed + static_cast<unsigned>(i));
    const int processes = 2 + static_cast<int>(random() % 3);
    const int ranks = processes + static_cast<int>(random() % 4);
    const auto messages = random_messages(random, ranks, 12);
    Watched watched(ranks, processes, random() % 3 != 0 ? random() | 1 : 0,
                    static_cast<int64_t>(random() % 3'000'000));
    std::atomic<int> left{ranks};
    std::thread looker;
    ASSERT_EQ(watched.run([&](job::Rank& me) {
      if (me.world_rank == 0) {
        looker = std::thread([&] {
          while (left.load() != 0) {
            watched.watch.load()->look();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
          }
        });
      }
      std::vector<char> data(20'000);
      for (const Message& m : messages) {
        if (me.world_rank == m.from)
          send(me, to(m.to, data.data(), m.bytes, 1, m.from, m.mode), Why());
        if (me.world_rank == m.to)
          recv(me, from(m.from, data.data(), m.bytes, 1), Why());
      }
      if (left.fetch_sub(1) == 1) looker.join();
    }),
              "")
        << "MPC_TEST_SEED=" << seed + static_cast<unsigned>(i);
    ASSERT_EQ(watched.alarms.load(), 0)
        << "MPC_TEST_SEED=" << seed + static_cast<unsigned>(i);
  }
}

// ---- tables ------------------------------------------------------------------------------------

TEST(JobTable, NamesProcessesThatDoNotAnswer) {
  Watched watched(5, 2, 1, 4'000'000'000);  // nothing comes within a second
  std::string table;
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    if (me.world_rank != 0) return;
    std::atomic<bool> is_there{false};
    watched.watch.load()->gather([&](const std::string& text) {
      table = text;
      is_there.store(true);
    });
    while (!is_there.load()) sched::sleep_until(sched::now_ns() + 10'000'000);
  }),
            "");
  EXPECT_EQ(table,
            "  rank 0: waits in even\n  rank 1: waits in odd\n"
            "  process 1 (ranks 2-4) does not answer\n");
}

TEST(JobTable, IsEmptyWhenTheWatchIsOver) {
  Watched watched(2, 2, 1, 4'000'000'000);
  std::atomic<int> calls{0};
  std::string table = "none";
  EXPECT_EQ(watched.run([&](job::Rank& me) {
    if (me.world_rank != 0) return;
    watched.watch.load()->gather([&](const std::string& text) {
      table = text;
      calls.fetch_add(1);
    });
  }),
            "");
  EXPECT_EQ(calls.load(), 1);
  EXPECT_EQ(table, "");
}

}  // namespace
}  // namespace mpc::msg::test
