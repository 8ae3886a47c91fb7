// Which kind of Wireup: what started this process has left that in its environment.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/wireup/backends.h"

namespace mpc::wireup {
namespace {

// Process managers of other kinds, by what they set in each of several processes.
struct Starter {
  const char* variable;
  const char* name;
};
constexpr Starter kStarters[] = {
    {"SLURM_STEP_NUM_TASKS", "srun"},
    {"PMI_SIZE", "mpiexec"},
    {"OMPI_COMM_WORLD_SIZE", "mpirun"},
};

// Each of these processes would be a job of its own, and none would say so.
Result<> refuse_other_starters() {
  for (const Starter& starter : kStarters) {
    const char* value = std::getenv(starter.variable);
    const long processes = value != nullptr ? std::strtol(value, nullptr, 10) : 0;
    if (processes < 2) continue;
    return {
        Errc::kUnsupported,
        std::string(starter.name) + " has started mpcrun " + std::to_string(processes) +
            " times (" + starter.variable + "=" + value +
            "): start it once, as 'mpcrun -n RANKS -p PROCESSES ./prog', which starts "
            "the processes itself; for " +
            std::to_string(processes) + " jobs of their own unset " + starter.variable};
  }
  return {};
}

void hide_from_ranks() {
  ::unsetenv(kLauncherVariable);
  ::unsetenv(kInterfacesVariable);
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "PMIX_", 5) == 0)
      names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace

Result<std::unique_ptr<Wireup>> Wireup::connect() {
  const char* launcher = std::getenv(kLauncherVariable);
  if (launcher == nullptr) {
    MPC_TRY(refuse_other_starters());
    return alone();
  }
  int socket = -1, memory = -1;
  if (std::sscanf(launcher, "%d,%d", &socket, &memory) != 2 ||
      ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0 ||
      (memory >= 0 && ::fcntl(memory, F_SETFD, FD_CLOEXEC) != 0))
    return {Errc::kSystem,
            std::string(kLauncherVariable) +
                " is set, but names no launcher: only mpcrun sets it, unset it"};
  const char* interfaces = std::getenv(kInterfacesVariable);
  auto wireup = several({socket, memory, interfaces != nullptr ? interfaces : ""});
  hide_from_ranks();
  return wireup;
}

}  // namespace mpc::wireup
