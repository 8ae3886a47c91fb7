#include "runtime/wireup/gathering.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <string>
#include <vector>

namespace mpc::wireup {
namespace {

void expect_connection(int from, int to) {
  char byte = 0;
  EXPECT_EQ(::send(from, "x", 1, 0), 1);
  EXPECT_EQ(::recv(to, &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
}

// "16 bytes of a token, then the port".
uint16_t port_of(const Bytes& invitation) {
  const std::string text(reinterpret_cast<const char*>(invitation.data()) + 16,
                         invitation.size() - 16);
  return static_cast<uint16_t>(std::atoi(text.c_str()));
}

class Gatherings : public testing::TestWithParam<bool> {};

TEST_P(Gatherings, EachProcessHasASocketToTheFirst) {
  auto gathering = Gathering::open(GetParam());
  ASSERT_TRUE(gathering) << gathering.error().message;
  const Bytes invitation = gathering->invitation();
  std::vector<std::future<Result<int>>> others;
  for (const int index : {2, 1})
    others.push_back(std::async(std::launch::async, [&invitation, index] {
      return Gathering::join(invitation, index);
    }));
  int own = -1;
  const auto members = gathering->admit(3, &own);
  ASSERT_TRUE(members) << members.error().message;
  expect_connection(own, (*members)[0].socket);
  for (const size_t index : {2, 1}) {
    const auto socket = others[2 - index].get();
    ASSERT_TRUE(socket) << socket.error().message;
    expect_connection(*socket, (*members)[index].socket);
    EXPECT_EQ((*members)[index].pid, ::getpid());
    EXPECT_FALSE((*members)[index].host.empty());
    ::close(*socket);
  }
}

INSTANTIATE_TEST_SUITE_P(OneHostAndSeveral, Gatherings, testing::Bool());

int connected_to(const Bytes& invitation) {
  const int stranger = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_of(invitation));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address),
            0);
  return stranger;
}

TEST(Gathering, StrangersAreSentAway) {
  auto gathering = Gathering::open(true);
  ASSERT_TRUE(gathering) << gathering.error().message;
  const Bytes invitation = gathering->invitation();
  const int stranger = connected_to(invitation);
  const std::string guess(200, 1);
  EXPECT_EQ(::send(stranger, guess.data(), guess.size(), 0), ssize_t{200});
  auto other = std::async(std::launch::async,
                          [&invitation] { return Gathering::join(invitation, 1); });
  int own = -1;
  const auto members = gathering->admit(2, &own);
  ASSERT_TRUE(members) << members.error().message;
  const auto socket = other.get();
  ASSERT_TRUE(socket);
  expect_connection(*socket, (*members)[1].socket);
  char byte;
  EXPECT_LE(::recv(stranger, &byte, 1, 0), 0);
  ::close(stranger);
}

// Longer in all than processes are waited for, if each were waited for.
TEST(Gathering, NobodyWaitsForStrangersWhoSayNothing) {
  auto gathering = Gathering::open(true);
  ASSERT_TRUE(gathering) << gathering.error().message;
  const Bytes invitation = gathering->invitation();
  std::vector<int> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(connected_to(invitation));
  EXPECT_EQ(::send(strangers[0], "half", 4, 0), 4);
  auto other = std::async(std::launch::async,
                          [&invitation] { return Gathering::join(invitation, 1); });
  int own = -1;
  const auto members = gathering->admit(2, &own);
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_TRUE(other.get());
  char byte;
  for (const int stranger : strangers) {
    EXPECT_LE(::recv(stranger, &byte, 1, 0), 0);
    ::close(stranger);
  }
}

TEST(Gathering, WhereNobodyListensAProcessSaysWhatItTried) {
  Bytes invitation(16, std::byte{7});
  for (const char c : std::string("1 127.0.0.1"))
    invitation.push_back(static_cast<std::byte>(c));
  const auto socket = Gathering::join(invitation, 3);
  ASSERT_FALSE(socket);
  for (const char* part : {"process 3", "127.0.0.1", "port 1"})
    EXPECT_NE(socket.error().message.find(part), std::string::npos);
}

}  // namespace
}  // namespace mpc::wireup
