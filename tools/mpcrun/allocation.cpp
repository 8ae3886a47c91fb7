#include "tools/mpcrun/allocation.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/wireup/record.h"
#include "tools/mpcrun/paths.h"

namespace mpc::tools {
namespace {

// The "step" in which salloc runs the user's shell, if it runs it on a node.
constexpr char kInteractiveStep[] = "4294967290";

int nodes() {
  const char* text = std::getenv("SLURM_JOB_NUM_NODES");
  return text != nullptr ? std::atoi(text) : 0;
}

bool is_in_step() {
  const char* step = std::getenv("SLURM_STEP_ID");
  return step != nullptr && std::strcmp(step, kInteractiveStep) != 0;
}

int ranks_of(const job::JobSpec& spec) {
  int ranks = 0;
  for (const job::AppSpec& app : spec.apps) ranks += app.ranks;
  return ranks;
}

}  // namespace

bool needs_srun(const job::JobSpec& spec) {
  return nodes() > 1 && !is_in_step() && ranks_of(spec) > 1 && spec.emulate.empty() &&
         std::getenv(wireup::kLauncherVariable) == nullptr;
}

int become_srun(int argc, char** argv, const job::JobSpec& spec) {
  const int processes =
      spec.processes > 1 ? spec.processes : std::min(nodes(), ranks_of(spec));
  std::string own[] = {"srun",
                       "--mpi=pmix",
                       "--quiet",
                       "--nodes=" + std::to_string(std::min(nodes(), processes)),
                       "--ntasks=" + std::to_string(processes),
                       "--distribution=block",
                       own_path()};
  std::vector<char*> words;
  for (std::string& word : own) words.push_back(word.data());
  words.insert(words.end(), argv + 1, argv + argc);
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  std::fprintf(stderr,
               "mpcrun: srun, which would start it on the %d nodes of this allocation: "
               "%s; for one node only unset SLURM_JOB_NUM_NODES\n",
               nodes(), std::strerror(errno));
  return job::kExitLaunch;
}

}  // namespace mpc::tools
