#include "tools/mpclaunch/process_tree.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace mpc::launch {
namespace {

// Each thread has children of its own.
void add_children(pid_t process, std::vector<pid_t>& out) {
  const std::string folder = "/proc/" + std::to_string(process) + "/task";
  DIR* const threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* thread = ::readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const std::string path = folder + "/" + thread->d_name + "/children";
    std::FILE* const children = std::fopen(path.c_str(), "re");
    if (children == nullptr) continue;
    for (int child = 0; std::fscanf(children, "%d", &child) == 1;) out.push_back(child);
    std::fclose(children);
  }
  ::closedir(threads);
}

}  // namespace

void adopt_orphans() noexcept { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> processes_below() {
  std::vector<pid_t> all;
  add_children(::getpid(), all);
  for (size_t i = 0; i < all.size(); ++i) add_children(all[i], all);
  return all;
}

// Source: proc(5), /proc/PID/status: the line SigCgt is a mask.
bool has_handler(pid_t process, int signal) {
  const std::string path = "/proc/" + std::to_string(process) + "/status";
  std::FILE* const status = std::fopen(path.c_str(), "re");
  if (status == nullptr) return false;
  unsigned long long caught = 0;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::sscanf(line, "SigCgt: %llx", &caught) == 1) break;
  std::fclose(status);
  return (caught >> (signal - 1) & 1) != 0;
}

void signal_all_below(int signal, pid_t spared) {
  for (const pid_t process : processes_below())
    if (process != spared) ::kill(process, signal);
}

// A process that is started during the search is soon an orphan, and found the next time.
void end_all_below() {
  for (;;) {
    signal_all_below(SIGKILL);
    pid_t ended;
    do {
      ended = ::waitpid(-1, nullptr, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0) return;  // there are none
  }
}

}  // namespace mpc::launch
