// mpcrun: the command that runs MPI programs. Options become a JobSpec; libmpi_abi does the rest.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "runtime/job/rank_output.h"
#include "runtime/wireup/hosted.h"
#include "runtime/wireup/record.h"
#include "runtime/wireup/starter.h"
#include "tools/mpcrun/allocation.h"
#include "tools/mpcrun/heap.h"
#include "tools/mpcrun/hosted.h"
#include "tools/mpcrun/launcher.h"
#include "tools/mpcrun/paths.h"
#include "tools/mpcrun/preload.h"
#include "tools/mpcrun/scripts.h"
#include "tools/mpcrun/spawned.h"

namespace {

// Settings that glibc must know before main: sched_getcpu must ask the kernel (restartable
// sequences belong to a kernel thread, and ranks move between these), and libraries with
// initial-exec TLS
// need room for one copy per rank. See docs/design/0002-identity.md.
constexpr char kTunables[] =
    "glibc.pthread.rseq=0:glibc.rtld.optional_static_tls=200000";
constexpr char kMarker[] = "MPC_TUNED";
constexpr char kPreload[] = "MPC_PRELOAD";  // from the first start to the second

// If mpcrun is started without standard input, output or error (by cron, some CI), the next file
// that is opened would get that number, and be read or written in its place.
void open_missing_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int null = ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    if (null >= 0 && null != fd) ::close(null);  // the lowest free number is fd
  }
}

// The dynamic linker must not load libraries of which each rank gets a copy.
void hold_back_preloads() {
  const char* list = std::getenv("LD_PRELOAD");
  if (list == nullptr) return;
  const mpc::tools::Preload preload = mpc::tools::split_preload(list);
  if (preload.own.empty()) return;
  std::string own;
  for (const std::string& path : preload.own) own += (own.empty() ? "" : ":") + path;
  ::setenv(kPreload, own.c_str(), 1);
  ::setenv("LD_PRELOAD", preload.rest.c_str(), 1);
}

// Gives each program the preloaded libraries as if by -x, unless it has been given others.
void take_preloads(mpc::job::JobSpec& spec) {
  const char* own = std::getenv(kPreload);
  if (own == nullptr) return;
  for (mpc::job::AppSpec& app : spec.apps) {
    const bool has_others =
        std::any_of(app.environment.begin(), app.environment.end(),
                    [](const auto& entry) { return entry.first == "LD_PRELOAD"; });
    if (!has_others) app.environment.emplace_back("LD_PRELOAD", own);
  }
  ::unsetenv(kPreload);
}

// A program's own environment says where its libraries are: by -x LD_LIBRARY_PATH=..., or by a
// script such as libtool's. The loader searches for them in this process, in the same folders for
// all programs.
void take_library_paths(const mpc::job::JobSpec& spec) {
  std::vector<std::string> lists;
  for (const mpc::job::AppSpec& app : spec.apps)
    for (const auto& [name, value] : app.environment)
      if (name == "LD_LIBRARY_PATH" && !value.empty() &&
          std::find(lists.begin(), lists.end(), value) == lists.end())
        lists.push_back(value);
  std::string all;
  for (const std::string& list : lists) all += (all.empty() ? "" : ":") + list;
  if (!all.empty()) ::setenv("LD_LIBRARY_PATH", all.c_str(), 1);
}

void restart_with_tunables(char** argv, const mpc::job::JobSpec& spec) {
  if (std::getenv(kMarker) != nullptr) {
    ::unsetenv(kMarker);
    mpc::tools::hide_heap();
    return;
  }
  hold_back_preloads();
  mpc::tools::preload_heap(spec);
  std::string tunables = kTunables;
  if (const char* present = std::getenv("GLIBC_TUNABLES")) {
    tunables = std::string(present) + ":" + tunables;
  }
  ::setenv("GLIBC_TUNABLES", tunables.c_str(), 1);
  ::setenv(kMarker, "1", 1);
  // By its path, so that ps and top show "mpcrun", not "exe".
  if (const std::string path = mpc::tools::own_path(); !path.empty())
    ::execv(path.c_str(), argv);
  ::execv("/proc/self/exe", argv);
  std::fprintf(stderr, "mpcrun: cannot execute itself: %s\n", std::strerror(errno));
  std::exit(mpc::job::kExitLaunch);
}

