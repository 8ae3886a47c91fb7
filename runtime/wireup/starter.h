#pragma once
// Starter: which launcher, if it is not ours, has started this process several times.
//
// Role:      finds out from the environment whether srun, mpirun or mpiexec did, whether they offer
//            PMIx, and what to type instead if they do not.
// Users:     runtime/wireup/connect.cpp, runtime/job/one_of_many.cpp, tools/mpcrun.
// Threads:   any, while no other thread changes the environment.
// See also:  docs/cluster.md (under Slurm, under Open MPI's mpirun).

#include <string>
#include <string_view>

namespace mpc::wireup {

struct Starter {
  enum class Kind {
    kNone,   // it runs once, or is the child of a rank
    kPmix,   // several times, and they can find each other
    kOther,  // several times, and each would be a job of its own
  };
  Kind kind = Kind::kNone;
  const char* name = "";      // "srun"
  const char* variable = "";  // the variable with their number; "": there is none
  int processes = 0;          // 0: not known
  int index = 0;              // of this process
  bool is_slurm() const noexcept { return std::string_view(name) == "srun"; }
  // If all fail alike only this process reports it.
  bool is_first() const noexcept { return index == 0; }
};

Starter find_starter();
// "srun has started mpcrun 4 times without PMIx ...": for Kind::kOther. `program`: what was
// started, unless it is mpcrun itself.
std::string refusal(const Starter& starter, std::string_view program = {});
// From now on children of this process do not see the starter: neither PMIx nor one of several.
void hide_starter();
// The first half of it: children do not use what PMIx has told this process.
void hide_pmix();

}  // namespace mpc::wireup
