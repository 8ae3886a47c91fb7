// The end of a bridge's connection: what the other process had sent before it arrives nevertheless.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/transport/bridge/bridge.h"
#include "tests/unit/base/no_more_files.h"
#include "tests/unit/transport/contract.h"

namespace mpc::transport::test {
namespace {

constexpr int kNever = -1;
constexpr uint64_t kMessages = 20;
constexpr uint64_t kLeaveNs = 10'000'000'000;

// Refuses as a locked mailbox does. All functions: the bridge's thread, until that has ended or
// has told of the peer's end.
class Reluctant final : public Receiver {
 public:
  // So many take(), and then so many finish(), are in vain; kNever: all are.
  Reluctant(int takes, int finishes) : takes_(takes), finishes_(finishes) {}
  bool take(int, const Envelope& envelope, const void*, size_t,
            Bulk) noexcept override {
    if (is_refused(takes_)) return false;
    taken_.push_back(envelope.id);
    return true;
  }
  bool finish() noexcept override {
    if (!taken_.empty() && is_refused(finishes_)) return false;
    delivered_.insert(delivered_.end(), taken_.begin(), taken_.end());
    taken_.clear();
    return true;
  }
  const std::vector<uint64_t>& delivered() const { return delivered_; }

 private:
  static bool is_refused(int& left) {
    if (left == 0) return false;
    if (left != kNever) --left;
    return true;
  }
  int takes_, finishes_;
  std::vector<uint64_t> taken_, delivered_;
};

class Ends final : public BridgeEvents {
 public:
  explicit Ends(const Reluctant& receiver) : receiver_(receiver) {}
  int greet(int, std::span<const std::byte>) noexcept override { return -1; }
  void gone(int, bool is_announced) noexcept override {
    delivered = receiver_.delivered();
    has_left = is_announced;
    is_told_.store(true, std::memory_order_release);  // pairs with wait()
  }
  // False: not told for a long time.
  bool wait() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    while (!is_told_.load(std::memory_order_acquire)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  std::vector<uint64_t> delivered;  // until then
  bool has_left = false;

 private:
  const Reluctant& receiver_;
  std::atomic<bool> is_told_{false};
};

// A socket from which all messages can be read; their sender has ended.
int socket_of_an_ended_peer(int type, bool leaves) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  Reluctant nothing_comes(kNever, kNever);
  Ends nobody_ends(nothing_comes);
  const auto sender = Bridge::make({});
  EXPECT_TRUE(sender->start(nothing_comes, nobody_ends, -1).ok());
  EXPECT_TRUE(sender->connect(0, ends[0]).ok());
  const std::vector<char> data = message(100, 1);
  for (uint64_t id = 0; id < kMessages; ++id)
    sender->net().post(0, envelope_of(id, data.size()), contiguous(data));
  sender->leave(leaves ? kLeaveNs : 0);
  return ends[1];
}

class BridgeEnd : public testing::TestWithParam<int> {
 protected:
  void expect_all(int takes, int finishes, bool leaves) {
    Reluctant receiver(takes, finishes);
    Ends ends(receiver);
    const auto bridge = Bridge::make({});
    ASSERT_TRUE(bridge->start(receiver, ends, -1).ok());
    const int socket = socket_of_an_ended_peer(GetParam(), leaves);
    ASSERT_GE(socket, 0);
    ASSERT_TRUE(bridge->connect(0, socket).ok());
    ASSERT_TRUE(ends.wait());
    EXPECT_EQ(ends.has_left, leaves);
    EXPECT_EQ(ends.delivered.size(), kMessages);
    bridge->leave(0);
  }
};

// So often that the attempts which every arrival brings along do not suffice.
constexpr int kOften = 1000;

TEST_P(BridgeEnd, ComesAfterMessagesThatAreRefusedAtFirst) {
  expect_all(kOften, 0, true);
  expect_all(kOften, 0, false);
}

TEST_P(BridgeEnd, ComesAfterMessagesThatAreTakenAndNotDelivered) {
  expect_all(0, kOften, true);
  expect_all(0, kOften, false);
}

TEST_P(BridgeEnd, DoesNotKeepAProcessThatLeavesItself) {
  Reluctant receiver(kNever, kNever);
  Ends ends(receiver);
  const auto bridge = Bridge::make({});
  ASSERT_TRUE(bridge->start(receiver, ends, -1).ok());
  const int socket = socket_of_an_ended_peer(GetParam(), true);
  ASSERT_GE(socket, 0);
  ASSERT_TRUE(bridge->connect(0, socket).ok());
  bridge->leave(0);
  EXPECT_EQ(receiver.delivered().size(), 0U);
}

// Sends away whom it has heard.
class Greets final : public BridgeEvents {
 public:
  int greet(int, std::span<const std::byte>) noexcept override {
    greeted.fetch_add(1, std::memory_order_release);
    return -1;
  }
  void gone(int, bool) noexcept override {}
  std::atomic<int> greeted{0};
};

TEST(BridgeListener, RestsWithoutDescriptors) {
  constexpr int kKind = SOCK_SEQPACKET | SOCK_CLOEXEC;
  const int listener = ::socket(AF_UNIX, kKind | SOCK_NONBLOCK, 0);
  const int first = ::socket(AF_UNIX, kKind, 0), second = ::socket(AF_UNIX, kKind, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // the kernel chooses a name
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(sa_family_t);
  ASSERT_EQ(::bind(listener, at, size), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  size = sizeof address;
  ASSERT_EQ(::getsockname(listener, at, &size), 0);
  Reluctant receiver(0, 0);
  Greets events;
  const auto bridge = Bridge::make({});
  ASSERT_TRUE(bridge->start(receiver, events, listener).ok());
  const auto wait_for = [&](int count) {
    const uint64_t end_ns = now_ns() + 20'000 * kMs;
    while (events.greeted.load(std::memory_order_acquire) < count && now_ns() < end_ns)
      ::usleep(1000);
    return events.greeted.load() == count;
  };
  {
    const mpc::test::NoMoreFiles none;
    ASSERT_EQ(::connect(first, at, size), 0);
    ASSERT_EQ(::send(first, "hello", 5, 0), 5);
    EXPECT_LT(mpc::test::cpu_ms_of_a_second(), mpc::test::kRestingMs);
    EXPECT_EQ(events.greeted.load(), 0);
  }
  EXPECT_TRUE(wait_for(1));
  ASSERT_EQ(::connect(second, at, size), 0);
  ASSERT_EQ(::send(second, "hello", 5, 0), 5);
  EXPECT_TRUE(wait_for(2));
  bridge->leave(0);
  for (const int fd : {listener, first, second}) ::close(fd);
}

std::string name_of(const testing::TestParamInfo<int>& type) {
  return type.param == SOCK_STREAM ? "Streams" : "Packets";
}

INSTANTIATE_TEST_SUITE_P(Sockets, BridgeEnd,
                         testing::Values(int{SOCK_SEQPACKET}, int{SOCK_STREAM}),
                         name_of);

}  // namespace
}  // namespace mpc::transport::test
