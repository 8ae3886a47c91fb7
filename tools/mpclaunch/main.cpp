// mpclaunch: starts the processes of a job, and is its mpcrun from then on. mpcrun becomes it for
// -p and --ranks-per-process; nobody else starts it.
//
//   mpclaunch MPCRUN PROCESSES RANKS TIMEOUT COMMAND-LINE-OF-MPCRUN...
//
// All processes run that command line once more and know by their environment which they are: see
// runtime/wireup.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "tools/mpclaunch/head.h"
#include "tools/mpclaunch/pmix_server.h"

namespace mpc::launch {
namespace {

constexpr int kOwnWords = 5;

// The signals that the head takes instead of their usual effect. What is ignored (nohup) stays so.
sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) {
    struct sigaction action {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (signal == SIGCHLD && is_ignored) ::signal(SIGCHLD, SIG_DFL);
    if (!is_ignored || signal == SIGCHLD || signal == SIGQUIT) sigaddset(&set, signal);
  }
  return set;
}

Result<> start_all(Head& head, const StartOfChild& how, int processes, int ranks) {
  MPC_TRY(PmixServer::start(processes));
  for (int p = 0; p < processes; ++p) {
    auto environment = PmixServer::environment_of(p);
    MPC_TRY(environment);
    Child child;
    child.index = p;
    child.first_rank = static_cast<int>(static_cast<long long>(ranks) * p / processes);
    child.last_rank =
        static_cast<int>(static_cast<long long>(ranks) * (p + 1) / processes) - 1;
    head.children().push_back(child);
    MPC_TRY(start(head.children().back(), how, *environment));
  }
  return {};
}

int launch(int argc, char** argv) {
  const int processes = std::atoi(argv[2]), ranks = std::atoi(argv[3]);
  StartOfChild how;
  how.program = argv[1];
  how.arguments.assign(argv + kOwnWords, argv + argc);
  how.arguments.push_back(nullptr);
  how.console_memory = job::console::make_shared_memory();
  const sigset_t signals = taken_signals();
  ::sigprocmask(SIG_BLOCK, &signals, &how.signals);  // before any thread is there
  Head head(std::atof(argv[4]), signals);
  if (auto started = start_all(head, how, processes, ranks); !started)
    head.give_up("mpcrun: " + started.error().message);
  return head.run();
}

}  // namespace
}  // namespace mpc::launch

int main(int argc, char** argv) {
  if (argc <= mpc::launch::kOwnWords) {
    std::fprintf(stderr, "mpclaunch: mpcrun -p starts it: mpcrun -n 8 -p 2 ./prog\n");
    return mpc::job::kExitUsage;
  }
  const int status = mpc::launch::launch(argc, argv);
  ::_exit(status);  // the PMIx server has nothing to put away
}
