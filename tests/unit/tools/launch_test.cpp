// What mpclaunch's head and daemons are made of, without a network.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/base/no_more_files.h"
#include "tools/mpclaunch/channel.h"
#include "tools/mpclaunch/children.h"
#include "tools/mpclaunch/entrance.h"
#include "tools/mpclaunch/first_line.h"
#include "tools/mpclaunch/plan.h"
#include "tools/mpclaunch/process.h"
#include "tools/mpclaunch/secret.h"
#include "tools/mpclaunch/start_frame.h"

namespace mpc::launch {
namespace {

Plan two_hosts() {
  Plan plan;
  plan.hosts = {{"alpha", true, {4, 4}}, {"beta", false, {4}}};
  return plan;
}

TEST(Plan, IsReadAsItWasWritten) {
  EXPECT_EQ(encode(two_hosts()), ".alpha=4,4;beta=4");
  const Plan plan = decode_plan(encode(two_hosts()));
  ASSERT_EQ(plan.hosts.size(), 2u);
  EXPECT_TRUE(plan.hosts[0].is_here);
  EXPECT_EQ(plan.hosts[1].name, "beta");
  EXPECT_EQ(plan.ranks_of_processes(), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(plan.first_process(1), 2);
  EXPECT_EQ(plan.host_of(1), 0);
  EXPECT_EQ(plan.host_of(2), 1);
  EXPECT_TRUE(decode_plan("alpha").hosts.empty());
}

TEST(Process, IsNamedByRanksAndHost) {
  EXPECT_EQ(processes_of(two_hosts())[2].name(), "process 2 (ranks 8-11) on host beta");
  Plan one;
  one.hosts = {{"", true, {1, 1}}};
  EXPECT_EQ(processes_of(one)[1].name(), "process 1 (rank 1)");
}

TEST(StartFrame, IsReadAsItWasWritten) {
  StartFrame start;
  start.plan = encode(two_hosts());
  start.host = 1;
  start.folder = "/a folder";
  start.arguments = {"mpcrun", "-n", "12", ""};
  start.environment = {"A=b=c"};
  const Packer packed = pack(start);
  const auto read = unpack_start(packed.bytes());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->arguments, start.arguments);
  EXPECT_EQ(read->environment, start.environment);
  EXPECT_EQ(read->folder, start.folder);
  for (size_t size = 0; size < packed.bytes().size(); ++size)
    EXPECT_FALSE(unpack_start(packed.bytes().substr(0, size))) << size;
}

TEST(FirstLine, IsReadAsItWasWritten) {
  const Secret secret = make_secret();
  const std::string text = first_line(3, secret, 4711, "10.0.0.1 fd00::1");
  FirstLine line;
  ASSERT_TRUE(read_first_line(text, &line));
  EXPECT_EQ(line.host, 3);
  EXPECT_EQ(line.secret, secret);
  EXPECT_EQ(line.port, 4711);
  EXPECT_EQ(line.addresses, (std::vector<std::string>{"10.0.0.1", "fd00::1"}));
  EXPECT_FALSE(read_first_line("rm -rf", &line));
}

// The example of the paper, appendix A.
TEST(Secret, IsHashedAsThePaperSays) {
  Secret key;
  std::iota(key.begin(), key.end(), uint8_t{0});
  std::string text(15, 0);
  std::iota(text.begin(), text.end(), char{0});
  EXPECT_EQ(keyed_hash(key, text), 0xa129ca6149be45e5u);
}

TEST(Secret, ProvesNothingToOthers) {
  const Secret secret = make_secret(), other = make_secret();
  const Challenge challenge = make_secret();
  const Answer answer = answer_to(challenge, 1, secret);
  EXPECT_TRUE(is_right(answer, challenge, secret));
  EXPECT_FALSE(is_right(answer, challenge, other));
  EXPECT_FALSE(is_right(answer, make_secret(), secret));  // heard at another time
  Answer elsewhere = answer;
  elsewhere.host = 2;
  EXPECT_FALSE(is_right(elsewhere, challenge, secret));
  EXPECT_NE(proof_for(answer, secret), answer.proof);
}

// --- who may connect ----------------------------------------------------------------------------

class Entering : public testing::Test {
 protected:
  Entering()
      : entrance_(loop_, [this](int host, int fd) {
          entered_.push_back(host);
          ::close(fd);
        }) {
    EXPECT_TRUE(entrance_.open());
    entrance_.expect(0, secret_);
  }
  int connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(entrance_.port()));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    turn();
    return fd;
  }
  void turn() {
    for (int i = 0; i < 5; ++i) loop_.turn(5);
  }
  // What a daemon with this secret does. True: it is let in, and the head is the right one.
  bool enter(int fd, const Secret& secret, int host = 0) {
    Challenge challenge;
    EXPECT_EQ(::recv(fd, challenge.data(), challenge.size(), MSG_WAITALL), 16);
    const Answer answer = answer_to(challenge, host, secret);
    EXPECT_EQ(::send(fd, &answer, sizeof answer, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof answer));
    turn();
    Proof proof = 0;
    return ::recv(fd, &proof, sizeof proof, MSG_WAITALL) ==
               static_cast<ssize_t>(sizeof proof) &&
           proof == proof_for(answer, secret);
  }

