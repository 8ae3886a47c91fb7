// Acceptor: without descriptors it rests, and who waits is accepted later.
#include "base/acceptor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "base/poll_files.h"
#include "tests/unit/base/no_more_files.h"

namespace mpc {
namespace {

class AcceptorTest : public testing::Test {
 protected:
  AcceptorTest()
      : listener_(::socket(AF_UNIX, kKind, 0)), client_(::socket(AF_UNIX, kKind, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;  // without a name: the kernel chooses one
    socklen_t size = sizeof(sa_family_t);
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, at, size), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    size = sizeof address;
    EXPECT_EQ(::getsockname(listener_, at, &size), 0);
    EXPECT_EQ(acceptor_.accept(listener_), -1);  // nobody waits, so it does not rest
    EXPECT_EQ(acceptor_.rests_until_ns(), 0U);
    EXPECT_EQ(::connect(client_, at, size), 0);
  }
  ~AcceptorTest() override {
    ::close(listener_);
    ::close(client_);
  }

  static constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int listener_, client_;
  Acceptor acceptor_{"a test"};
};

TEST_F(AcceptorTest, AcceptsWhoWaits) {
  const int fd = acceptor_.accept(listener_, SOCK_NONBLOCK);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  EXPECT_EQ(acceptor_.rests_until_ns(), 0U);
  ::close(fd);
}

TEST_F(AcceptorTest, RestsWithoutDescriptorsAndSaysSoOnce) {
  // Not by `this`, whose type UBSan checks, for which it needs a descriptor.
  Acceptor& acceptor = acceptor_;
  const int listener = listener_;
  testing::internal::CaptureStderr();
  {
    const test::NoMoreFiles none;
    for (int i = 0; i < 3; ++i) {
      const uint64_t now = now_ns();
      EXPECT_EQ(acceptor.accept(listener), -1);
      EXPECT_GE(acceptor.rests_until_ns(), now + Acceptor::kRestNs);
      EXPECT_FALSE(acceptor.has_rested(now));
      EXPECT_TRUE(acceptor.has_rested(acceptor.rests_until_ns()));
      EXPECT_EQ(acceptor.rests_until_ns(), 0U);
    }
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const char* const line =
      "a connection of a test cannot be accepted: Too many open files";
  EXPECT_NE(said.find(line), std::string::npos) << said;
  EXPECT_EQ(said.find(line), said.rfind(line)) << said;
  const int fd = acceptor_.accept(listener_);
  EXPECT_GE(fd, 0);
  ::close(fd);
}

TEST(PollFiles, DoNotComeBackAtOnceWithMoreFilesThanTheLimit) {
  std::vector<pollfd> many(4000, pollfd{-1, POLLIN, 0});
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 100;
  ::setrlimit(RLIMIT_NOFILE, &few);
  int failures = 0;
  for (const uint64_t end_ns = now_ns() + 200 * kMs; now_ns() < end_ns; ++failures)
    EXPECT_EQ(poll_files(many, 0), -1);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_LE(failures, 20);
}

}  // namespace
}  // namespace mpc
