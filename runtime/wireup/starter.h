#pragma once
// Starter: who has started this process several times, if that is no launcher of ours.
//
// Role:      tells by the environment whether srun, mpirun or mpiexec did, whether they offer PMIx,
//            and what to write instead where they do not.
// Users:     runtime/wireup/connect.cpp, runtime/job/one_of_many.cpp, tools/mpcrun.
// Threads:   any, as long as nobody changes the environment.
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
  const char* variable = "";  // that says how many there are; "": none does
  int processes = 0;          // 0: not known
  int index = 0;              // of this process
  bool is_slurm() const noexcept { return std::string_view(name) == "srun"; }
  // What goes wrong in all alike one of them says.
  bool is_first() const noexcept { return index == 0; }
};

Starter find_starter();
// "srun has started mpcrun 4 times without PMIx ...": for Kind::kOther. `program`: what is started,
// unless it is mpcrun itself.
std::string refusal(const Starter& starter, std::string_view program = {});
// From now on this process's children are nobody's: neither PMIx's nor one of several.
void hide_starter();
// The first half of it: they do not take what PMIx has told this process for theirs.
void hide_pmix();

}  // namespace mpc::wireup