void take_input_away() {
  const int null = ::open("/dev/null", O_RDONLY);
  if (null > STDIN_FILENO) {
    ::dup2(null, STDIN_FILENO);
    ::close(null);
  }
}

// For what is done once: it is the first start of the first process.
bool is_first_start() {
  return std::getenv(kMarker) == nullptr &&
         std::getenv(mpc::wireup::kLauncherVariable) == nullptr &&
         mpc::wireup::find_starter().is_first();
}

mpc::Result<> empty_output_files(const mpc::job::JobSpec& spec) {
  int ranks = 0;
  for (const mpc::job::AppSpec& app : spec.apps) ranks += app.ranks;
  for (const std::string& setting : spec.settings)
    if (mpc::job::is_output_setting(setting)) MPC_TRY(mpc::Settings::assign(setting));
  return spec.show_only ? mpc::Result<>{} : mpc::job::empty_shared_output_files(ranks);
}

void print_warnings(const mpc::tools::Command& command) {
  for (const std::string& warning : command.warnings)
    std::fprintf(stderr, "mpcrun: %s\n", warning.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  open_missing_streams();
  if (mpc::wireup::has_shim())
    mpc::wireup::hide_shim();  // a job inside a hosted rank is independent
  auto parsed = mpc::tools::read_command(argc, argv);
  if (const auto* finished = std::get_if<mpc::tools::Finished>(&parsed)) {
    // If it is started several times, only the first process prints.
    if (!mpc::wireup::find_starter().is_first()) return finished->exit_status;
    std::fputs(finished->err.c_str(), stderr);
    // fputs() already writes text that is longer than the buffer.
    if (std::fputs(finished->out.c_str(), stdout) >= 0 && std::fflush(stdout) == 0)
      return finished->exit_status;
    std::fprintf(stderr, "mpcrun: standard output: %s\n", std::strerror(errno));
    return mpc::job::kExitOutput;
  }
  auto& command = std::get<mpc::tools::Command>(parsed);
  mpc::job::JobSpec& spec = command.spec;
  if (is_first_start()) {
    print_warnings(command);
    if (auto emptied = empty_output_files(spec); !emptied) {
      std::fprintf(stderr, "mpcrun: %s\n", emptied.error().message.c_str());
      return mpc::job::kExitUsage;
    }
  }
  if (command.has_no_input) take_input_away();
  // For jobs that the program spawns; they are told of the hosts in the same way.
  if (!command.agent.empty())
    ::setenv(mpc::tools::kAgentVariable, command.agent.c_str(), 1);
  mpc::tools::tell_hosts(command.plan);
  // If the user names hosts, these are used, even in an allocation of Slurm.
  if (!command.plan.has_other_hosts() && mpc::tools::needs_srun(spec))
    return mpc::tools::become_srun(argc, argv, spec);
  if (mpc::tools::refuses_hosts(command.plan)) return mpc::job::kExitLaunch;
  if (mpc::tools::is_part_of_hosted()) return mpc::tools::become_shim(command);
  if (command.is_hosted && !mpc::tools::can_be_hosted(command))
    return mpc::job::kExitNotExecutable;
  if (command.is_hosted && spec.show_only) return mpc::tools::show_hosted(command);
  if (mpc::tools::needs_launcher(command))
    return mpc::tools::become_launcher(argc, argv, command);
  restart_with_tunables(argv, spec);
  take_preloads(spec);
  if (auto asked = mpc::tools::ask_scripts(spec); !asked) {
    std::fprintf(stderr, "mpcrun: %s\n", asked.error().message.c_str());
    return mpc::job::kExitNotExecutable;
  }
  take_library_paths(spec);
  ::unsetenv(mpc::job::kSpawnerVariable);  // the ranks' programs need not see it
  return mpc_run_job(spec);
}
