// mpcrun: the command that runs MPI programs. Options become a JobSpec; libmpi_abi does the rest.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/mpcrun/options.h"

namespace {

// What glibc must know before main: sched_getcpu must ask the kernel (restartable sequences
// belong to a kernel thread, ranks move between them), and libraries with initial-exec TLS
// need room for one copy per rank. See docs/design/0002-identity.md.
constexpr char kTunables[] =
    "glibc.pthread.rseq=0:glibc.rtld.optional_static_tls=200000";
constexpr char kMarker[] = "MPC_TUNED";

void restart_with_tunables(char** argv) {
  if (std::getenv(kMarker) != nullptr) {
    ::unsetenv(kMarker);
    return;
  }
  std::string tunables = kTunables;
  if (const char* present = std::getenv("GLIBC_TUNABLES")) {
    tunables = std::string(present) + ":" + tunables;
  }
  ::setenv("GLIBC_TUNABLES", tunables.c_str(), 1);
  ::setenv(kMarker, "1", 1);
  ::execv("/proc/self/exe", argv);
  std::fprintf(stderr, "mpcrun: cannot execute itself: %s\n", std::strerror(errno));
  std::exit(mpc::job::kExitLaunch);
}

}  // namespace

int main(int argc, char** argv) {
  auto parsed = mpc::tools::parse_options(argc, argv);
  if (const auto* finished = std::get_if<mpc::tools::Finished>(&parsed)) {
    std::fputs(finished->out.c_str(), stdout);
    std::fputs(finished->err.c_str(), stderr);
    return finished->exit_status;
  }
  restart_with_tunables(argv);
  return mpc_run_job(std::get<mpc::job::JobSpec>(parsed));
}
