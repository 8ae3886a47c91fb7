// Lobby: slots, names and sockets are those of jobs that live. Locks of the kernel are a process's, so
// other jobs are child processes.
#include "runtime/wireup/lobby.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

namespace mpc::wireup {
namespace {

class LobbyTest : public testing::Test {
 protected:
  LobbyTest() {
    char pattern[] = "/tmp/mpcrun-cases-XXXXXX";
    root_ = ::mkdtemp(pattern);
    folder_ = root_ + "/jobs-of-this-user";
  }
  ~LobbyTest() override {
    for (const pid_t child : children_) end(child);
    (void)!std::system(("rm -rf " + root_).c_str());
  }

  // Another job, which stays until it is ended. `say`: what it does first; its result is returned.
  int other_job(uint64_t number, const std::function<int(Lobby&)>& say, pid_t* out,
                int process = 0) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      auto lobby = Lobby::enter(folder_, number, process);
      const int answer = lobby.ok() ? say(**lobby) : -2;
      (void)!::write(ends[1], &answer, sizeof answer);
      for (;;) ::pause();
    }
    children_.push_back(child);
    int answer = -1;
    (void)!::read(ends[0], &answer, sizeof answer);
    ::close(ends[0]);
    ::close(ends[1]);
    *out = child;
    return answer;
  }
  void end(pid_t child) {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (pid_t& each : children_)
      if (each == child) each = -1;
  }
  std::unique_ptr<Lobby> enter(uint64_t number) {
    auto lobby = Lobby::enter(folder_, number);
    return lobby.ok() ? std::move(*lobby) : nullptr;
  }

  std::string root_, folder_;
  std::vector<pid_t> children_;
};

int slot_of(Lobby& lobby) { return lobby.slot(); }

TEST_F(LobbyTest, JobsThatLiveHaveDifferentSlots) {
  pid_t one, two;
  const int first = other_job(11, slot_of, &one), second = other_job(12, slot_of, &two);
  const auto mine = enter(13);
  ASSERT_NE(mine, nullptr);
  EXPECT_GE(first, 1);
  EXPECT_GE(second, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(mine->slot(), first);
  EXPECT_NE(mine->slot(), second);
}

TEST_F(LobbyTest, ASlotOfAKilledJobComesAgainWithAnotherGeneration) {
  for (int i = 0; i < 2 * Lobby::kMostSlots; ++i) {
    pid_t child;
    const int slot = other_job(
        static_cast<uint64_t>(i) + 1,
        [](Lobby& lobby) {
          return lobby.slot() * 1000 + static_cast<int>(lobby.generation());
        },
        &child);
    EXPECT_EQ(slot, (i % Lobby::kMostSlots + 1) * 1000 + i / Lobby::kMostSlots);
    end(child);
  }
}

TEST_F(LobbyTest, ProcessesOfAJobFindEachOther) {
  pid_t sibling, stranger;
  const int second = other_job(15, slot_of, &sibling, 2);
  const int foreign = other_job(16, slot_of, &stranger, 2);
  const auto mine = enter(15);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->slot_of(2), second);
  EXPECT_EQ(mine->slot_of(0), mine->slot());
  EXPECT_EQ(mine->slot_of(1), 0);
  EXPECT_EQ(mine->process_in(second), 2);
  EXPECT_EQ(mine->process_in(mine->slot()), 0);
  EXPECT_EQ(mine->process_in(foreign), -1);
  EXPECT_EQ(mine->process_in(Lobby::kMostSlots), -1);
  // A name is the job's, whichever process has published it.
  pid_t publisher;
  other_job(
      15, [](Lobby& lobby) { return static_cast<int>(lobby.publish("a", "b").ok()); },
      &publisher, 3);
  const auto again = mine->publish("a", "c");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, Lobby::Published::kOwn);
  EXPECT_TRUE(mine->unpublish("a"));
}

TEST_F(LobbyTest, ANameIsThereAsLongAsItsJobIs) {
  const auto publish = [](Lobby& lobby) {
    const auto done = lobby.publish("a service/with any\nname", "mpc:1:2");
    return done.ok() && *done == Lobby::Published::kNow ? 1 : 0;
  };
  pid_t one, two;
  ASSERT_EQ(other_job(21, publish, &one), 1);
  EXPECT_EQ(other_job(22, publish, &two), 0);  // the first one has it
  const auto mine = enter(23);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->look_up("a service/with any\nname"), "mpc:1:2");
  EXPECT_EQ(mine->look_up("another one"), std::nullopt);
  EXPECT_FALSE(mine->unpublish("a service/with any\nname"));
  end(one);
  EXPECT_EQ(mine->look_up("a service/with any\nname"), std::nullopt);
  const auto again = mine->publish("a service/with any\nname", "mpc:3:4");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, Lobby::Published::kNow);
  EXPECT_EQ(mine->look_up("a service/with any\nname"), "mpc:3:4");
  EXPECT_TRUE(mine->unpublish("a service/with any\nname"));
  EXPECT_EQ(mine->look_up("a service/with any\nname"), std::nullopt);
}

TEST_F(LobbyTest, AJobIsReachedByItsSlot) {
  pid_t child;
  const int slot = other_job(
      31,
      [](Lobby& lobby) {
        auto fd = lobby.listen();
        return fd.ok() && fd->release() >= 0 ? lobby.slot() : -3;
      },
      &child);
  ASSERT_GE(slot, 1);
  const auto mine = enter(32);
  ASSERT_NE(mine, nullptr);
  struct stat status;
  ASSERT_EQ(::stat((folder_ + "/job-" + std::to_string(slot)).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  {
    const auto fd = mine->call(slot);
    ASSERT_TRUE(fd.ok()) << fd.error().message;
    EXPECT_EQ(process_of_peer(fd->get()), child);
  }
  EXPECT_FALSE(mine->call(slot + 1).ok());
  end(child);
  EXPECT_FALSE(mine->call(slot).ok());
}

TEST_F(LobbyTest, AFolderOfOthersIsRefused) {
  ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0750), 0);
  const auto open = Lobby::enter(folder_, 41);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, Errc::kPermission);
  EXPECT_NE(open.error().message.find("no rights for others"), std::string::npos);
  const std::string link = root_ + "/link";
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(folder_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(Lobby::enter(link, 42).ok());
}

}  // namespace
}  // namespace mpc::wireup
