#include "runtime/wireup/wireup.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/wireup/launcher_link.h"

namespace mpc::wireup {
namespace {

void forget_launchers() {
  for (const char* name :
       {kLauncherVariable, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMI_SIZE", "PMI_FD",
        "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "MPC_STEP_TAKEN"})
    ::unsetenv(name);
}

TEST(Wireup, AProcessWithoutALauncherIsAlone) {
  forget_launchers();
  const auto wireup = Wireup::connect({});
  ASSERT_TRUE(wireup) << wireup.error().message;
  EXPECT_TRUE((*wireup)->is_alone());
  EXPECT_FALSE((*wireup)->has_launcher());
  EXPECT_EQ((*wireup)->index(), 0);
  EXPECT_EQ((*wireup)->local_size(), 1);
}

TEST(Wireup, AProcessOfSeveralThatDoNotKnowEachOtherIsRefusedAndOneSaysSo) {
  forget_launchers();
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  for (const int index : {0, 1}) {
    ::setenv("SLURM_PROCID", std::to_string(index).c_str(), 1);
    const auto wireup = Wireup::connect({});
    ASSERT_FALSE(wireup);
    EXPECT_EQ(wireup.error().code, Errc::kUnsupported);
    EXPECT_EQ(wireup.error().message.empty(), index == 1);
  }
  forget_launchers();
}

TEST(Wireup, AVariableThatNamesNoLauncherIsRefused) {
  forget_launchers();
  ::setenv(kLauncherVariable, "none", 1);
  EXPECT_FALSE(Wireup::connect({}));
  ::setenv(kLauncherVariable, "1000,1001", 1);  // closed
  EXPECT_FALSE(Wireup::connect({}));
  forget_launchers();
}

// Both ends of the connection.
class Link : public testing::Test {
 protected:
  Link() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_), 0);
    // Its thread outlives the test.
    static auto* const all = new std::vector<std::unique_ptr<LauncherLink>>();
    link_ = all->emplace_back(std::make_unique<LauncherLink>(ends_[1])).get();
  }
  std::string read(RecordHead* head) const {
    std::string text(2 * kMostTextBytes, '\0');
    iovec parts[] = {{head, sizeof *head}, {text.data(), text.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t bytes = ::recvmsg(ends_[0], &message, 0);
    text.resize(static_cast<size_t>(bytes) - sizeof *head);
    return text;
  }
  int ends_[2];
  LauncherLink* link_;
};

TEST_F(Link, AReportComesWholeWithItsStatus) {
  link_->tell(Report::kEnding, 7, "why");
  link_->tell(Report::kFinished, 0, {});
  RecordHead head;
  EXPECT_EQ(read(&head), "why");
  EXPECT_EQ(static_cast<Report>(head.kind), Report::kEnding);
  EXPECT_EQ(head.status, 7);
  EXPECT_EQ(read(&head), "");
  EXPECT_EQ(static_cast<Report>(head.kind), Report::kFinished);
}

TEST_F(Link, ALongTextIsCutAndNotLost) {
  link_->tell(Report::kTable, 0, std::string(3 * kMostTextBytes, 'x'));
  RecordHead head;
  EXPECT_EQ(read(&head), std::string(kMostTextBytes, 'x'));
}

TEST_F(Link, OrdersReachTheHandler) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Order> orders;
  std::vector<int> numbers;
  link_->set_handler([&](Order order, int number) {
    const std::lock_guard lock(mutex);
    orders.push_back(order);
    numbers.push_back(number);
    changed.notify_one();
  });
  ASSERT_TRUE(link_->start());
  for (const Order order : {Order::kAskTable, Order::kEndNow}) {
    const RecordHead head{static_cast<int32_t>(order), SIGTERM, 0};
    ASSERT_EQ(::send(ends_[0], &head, sizeof head, 0), ssize_t{sizeof head});
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return orders.size() == 2; });
  EXPECT_EQ(orders[0], Order::kAskTable);
  EXPECT_EQ(orders[1], Order::kEndNow);
  EXPECT_EQ(numbers[1], SIGTERM);
}

using LinkDeathTest = Link;

TEST_F(LinkDeathTest, TheProcessEndsWithItsLauncher) {
  EXPECT_EXIT(
      {
        static_cast<void>(link_->start());
        ::shutdown(ends_[0], SHUT_RDWR);  // the test has it, too
        ::sleep(10);
      },
      testing::ExitedWithCode(1), "");
}

// Process 0 is at the other end.
class Peer : public testing::Test {
 protected:
  Peer() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    static auto* const all = new std::vector<std::unique_ptr<LauncherLink>>();
    link_ = all->emplace_back(std::make_unique<LauncherLink>(
                                  ends_[1], LauncherLink::Other::kProcess0))
                .get();
  }
  void order(Order order, int status) const {
    const RecordHead head{static_cast<int32_t>(order), status, 0};
    ASSERT_EQ(::send(ends_[0], &head, sizeof head, 0), ssize_t{sizeof head});
  }
  int ends_[2];
  LauncherLink* link_;
};

TEST_F(Peer, APartingWaitsForTheJobsStatus) {
  ASSERT_TRUE(link_->start());
  std::thread other([this] {
    RecordHead head;
    EXPECT_EQ(::recv(ends_[0], &head, sizeof head, MSG_WAITALL), ssize_t{sizeof head});
    EXPECT_EQ(static_cast<Report>(head.kind), Report::kWritten);
    EXPECT_EQ(head.status, 5);
    order(Order::kLeave, 7);
  });
  EXPECT_EQ(link_->part(5), 7);
  other.join();
}

using PeerDeathTest = Peer;

TEST_F(PeerDeathTest, WithoutProcess0AProcessEndsAsIfOrderedTo) {
  EXPECT_EXIT(
      {
        // As a job does: another thread says what is to be said, and parts.
        link_->set_handler([this](Order order, int) {
          if (order == Order::kEndSoon)
            std::thread([this] { ::_exit(40 + link_->part(0)); }).detach();
        });
        static_cast<void>(link_->start());
        ::shutdown(ends_[0], SHUT_RDWR);
        ::sleep(20);
      },
      testing::ExitedWithCode(41), "");
}

TEST_F(PeerDeathTest, BeforeThereAreRanksAnOrderEndsTheProcessWhenAllMayLeave) {
  EXPECT_EXIT(
      {
        static_cast<void>(link_->start());
        order(Order::kEndSoon, 0);
        ::usleep(20'000);
        order(Order::kLeave, 9);
        ::sleep(10);
      },
      testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace mpc::wireup
