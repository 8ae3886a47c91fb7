#include "runtime/job/inherited.h"

#include <sys/resource.h>

#include <algorithm>

namespace mpc::job::inherited {
namespace {

// Programs that close "all" descriptors up to the limit must not take minutes: this is what Linux
// allows by default (fs.nr_open), used where the hard limit is unlimited.
constexpr rlim_t kMostFiles = rlim_t{1} << 20;
constexpr int kTaken[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};  // see SignalThread

bool g_is_taken = false;
sigset_t g_mask;
bool g_ignored[64];
struct rlimit g_files;

}  // namespace

void take() noexcept {
  ::pthread_sigmask(SIG_BLOCK, nullptr, &g_mask);
  for (const int signal : kTaken) {
    struct sigaction action {};
    g_ignored[signal] =
        ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }
  g_is_taken = ::getrlimit(RLIMIT_NOFILE, &g_files) == 0;
  if (!g_is_taken) return;
  struct rlimit raised = g_files;
  raised.rlim_cur = std::max(g_files.rlim_cur, std::min(g_files.rlim_max, kMostFiles));
  ::setrlimit(RLIMIT_NOFILE, &raised);
}

bool is_ignored(int signal) noexcept { return g_ignored[signal]; }

void unblock_taken(sigset_t* mask) noexcept {
  if (!g_is_taken) return;
  for (const int signal : kTaken)
    if (::sigismember(&g_mask, signal) == 0) ::sigdelset(mask, signal);
}

void restore_in_child() noexcept {
  if (!g_is_taken) return;
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  unblock_taken(&mask);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::setrlimit(RLIMIT_NOFILE, &g_files);
}

}  // namespace mpc::job::inherited