  Loop loop_;
  Secret secret_ = make_secret();
  std::vector<int> entered_;
  Entrance entrance_;
};

TEST_F(Entering, IsForWhoKnowsTheSecretOnce) {
  const int first = connect();
  EXPECT_TRUE(enter(first, secret_));
  EXPECT_EQ(entered_, (std::vector<int>{0}));
  const int second = connect();
  EXPECT_FALSE(enter(second, secret_));
  EXPECT_EQ(entered_.size(), 1u);
  ::close(first), ::close(second);
}

TEST_F(Entering, IsNotForOthers) {
  const int wrong_secret = connect(), wrong_host = connect(), garbage = connect();
  EXPECT_FALSE(enter(wrong_secret, make_secret()));
  EXPECT_FALSE(enter(wrong_host, secret_, 1));
  const std::string text(1000, 'x');
  ::send(garbage, text.data(), text.size(), MSG_NOSIGNAL);
  turn();
  EXPECT_EQ(entrance_.visitors(), 0);
  EXPECT_TRUE(entered_.empty());
  for (const int fd : {wrong_secret, wrong_host, garbage}) ::close(fd);
}

TEST_F(Entering, IsPossibleInACrowd) {
  std::vector<int> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(connect());
  EXPECT_LE(entrance_.visitors(), 256);
  const int fd = connect();
  EXPECT_TRUE(enter(fd, secret_));
  EXPECT_EQ(entered_.size(), 1u);
  for (const int one : crowd) ::close(one);
  ::close(fd);
}

TEST_F(Entering, WaitsForDescriptors) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(entrance_.port()));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const test::NoMoreFiles none;
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    int turns = 0;
    for (const uint64_t end_ns = now_ns() + 500 * kMs; now_ns() < end_ns; ++turns)
      loop_.turn(1000);
    EXPECT_LE(turns, 20);
    EXPECT_EQ(entrance_.visitors(), 0);
  }
  for (const uint64_t end_ns = now_ns() + 10'000 * kMs;
       entrance_.visitors() == 0 && now_ns() < end_ns;)
    loop_.turn(1000);
  EXPECT_TRUE(enter(fd, secret_));
  ::close(fd);
}

TEST(Loop, LeavesAFileAloneThatRests) {
  Loop loop;
  int ends[2], calls = 0;
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  loop.watch(ends[0], [&] { ++calls; });
  loop.turn(-1);
  EXPECT_EQ(calls, 1);
  const uint64_t end_ns = now_ns() + 100 * kMs;
  loop.rest(ends[0], end_ns);
  loop.turn(0);
  EXPECT_EQ(calls, 1);
  while (calls == 1) loop.turn(-1);  // it ends by itself
  EXPECT_GE(now_ns(), end_ns);
  loop.turn(-1);
  EXPECT_EQ(calls, 3);
  loop.rest(ends[0], now_ns() + 100'000 * kMs);
  loop.rest(ends[0], 0);
  loop.turn(-1);
  EXPECT_EQ(calls, 4);
  ::close(ends[0]), ::close(ends[1]);
}

// --- frames -------------------------------------------------------------------------------------

// The kernel says first that the process has ended without having read its orders.
TEST(Children, LastWordsOfAProcessThatHasNotReadItsOrdersCome) {
  Loop loop;
  std::vector<std::string> seen;
  Children children(
      loop,
      [&](int, const wireup::RecordHead& head, std::string text) {
        seen.push_back(std::to_string(head.kind) + " " + text);
      },
      [&](int, int) { seen.emplace_back("end"); });
  StartOfChildren how;
  how.program = "/bin/bash";
  // Twice a head with kind 7 and a text of two bytes, each in a packet of its own.
  how.arguments = {"bash", "-c",
                   "read line; for word in no go; do"
                   " printf '\\7\\0\\0\\0\\0\\0\\0\\0\\2\\0\\0\\0%s' $word"
                   " >&${MPC_LAUNCHER%,*}; done"};
  how.ranks_variable = "RANKS=1";
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  how.input = gate[0];
  ASSERT_TRUE(children.start(0, how, {}).ok());
  children.order(0, wireup::Order::kLost, 1);
  ASSERT_EQ(::write(gate[1], "\n", 1), 1);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  children.reap();
  EXPECT_EQ(seen, (std::vector<std::string>{"7 no", "7 go", "end"}));
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST(Channel, CarriesFramesOfAllSizesInOrderAndTellsItsEnd) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::vector<size_t> sizes;
  int lost = -1;
  Channel there(
      loop, ends[1],
      [&](Frame kind, std::string_view payload) {
        EXPECT_EQ(kind, Frame::kOutput);
        sizes.push_back(payload.size());
      },
      [&](int error) { lost = error; });
  const std::vector<size_t> sent = {0, 1, 100000, 3, 5000000, 7};
  {
    Channel here(
        loop, ends[0], [](Frame, std::string_view) {}, [](int) {});
    for (const size_t size : sent) here.send(Frame::kOutput, std::string(size, 'x'));
    while (!here.is_drained()) loop.turn(1000);
  }
  while (lost < 0) loop.turn(1000);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(sizes, sent);
}

}  // namespace
}  // namespace mpc::launch
