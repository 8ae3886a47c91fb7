// Processes that meet over a network: each gets the parts of all, of the same meeting.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "mpi/objects/net_exchange.h"
#include "runtime/message/control.h"
#include "runtime/message/network.h"
#include "scheduler/outside_work.h"

namespace mpc::mpi {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::seconds kLong{60};

class Exchanges : public testing::TestWithParam<uint64_t> {
 protected:
  void open(int processes) {
    map_ = job::ProcessMap::in_blocks(processes, processes);
    for (int p = 0; p < processes; ++p)
      ends_.push_back(std::make_unique<NetExchange>(p));
    msg::set_control_handler(msg::ControlChannel::kMeeting, &arrive, this);
    transport::LoopbackConfig config;
    config.seed = GetParam();
    config.delay_ns = 100'000;
    config.eager_bytes = 500;
    ASSERT_TRUE(msg::open_network(map_, config).ok());
  }
  void TearDown() override {
    msg::close_network();
    EXPECT_FALSE(sched::outside_work().is_under_way);
  }
  static void arrive(void* test, int here, int from,
                     std::span<const std::byte> message) noexcept {
    auto& self = *static_cast<Exchanges*>(test);
    self.messages_.fetch_add(1);
    self.ends_[static_cast<size_t>(here)]->arrive(from, message);
  }
  // The part of the index-th process, and what it will get.
  std::future<std::vector<Bytes>> start(const MeetingKey& key,
                                        const std::vector<int>& processes, size_t index,
                                        Bytes mine) {
    auto told = std::make_shared<std::promise<std::vector<Bytes>>>();
    auto future = told->get_future();
    ends_[static_cast<size_t>(processes[index])]->allgather(
        key, processes, static_cast<int>(index), std::move(mine),
        [told](std::vector<Bytes> all) { told->set_value(std::move(all)); });
    return future;
  }

