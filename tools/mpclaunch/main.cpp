// mpclaunch: starts the processes of a job, and acts as its mpcrun from then on. mpcrun becomes
// mpclaunch for
// jobs of several processes; on other hosts it is the daemon that an agent starts.
//
//   mpclaunch MPCRUN PLAN AGENT EXPORTS TIMEOUT COMMAND-LINE-OF-MPCRUN...
//   mpclaunch --daemon
//   mpclaunch --shim RANK RANKS LABEL COMMAND...
//
// All processes run that command line once more and learn from their environment which one they
// are: see runtime/wireup. If ranks are hosted, each process becomes the shim of one rank.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/settings.h"
#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "runtime/wireup/record.h"
#include "tools/mpclaunch/daemon.h"
#include "tools/mpclaunch/head.h"
#include "tools/mpclaunch/shim.h"

namespace mpc::launch {
namespace {

constexpr int kOwnWords = 6, kWordsOfShim = 5;

// The signals that the head handles instead of their usual effect. Ignored signals (nohup) stay
// ignored.
sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (signal == SIGCHLD && is_ignored) ::signal(SIGCHLD, SIG_DFL);
    if (!is_ignored || signal == SIGCHLD || signal == SIGQUIT) sigaddset(&set, signal);
  }
  return set;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

// Blocks SIGPIPE: a write reports the error by its result, also in PMIx's server, whose clients
// may die at any time. Caller: before any thread exists, and after the mask for the processes was
// read.
void block_broken_pipe() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &broken_pipe, nullptr);
}

int launch(int argc, char** argv) {
  Launch launch;
  launch.program = argv[1];
  launch.plan = decode_plan(argv[2]);
  launch.agent = argv[3];
  launch.exports = split_names(argv[4]);
  launch.timeout_seconds = std::atof(argv[5]);
  launch.goes_on = std::getenv(wireup::kGoesOnVariable) != nullptr;
  launch.arguments.assign(argv + kOwnWords, argv + argc);
  const sigset_t signals = taken_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);  // before any thread exists
  block_broken_pipe();
  // Never destroyed: the writer of its output may wait for a reader.
  auto* const head = new Head(std::move(launch), signals, before);
  return head->run();
}

int serve() {
  auto connection = connect_to_head();
  if (!connection) {
    std::fprintf(stderr, "%s\n", connection.error().message.c_str());
    return job::kExitLaunch;
  }
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  block_broken_pipe();
  Daemon daemon(*connection, signals, before);
  daemon.run();
}

// "NAME=VALUE", one on each line. By the command line: the command's own children are to know nothing of it.
void take_output_settings(const char* text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    [[maybe_unused]] const auto assigned = Settings::assign(line);
}

int be_shim(int argc, char** argv) {
  ShimSpec spec;
  int console_memory = -1;
  const char* launcher = std::getenv(wireup::kLauncherVariable);
  if (launcher == nullptr ||
      std::sscanf(launcher, "%d,%d", &spec.launcher, &console_memory) != 2)
    return job::kExitUsage;
  ::unsetenv(wireup::kLauncherVariable);
  ::fcntl(spec.launcher, F_SETFD, FD_CLOEXEC);
  if (console_memory >= 0) ::fcntl(console_memory, F_SETFD, FD_CLOEXEC);
  job::console::share(console_memory);
  spec.rank = std::atoi(argv[2]);
  spec.ranks = std::atoi(argv[3]);
  take_output_settings(argv[4]);
  spec.words.assign(argv + kWordsOfShim, argv + argc);
  spec.words.push_back(nullptr);
  const sigset_t signals = taken_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  auto* const shim =
      new Shim(std::move(spec), signals, before);  // never destroyed: see launch()
  return shim->run();
}

// mpcrun has checked them.
void read_settings() {
  [[maybe_unused]] const auto read = Settings::load_environment();
}

}  // namespace
}  // namespace mpc::launch

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--daemon") == 0) return mpc::launch::serve();
  if (argc > mpc::launch::kWordsOfShim && std::strcmp(argv[1], "--shim") == 0) {
    mpc::launch::read_settings();
    ::_exit(mpc::launch::be_shim(argc, argv));
  }
  if (argc <= mpc::launch::kOwnWords) {
    std::fprintf(stderr, "mpclaunch: mpcrun -p starts it: mpcrun -n 8 -p 2 ./prog\n");
    return mpc::job::kExitUsage;
  }
  mpc::launch::read_settings();
  const int status = mpc::launch::launch(argc, argv);
  ::_exit(status);  // the PMIx server has nothing to clean up
}
