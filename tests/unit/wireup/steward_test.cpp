#include "runtime/wireup/steward.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/wireup/launcher_link.h"

namespace mpc::wireup {
namespace {

std::mutex g_mutex;
std::string g_said;

void note(std::string_view text) {
  const std::lock_guard lock(g_mutex);
  g_said += text;
}

// Processes are the ends of sockets here; the test plays them.
class Stewards : public testing::Test {
 protected:
  Stewards() { g_said.clear(); }
  ~Stewards() override {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
    if (thread_.joinable()) thread_.join();
  }
  void start(int processes, double timeout_seconds = 0) {
    std::vector<Member> members;
    for (int p = 0; p < processes; ++p) {
      int pair[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
      members.push_back({pair[0], 100 + p, "host"});
      ends_.push_back(pair[1]);
    }
    steward_ =
        std::make_unique<Steward>(members, Wireup::Terms{1, timeout_seconds, &note},
                                  [this](int status) { killed_with_ = status; });
    thread_ = std::thread([this] { steward_->run(); });
  }
  void tell(int process, Report kind, int status, std::string_view text = {}) {
    LauncherLink(ends_[static_cast<size_t>(process)]).tell(kind, status, text);
  }
  RecordHead hear(int process) {
    RecordHead head{-1, -1, -1};
    EXPECT_EQ(
        ::recv(ends_[static_cast<size_t>(process)], &head, sizeof head, MSG_WAITALL),
        ssize_t{sizeof head});
    return head;
  }
  void expect(int process, Order order, int status = 0) {
    const RecordHead head = hear(process);
    EXPECT_EQ(static_cast<Order>(head.kind), order);
    EXPECT_EQ(head.status, status);
  }
  std::vector<int> ends_;
  std::unique_ptr<Steward> steward_;
  std::thread thread_;
  std::atomic<int> killed_with_{-1};
};

TEST_F(Stewards, NobodyLeavesBeforeAllHaveWritten) {
  start(3);
  for (const int p : {1, 0}) {
    tell(p, Report::kFinished, 0);
    tell(p, Report::kWritten, 0);
  }
  char byte;
  ::usleep(20'000);
  EXPECT_LT(::recv(ends_[0], &byte, 1, MSG_DONTWAIT), 0);
  tell(2, Report::kFinished, 0);
  tell(2, Report::kWritten, 0);
  for (const int p : {0, 1, 2}) expect(p, Order::kLeave, 0);
  thread_.join();
  EXPECT_EQ(g_said, "");
}

TEST_F(Stewards, TheFirstReasonEndsAllAndIsSaidOnce) {
  start(2);
  tell(1, Report::kEnding, 7, "first");
  expect(0, Order::kEndSoon);
  tell(0, Report::kEnding, 8, "second");
  tell(0, Report::kWritten, 8);
  tell(1, Report::kWritten, 7);
  expect(0, Order::kLeave, 7);
  expect(1, Order::kEndSoon);
  expect(1, Order::kLeave, 7);
  thread_.join();
  EXPECT_EQ(g_said, "first\n");
}

TEST_F(Stewards, AProcessThatIsGoneEndsTheOthers) {
  start(2);
  ::close(std::exchange(ends_[1], -1));
  expect(0, Order::kEndSoon);
  tell(0, Report::kWritten, 0);
  expect(0, Order::kLeave, 1);
  thread_.join();
  EXPECT_NE(g_said.find("process 1 (pid 101 on host) has ended"), std::string::npos);
}

TEST_F(Stewards, WhoDoesNotEndIsKilledByTheLauncher) {
  start(2);
  tell(1, Report::kEnding, 7, "why");
  tell(1, Report::kWritten, 7);
  thread_.join();  // process 0 says nothing
  EXPECT_EQ(killed_with_, 7);
  EXPECT_EQ(g_said, "why\n");
}

TEST_F(Stewards, AStatusWithoutAnEndIsTheJobs) {
  start(2);
  tell(1, Report::kFailure, 9, "late");
  for (const int p : {0, 1}) {
    tell(p, Report::kFinished, 0);
    tell(p, Report::kWritten, p == 1 ? 9 : 0);
  }
  expect(0, Order::kLeave, 9);
  thread_.join();
  EXPECT_EQ(g_said, "late\n");
}

TEST_F(Stewards, TablesOfAllProcessesAreOneText) {
  start(2);
  tell(0, Report::kAskTables, 0);
  tell(1, Report::kAskTables, 0);  // the signal came to both
  expect(0, Order::kAskTable);     // it asks the others itself
  tell(0, Report::kTable, 0, "rank 0\nrank 1\n");
  for (const int p : {0, 1}) {
    tell(p, Report::kFinished, 0);
    tell(p, Report::kWritten, 0);
  }
  thread_.join();
  EXPECT_EQ(g_said, "mpcrun: state of the job\nrank 0\nrank 1\n");
}

TEST_F(Stewards, TheTimeLimitEndsAllWithTheirTables) {
  start(2, 0.05);
  expect(0, Order::kAskTable);  // it asks the others itself
  tell(0, Report::kTable, 0, "rank 0\nrank 1\n");
  for (const int p : {0, 1}) {
    expect(p, Order::kEndNow);
    tell(p, Report::kWritten, 0);
  }
  expect(0, Order::kLeave, 124);
  thread_.join();
  EXPECT_EQ(g_said,
            "mpcrun: --timeout: the job ran for 0.05 s; it is ended\nrank 0\nrank 1\n");
}

}  // namespace
}  // namespace mpc::wireup