  job::ProcessMap map_{1};
  std::vector<std::unique_ptr<NetExchange>> ends_;
  std::atomic<size_t> messages_{0};
  const unsigned seed_ = std::random_device{}();
  testing::ScopedTrace trace_{__FILE__, __LINE__, seed_};
};
INSTANTIATE_TEST_SUITE_P(Seeds, Exchanges, testing::Values(0, 1, 2, 3));

// What a process brings to a meeting: length and content say which process and which meeting.
Bytes part_of(int process, uint64_t meeting) {
  std::mt19937_64 random(meeting * 1000 + static_cast<uint64_t>(process));
  const uint64_t lengths[] = {0, 1, 40, 499, 3000};
  Bytes out(lengths[random() % 5] + random() % 3);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

std::vector<int> shuffled(int end, std::mt19937& random) {
  std::vector<int> all(static_cast<size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

void expect_parts(const std::vector<Bytes>& got, const std::vector<int>& processes,
                  uint64_t meeting) {
  ASSERT_EQ(got.size(), processes.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(got[i] == part_of(processes[i], meeting)) << i;
}

TEST_P(Exchanges, GiveAllPartsInOrderToGroupsOfAllSizes) {
  constexpr int kMost = 70;
  open(kMost);
  std::mt19937 random(seed_);
  for (const int n : {1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 57, 63, 64, 65, 70}) {
    const auto meeting = static_cast<uint64_t>(n);
    std::vector<int> processes = shuffled(kMost, random);
    processes.resize(static_cast<size_t>(n));
    const MeetingKey key{MeetingKind::kSplit, 4, meeting, {}};
    std::vector<std::future<std::vector<Bytes>>> got(processes.size());
    const size_t before = messages_.load();
    for (const int i : shuffled(n, random)) {
      const auto at = static_cast<size_t>(i);
      got[at] = start(key, processes, at, part_of(processes[at], meeting));
    }
    for (auto& each : got) {
      ASSERT_EQ(each.wait_for(kLong), std::future_status::ready);
      expect_parts(each.get(), processes, meeting);
    }
    // Seven in each step.
    const auto most = static_cast<size_t>(n <= 8 ? n - 1 : n <= 64 ? 14 : 21);
    EXPECT_LE(messages_.load() - before, most * processes.size());
  }
}

// Who comes last has all of it at once; nobody is told anything before.
TEST_P(Exchanges, KeepWhatOthersTellUntilTheOwnMembersHaveCome) {
  open(4);
  const std::vector<int> processes{2, 0, 3, 1};
  const MeetingKey key{MeetingKind::kCreate, 8, 1, {}};
  std::vector<std::future<std::vector<Bytes>>> got(4);
  for (const size_t i : {0, 1, 3})
    got[i] = start(key, processes, i, part_of(processes[i], 1));
  for (int i = 0; i < 100'000 && messages_.load() < 9; ++i)
    std::this_thread::sleep_for(microseconds(100));
  ASSERT_EQ(messages_.load(), 9u);
  while (sched::outside_work().is_under_way)
    std::this_thread::sleep_for(microseconds(100));
  for (const size_t i : {0, 1, 3})
    EXPECT_EQ(got[i].wait_for(microseconds(0)), std::future_status::timeout);
  got[2] = start(key, processes, 2, part_of(3, 1));
  EXPECT_EQ(got[2].wait_for(microseconds(0)), std::future_status::ready);
  for (auto& each : got) {
    ASSERT_EQ(each.wait_for(kLong), std::future_status::ready);
    expect_parts(each.get(), processes, 1);
  }
}

// The same key, again and again, by processes of which some are behind others; several keys at once.
TEST_P(Exchanges, NeverMixMeetingsOfTheSameKey) {
  constexpr int kProcesses = 12, kSeries = 5;
  constexpr uint64_t kRounds = 40;
  open(kProcesses);
  std::mt19937 random(seed_);
  std::vector<std::thread> threads;
  for (uint64_t series = 0; series < kSeries; ++series) {
    std::vector<int> processes = shuffled(kProcesses, random);
    processes.resize(2 + random() % (kProcesses - 1));
    // Keys that differ in their members only.
    const MeetingKey key{MeetingKind::kCreateGroup, 5, 5,
                         GroupTable::make({static_cast<int>(series), 77})};
    for (size_t i = 0; i < processes.size(); ++i) {
      threads.emplace_back([=, this, thread_seed = random()] {
        std::mt19937 pauses(static_cast<unsigned>(thread_seed));
        for (uint64_t round = 0; round < kRounds; ++round) {
          const uint64_t meeting = series * 1000 + round;
          if (pauses() % 3 == 0)
            std::this_thread::sleep_for(microseconds(pauses() % 300));
          auto got = start(key, processes, i, part_of(processes[i], meeting));
          ASSERT_EQ(got.wait_for(kLong), std::future_status::ready);
          expect_parts(got.get(), processes, meeting);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// Meetings that nobody waits for are under way together.
TEST_P(Exchanges, KeepManyMeetingsApartThatAreUnderWayTogether) {
  constexpr int kProcesses = 9;
  constexpr uint64_t kMeetings = 50;
  open(kProcesses);
  std::vector<int> processes(kProcesses);
  std::iota(processes.begin(), processes.end(), 0);
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kProcesses; ++p) {
    threads.emplace_back([=, this] {
      std::mt19937 random(seed_ + static_cast<unsigned>(p));
      std::vector<std::future<std::vector<Bytes>>> got(kMeetings);
      for (const int i : shuffled(kMeetings, random)) {
        const auto meeting = static_cast<uint64_t>(i);
        got[meeting] = start({MeetingKind::kReserve, 16, meeting, {}}, processes, p,
                             part_of(static_cast<int>(p), meeting));
      }
      for (uint64_t i = 0; i < kMeetings; ++i) {
        ASSERT_EQ(got[i].wait_for(kLong), std::future_status::ready);
        expect_parts(got[i].get(), processes, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mpc::mpi
