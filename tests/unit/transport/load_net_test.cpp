// What a process looks like after the network was loaded, and what is said when it cannot be.
#include <gtest/gtest.h>

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/settings.h"
#include "runtime/transport/load_net.h"

namespace mpc::transport::test {
namespace {

class LoadNet : public testing::Test {
 protected:
  ~LoadNet() override {
#ifdef MPC_TEST_NET_MODULE
    static_cast<void>(Settings::assign("net.module=" MPC_TEST_NET_MODULE).ok());
#endif
  }
};

TEST_F(LoadNet, SaysWhatIsMissingAndWhichPackageHelps) {
  ASSERT_TRUE(Settings::assign("net.module=/nowhere/libmpc-net-ucx.so").ok());
  const auto loaded = load_net({});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Errc::kNotFound);
  EXPECT_NE(loaded.error().message.find("/nowhere/libmpc-net-ucx.so"),
            std::string::npos);
  EXPECT_NE(loaded.error().message.find("libucx-dev"), std::string::npos);
}

TEST_F(LoadNet, SaysWhyALibraryCannotBeLoaded) {
  ASSERT_TRUE(Settings::assign("net.module=/proc/self/status").ok());
  const auto loaded = load_net({});
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("/proc/self/status"), std::string::npos);
}

#ifdef MPC_TEST_NET_MODULE

constexpr const char* kVariables[] = {"UCX_HANDLE_ERRORS",  "UCX_ERROR_SIGNALS",
                                      "UCX_DEBUG_SIGNO",    "UCX_MEM_EVENTS",
                                      "UCX_POSIX_SEG_SIZE", "UCX_SYSV_SEG_SIZE",
                                      "UCX_SELF_SEG_SIZE",  "UCX_TCP_TX_SEG_SIZE"};

std::string handlers() {
  std::string all;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    all += std::to_string(signal) + ":" +
           std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + " ";
  }
  return all;
}

// The first bytes of what UCX writes over when it wants to know of mappings.
std::string beginnings() {
  std::string all;
  for (const void* function : {reinterpret_cast<const void*>(&::mmap),
                               reinterpret_cast<const void*>(&::munmap),
                               reinterpret_cast<const void*>(&::madvise)})
    all.append(static_cast<const char*>(function), 16);
  return all;
}

TEST(LoadUcx, AMessageOfTheEagerLimitIsOnePiece) {
  for (const size_t wanted : {size_t{0}, size_t{8192}, size_t{32} << 10}) {
    auto loaded = load_net({0, 2, wanted, nullptr, nullptr, ""});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ((*loaded)->net().limits(1).eager_bytes, wanted != 0 ? wanted : 8192);
  }
}

TEST(LoadUcx, LeavesSignalsMappingsAndEnvironmentAlone) {
  for (const char* variable : kVariables) ::unsetenv(variable);
  ::setenv("UCX_DEBUG_SIGNO", "0", 1);  // the user's own stays
  const std::string handlers_before = handlers(), beginnings_before = beginnings();
  auto loaded = load_net({0, 2, 0, nullptr, nullptr, ""});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(handlers(), handlers_before);
  EXPECT_EQ(beginnings(), beginnings_before);
  for (const char* variable : kVariables) {
    const bool is_the_users = std::strcmp(variable, "UCX_DEBUG_SIGNO") == 0;
    EXPECT_EQ(std::getenv(variable) != nullptr, is_the_users) << variable;
  }
  EXPECT_FALSE((*loaded)->address().empty());
  loaded->reset();
  EXPECT_EQ(handlers(), handlers_before);
}

// The signal masks of all threads but the first, as /proc has them.
std::vector<std::string> masks_of_threads() {
  std::vector<std::string> masks;
  DIR* const threads = ::opendir("/proc/self/task");
  const std::string own = std::to_string(::getpid());
  while (const dirent* entry = ::readdir(threads)) {
    if (entry->d_name[0] == '.' || own == entry->d_name) continue;
    std::ifstream status(std::string("/proc/self/task/") + entry->d_name + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) masks.push_back(line.substr(8));
  }
  ::closedir(threads);
  return masks;
}

TEST(LoadUcx, ItsThreadsTakeNoSignals) {
  std::thread([] {
  }).join();  // a sanitizer has a thread of its own from the first one on
  const size_t before = masks_of_threads().size();
  auto loaded = load_net({0, 2, 0, nullptr, nullptr, ""});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const std::vector<std::string> masks = masks_of_threads();
  EXPECT_LE(masks.size(), before + 1);
  for (size_t i = before; i < masks.size(); ++i) {
    const uint64_t blocked = std::stoull(masks[i], nullptr, 16);
    for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGHUP})
      EXPECT_TRUE(blocked >> (signal - 1) & 1) << signal;
  }
}

TEST(LoadUcx, SaysWhatUcxSaysIfThereIsNoSuchNetwork) {
  ::setenv("UCX_TLS", "carrier_pigeon", 1);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto loaded = load_net({0, 2, 0, nullptr, nullptr, ""});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("UCX"), std::string::npos);
  ::unsetenv("UCX_TLS");
}

#endif

}  // namespace
}  // namespace mpc::transport::test
