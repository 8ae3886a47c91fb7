#include "tools/mpcrun/spawned.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/job/spawned_words.h"
#include "runtime/wireup/starter.h"

namespace mpc::tools {

std::variant<Command, Finished> read_command(int argc, char** argv) {
  if (!job::is_spawned(argc, argv)) return parse_options(argc, argv);
  auto spec = job::read_spawned(argc, argv);
  if (!spec)
    return Finished{job::ExitStatus::kExitUsage, "",
                    fmt::format("mpcrun: {}\n", spec.error().message)};
  // The launcher and the allocation are the program's, not this job's.
  wireup::hide_starter();
  ::unsetenv("SLURM_JOB_NUM_NODES");
  Command command;
  command.spec = std::move(*spec);
  return command;
}

}  // namespace mpc::tools
