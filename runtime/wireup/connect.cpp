// Chooses the kind of Wireup by what the starter of this process has left in the environment.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/wireup/backends.h"
#include "runtime/wireup/ranks_variable.h"

namespace mpc::wireup {
namespace {

Result<std::unique_ptr<Wireup>> without_launcher(const Wireup::Terms& terms) {
  const Starter starter = find_starter();
  if (starter.kind == Starter::Kind::kNone) return alone();
  if (starter.kind == Starter::Kind::kPmix) return guest(starter, terms);
  // Each of these processes would be a job of its own, and none would report it.
  return {Errc::kUnsupported, starter.is_first() ? refusal(starter) : ""};
}

std::vector<int> all_ranks() {
  std::vector<int> out;
  for (const std::vector<int>& host : ranks_in_environment())
    out.insert(out.end(), host.begin(), host.end());
  return out;
}

}  // namespace

Result<std::unique_ptr<Wireup>> Wireup::connect(const Terms& terms) {
  const char* launcher = std::getenv(kLauncherVariable);
  if (launcher == nullptr) return without_launcher(terms);
  int socket = -1, memory = -1;
  if (std::sscanf(launcher, "%d,%d", &socket, &memory) != 2 ||
      ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0 ||
      (memory >= 0 && ::fcntl(memory, F_SETFD, FD_CLOEXEC) != 0))
    return {Errc::kSystem,
            std::string(kLauncherVariable) +
                " is set, but names no launcher: only mpcrun sets it, unset it"};
  const char* interfaces = std::getenv(kInterfacesVariable);
  auto wireup =
      several({socket, memory, all_ranks(), interfaces != nullptr ? interfaces : "",
               std::getenv(kGoesOnVariable) != nullptr});
  ::unsetenv(kLauncherVariable);
  ::unsetenv(kRanksVariable);
  ::unsetenv(kInterfacesVariable);
  ::unsetenv(kGoesOnVariable);
  hide_pmix();
  return wireup;
}

void Wireup::end_by_order(int status) noexcept { ::_exit(status); }

}  // namespace mpc::wireup
