// Control messages between processes: each comes whole, once, and in order, whatever the net does.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>

#include "runtime/message/control.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

using Message = std::vector<std::byte>;
constexpr size_t kLimit = 1000;  // of the net's eager messages

Message make_message(size_t bytes, unsigned seed) {
  Message out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 31 + seed * 7);
  return out;
}

// What all processes have got.
class Inbox {
 public:
  using Stream = std::tuple<int, int, int>;  // channel, here, from

  Inbox() {
    for (int c = 0; c < kControlChannels; ++c) {
      ends_[c] = {this, c};
      set_control_handler(static_cast<ControlChannel>(c), &take, &ends_[c]);
    }
  }
  // What came on this stream, when as many messages have come in all.
  std::map<Stream, std::vector<Message>> wait_for(size_t count) {
    for (int i = 0; i < 100'000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (count_ >= count) break;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(count_, count);
    return messages_;
  }
  // Called in the handler.
  std::function<void(int here, int from, const Message&)> on_message;

 private:
  struct End {
    Inbox* inbox;
    int channel;
  };
  static void take(void* argument, int here, int from,
                   std::span<const std::byte> message) noexcept {
    auto& [inbox, channel] = *static_cast<End*>(argument);
    EXPECT_TRUE(sched::outside_work().is_under_way);
    const Message copy(message.begin(), message.end());
    if (inbox->on_message) inbox->on_message(here, from, copy);
    const std::lock_guard lock(inbox->mutex_);
    inbox->messages_[{channel, here, from}].push_back(copy);
    ++inbox->count_;
  }

  std::mutex mutex_;
  std::map<Stream, std::vector<Message>> messages_;
  size_t count_ = 0;
  End ends_[kControlChannels];
};

class Control : public testing::TestWithParam<uint64_t> {
 protected:
  void open(int processes, int64_t delay_ns = 200'000) {
    map_ = job::ProcessMap::in_blocks(processes, processes);
    transport::LoopbackConfig config;
    config.seed = GetParam();
    config.delay_ns = delay_ns;
    config.eager_bytes = kLimit;
    ASSERT_TRUE(open_network(map_, config).ok());
  }
  void TearDown() override {
    close_network();
    EXPECT_FALSE(sched::outside_work().is_under_way);
  }
  Inbox inbox_;
  job::ProcessMap map_{1};
};
INSTANTIATE_TEST_SUITE_P(Seeds, Control, testing::Values(0, 1, 2, 3));

// The longest one once only: it takes long below a sanitizer.
constexpr size_t kLengths[] = {
    0, 1, kLimit - 1, kLimit, kLimit + 1, 3'000'000,  7,
    0, 1, kLimit - 1, kLimit, kLimit + 1, 2 * kLimit, 3 * kLimit + 1};
constexpr size_t kCount = sizeof kLengths / sizeof *kLengths;

TEST_P(Control, MessagesOfAllLengthsComeWholeAndInOrder) {
  constexpr int kProcesses = 3;
  open(kProcesses);
  const auto seed_of = [](int channel, int from, int to, size_t i) {
    return static_cast<unsigned>(channel * 100 + from * 10 + to) +
           static_cast<unsigned>(i) * 1009;
  };
  const auto send_all = [&](int from) {
    for (size_t i = 0; i < kCount; ++i)
      for (int to = 0; to < kProcesses; ++to)
        for (int channel = 0; channel < 2 && to != from; ++channel)
          send_control(from, to, static_cast<ControlChannel>(channel),
                       make_message(kLengths[i], seed_of(channel, from, to, i)));
  };
  std::vector<std::thread> threads;
  for (int p = 0; p < kProcesses; ++p) threads.emplace_back(send_all, p);
  for (std::thread& thread : threads) thread.join();
  const auto got = inbox_.wait_for(kProcesses * (kProcesses - 1) * 2 * kCount);
  for (const auto& [stream, messages] : got) {
    const auto [channel, here, from] = stream;
    ASSERT_EQ(messages.size(), kCount);
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_TRUE(messages[i] ==
                  make_message(kLengths[i], seed_of(channel, from, here, i)))
          << i;
  }
}

// Several threads of a process send at once: their fragments do not mix.
TEST_P(Control, MessagesOfSeveralThreadsStayApart) {
  constexpr int kThreads = 4;
  constexpr unsigned kMessages = 40;
  open(2);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(t);
      for (unsigned i = 0; i < kMessages; ++i) {
        Message message = make_message(2 + random() % (5 * kLimit), t * 50 + i);
        message[0] = static_cast<std::byte>(t);
        message[1] = static_cast<std::byte>(i);
        send_control(0, 1, ControlChannel::kMeeting, message);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  unsigned next[kThreads] = {};
  const auto got = inbox_.wait_for(kThreads * kMessages);
  for (const Message& message : got.at({0, 1, 0})) {
    const auto t = static_cast<unsigned>(message[0]);
    ASSERT_LT(t, kThreads);
    const unsigned i = next[t]++;
    ASSERT_EQ(static_cast<unsigned>(message[1]), i);
    Message expected = make_message(message.size(), t * 50 + i);
    std::copy_n(message.begin(), 2, expected.begin());
    ASSERT_TRUE(message == expected);
  }
}

// A handler runs without a lock of the net: it answers.
TEST_P(Control, HandlersMaySendAgain) {
  constexpr size_t kRounds = 300;
  open(3, 20'000);
  inbox_.on_message = [](int here, int, const Message& message) {
    if (message.size() >= kRounds) return;
    send_control(here, (here + 1) % 3, ControlChannel::kMeeting,
                 make_message(message.size() + 1, 0));
  };
  send_control(0, 1, ControlChannel::kMeeting, make_message(1, 0));
  inbox_.wait_for(kRounds);
}

// What was under way, and fragments whose predecessors never came, are no work left.
TEST_P(Control, ANetworkThatIsClosedLeavesNoWork) {
  open(2, 2'000'000);
  for (int i = 0; i < 20; ++i)
    send_control(0, 1, ControlChannel::kBridge, make_message(10 * kLimit, 1));
  std::this_thread::sleep_for(std::chrono::microseconds(500));
}

// A rank waits for what another process tells its own: that is no deadlock.
TEST_P(Control, AMessageUnderWayIsNoDeadlock) {
  World world(2, 2);
  transport::LoopbackConfig late;
  late.seed = GetParam();
  late.delay_ns = 200'000'000;
  late.eager_bytes = kLimit;
  world.with_processes(2).with_network(late);
  std::atomic<bool> has_come{false};
  std::atomic<int> reports{0};
  world.on_quiescence([&] { reports.fetch_add(1); });
  inbox_.on_message = [&](int, int, const Message&) {
    has_come.store(true);
    notify(world.rank(1));
  };
  EXPECT_EQ(world.run([&](job::Rank& me) {
    if (me.world_rank == 0) {
      send_control(0, 1, ControlChannel::kBridge, make_message(5 * kLimit, 1));
    } else {
      wait_until(
          me, nullptr, 0,
          [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); },
          &has_come, Why());
    }
  }),
            "");
  EXPECT_EQ(reports.load(), 0);
  inbox_.wait_for(1);
}

}  // namespace
}  // namespace mpc::msg::test
