// Door: who has its key is in the lobby as a process of this host is, as long as it is connected.
#include "runtime/wireup/door.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "runtime/wireup/lobby.h"
#include "runtime/wireup/tcp.h"
#include "tests/unit/base/no_more_files.h"

namespace mpc::wireup {
namespace {

class DoorTest : public testing::Test {
 protected:
  // One door for all tests of this process, and one folder.
  static void SetUpTestSuite() {
    char pattern[] = "/tmp/mpcrun-cases-XXXXXX";
    s_root = ::mkdtemp(pattern);
  }
  static void TearDownTestSuite() { (void)!std::system(("rm -rf " + s_root).c_str()); }

  DoorTest() : folder_(s_root + "/lobby") {
    auto door = Door::open("");
    door_ = door.ok() ? *door : nullptr;
    if (door_ != nullptr) door_->serve(folder_);
    far_ = {folder_, host_identity() ^ 1, {}};
    if (door_ != nullptr) far_.door = door_->address();
    if (door_ != nullptr)
      far_.door.addresses.insert(far_.door.addresses.begin(), "127.0.0.1");
  }

  std::unique_ptr<Lobby> enter(uint64_t job, int process = 0) {
    auto lobby = Lobby::enter(far_, job, process, {4711, make_secret(), {"127.0.0.1"}});
    return lobby.ok() ? std::move(*lobby) : nullptr;
  }

  static inline std::string s_root;
  const std::string folder_;
  Door* door_ = nullptr;
  Place far_;
};

TEST_F(DoorTest, AVisitorIsInTheLobbyAsOthersAre) {
  ASSERT_NE(door_, nullptr);
  const auto own = Lobby::enter(folder_, 51);
  ASSERT_TRUE(own.ok()) << own.error().message;
  const auto first = enter(52, 3), second = enter(52, 4);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first->slot(), second->slot());
  EXPECT_NE(first->slot(), (*own)->slot());
  EXPECT_EQ(first->slot_of(4), second->slot());
  EXPECT_EQ(first->process_in(second->slot()), 4);
  EXPECT_EQ(first->process_in((*own)->slot()), -1);
  EXPECT_EQ((*own)->process_in(first->slot()), -1);
  const auto published = first->publish("a name\nof two lines", "mpc:1:2");
  ASSERT_TRUE(published.ok());
  EXPECT_EQ(*published, Lobby::Published::kNow);
  EXPECT_EQ((*own)->look_up("a name\nof two lines"), "mpc:1:2");
  EXPECT_EQ(second->look_up("a name\nof two lines"), "mpc:1:2");
  EXPECT_EQ(second->look_up("another"), std::nullopt);
  EXPECT_TRUE(second->unpublish("a name\nof two lines"));  // it is of the same job
  EXPECT_EQ((*own)->look_up("a name\nof two lines"), std::nullopt);
}

TEST_F(DoorTest, ASlotIsFreeWhenItsVisitorHasGone) {
  auto visitor = enter(53);
  ASSERT_NE(visitor, nullptr);
  const int slot = visitor->slot();
  const auto folder = LobbyFolder::open(folder_);
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE((*folder)->is_there(slot, 53));
  visitor.reset();
  for (const uint64_t end_ns = now_ns() + 10'000 * kMs;
       (*folder)->is_there(slot, 53) && now_ns() < end_ns;)
    ::usleep(1000);
  EXPECT_FALSE((*folder)->is_there(slot, 53));
  EXPECT_FALSE((*folder)->door_of(slot));
}

TEST_F(DoorTest, OnlyWhoKnowsTheKeyComesIn) {
  Place wrong = far_;
  wrong.door.key[5] ^= 1;
  const auto lobby = Lobby::enter(wrong, 54, 0, {4711, make_secret(), {"127.0.0.1"}});
  ASSERT_FALSE(lobby.ok());
  EXPECT_NE(lobby.error().message.find("nobody there accepts the key"),
            std::string::npos);
  EXPECT_FALSE(Lobby::enter(far_, 54, 0, {}).ok());  // it has no door itself
}

TEST_F(DoorTest, StrangersKeepNobodyOut) {
  std::vector<OwnedFd> strangers;  // they say nothing
  sockaddr_in door{};
  door.sin_family = AF_INET;
  door.sin_port = htons(static_cast<uint16_t>(far_.door.port));
  door.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 300; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(strangers.back().get(), reinterpret_cast<sockaddr*>(&door),
                        sizeof door),
              0);
  }
  EXPECT_NE(enter(55), nullptr);
}

TEST_F(DoorTest, RestsWithoutDescriptors) {
  const auto before = enter(60);  // it reaches the door as ever
  ASSERT_NE(before, nullptr);
  const int slot = before->slot();
  EXPECT_EQ(before->slot_of(0), slot);
  const OwnedFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in door{};
  door.sin_family = AF_INET;
  door.sin_port = htons(static_cast<uint16_t>(far_.door.port));
  door.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  {
    const test::NoMoreFiles none;
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&door), sizeof door),
              0);
    EXPECT_LT(test::cpu_ms_of_a_second(), test::kRestingMs);
    EXPECT_EQ(before->slot_of(0), slot);
  }
  Challenge challenge;  // it is accepted after all
  EXPECT_TRUE(receive_by(client.get(), challenge.data(), challenge.size(),
                         now_ns() + 10'000 * kMs));
  EXPECT_NE(enter(61), nullptr);
}

TEST_F(DoorTest, HandsOverWhoWantsToTalk) {
  std::atomic<int> taken{-1};
  std::string said;
  door_->on_talk([&](int fd, std::span<const std::byte> hello) {
    said.assign(reinterpret_cast<const char*>(hello.data()), hello.size());
    taken.store(fd, std::memory_order_release);
  });
  const auto own = Lobby::enter({folder_, 0, {}}, 56, 0, far_.door);
  ASSERT_TRUE(own.ok());
  const auto visitor = enter(57);
  ASSERT_NE(visitor, nullptr);
  const auto fd = visitor->call((*own)->slot());  // by the door whose key it was told
  ASSERT_TRUE(fd.ok()) << fd.error().message;
  const std::string hello = pack({"hello"});
  ASSERT_TRUE(send_by(fd->get(), hello.data(), hello.size(), now_ns() + 1000 * kMs));
  for (const uint64_t end_ns = now_ns() + 10'000 * kMs;
       taken.load(std::memory_order_acquire) < 0 && now_ns() < end_ns;)
    ::usleep(1000);
  ASSERT_GE(taken.load(), 0);
  EXPECT_EQ(unpack(said), Words{"hello"});
  ::close(taken.load());
  door_->on_talk(nullptr);
  EXPECT_FALSE(visitor->call(Lobby::kMostSlots).ok());
}

}  // namespace
}  // namespace mpc::wireup
