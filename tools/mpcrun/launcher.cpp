#include "tools/mpcrun/launcher.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/job/spawned_words.h"
#include "runtime/wireup/record.h"
#include "runtime/wireup/starter.h"
#include "tools/mpcrun/hosted.h"
#include "tools/mpcrun/paths.h"

namespace mpc::tools {
namespace {

constexpr char kLauncher[] = "/mpc/mpclaunch";

}  // namespace

void tell_hosts(const launch::Plan& plan) {
  if (std::getenv(wireup::kLauncherVariable) != nullptr) return;
  if (plan.hosts.size() < 2) {
    ::unsetenv(job::kJobHostsVariable);
    return;
  }
  char own[256] = "localhost";
  ::gethostname(own, sizeof own - 1);
  std::string names;
  for (const launch::HostPlan& host : plan.hosts) {
    const bool has_bad_name = host.name.empty() || host.name == "localhost";
    names += (names.empty() ? "" : ",") + (has_bad_name ? std::string(own) : host.name);
  }
  ::setenv(job::kJobHostsVariable, names.c_str(), 1);
}

bool needs_launcher(const Command& command) {
  return (command.plan.processes() > 1 || command.plan.has_other_hosts() ||
          command.is_hosted) &&
         std::getenv(wireup::kLauncherVariable) == nullptr &&
         wireup::find_starter().kind == wireup::Starter::Kind::kNone;
}

bool refuses_hosts(const launch::Plan& plan) {
  if (!plan.has_other_hosts() || std::getenv(wireup::kLauncherVariable) != nullptr)
    return false;
  const wireup::Starter starter = wireup::find_starter();
  if (starter.kind == wireup::Starter::Kind::kNone) return false;
  if (starter.is_first())
    std::fprintf(
        stderr,
        "mpcrun: --hosts: %s has started mpcrun, and has chosen the hosts; leave "
        "one of the two out\n",
        starter.name);
  return true;
}

int become_launcher(int argc, char** argv, const Command& command) {
  const std::string path = beside_library(kLauncher);
  std::string exports;
  for (const std::string& name : command.exports) exports += name + ",";
  std::string own[] = {own_path(), launch::encode(command.plan), command.agent, exports,
                       std::to_string(command.spec.timeout_seconds)};
  std::vector<char*> words = {argv[0]};  // ps and top still show mpcrun
  for (std::string& word : own) words.push_back(word.data());
  words.insert(words.end(), argv, argv + argc);
  words.push_back(nullptr);
  wireup::hide_pmix();  // that of the launcher that once started mpcrun
  mark_hosted(command);
  // The launcher reads no options; this one is for it, too.
  for (const std::string& setting : command.spec.settings)
    if (setting.starts_with("job.signal_grace_ms=")) set_environment_of(setting);
  ::execv(path.c_str(), words.data());
  if (errno == ENOENT) {
    std::fprintf(
        stderr,
        "mpcrun: a job of several processes (-p, --ranks-per-process, --hosts) needs "
        "PMIx, and "
        "this mpcrun was built without it: install the package libpmix-dev, then "
        "build and install mpcrun again\n");
  } else {
    std::fprintf(stderr, "mpcrun: %s: %s\n", path.c_str(), std::strerror(errno));
  }
  return job::kExitLaunch;
}

}  // namespace mpc::tools
