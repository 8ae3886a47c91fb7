#include "runtime/wireup/starter.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

namespace mpc::wireup {
namespace {

// Left for children: all processes of this job step have been accounted for.
constexpr char kTakenVariable[] = "MPC_STEP_TAKEN";

// The variables that launchers set in each of several processes. A launcher that another one of
// these starts comes before it. The numbers alone are no sign of a launcher: our own ranks have
// them (runtime/job/rank_variables.h), and users' scripts set them.
struct Known {
  const char* name;
  const char* size;
  const char* index;
  const char* signs[3];  // it sets one of them; none: the size is the sign
};
constexpr Known kKnown[] = {
    {"mpirun",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_RANK",
     {"PMIX_NAMESPACE", "OMPI_MCA_orte_ess_num_procs"}},
    // By a descriptor or an address, or (PALS) without PMI.
    {"mpiexec", "PMI_SIZE", "PMI_RANK", {"PMI_FD", "PMI_PORT", "PALS_RANKID"}},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", {}},
};

bool has_sign(const Known& known) {
  return known.signs[0] == nullptr ||
         std::any_of(std::begin(known.signs), std::end(known.signs),
                     [](const char* name) {
                       return name != nullptr && std::getenv(name) != nullptr;
                     });
}

int number(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? static_cast<int>(std::strtol(value, nullptr, 10)) : 0;
}

bool has_pmix() {
  return std::getenv("PMIX_NAMESPACE") != nullptr &&
         std::getenv("PMIX_RANK") != nullptr;
}

// Slurm's step; only "step" for other launchers, which nobody nests.
std::string step() {
  std::string out = "step";
  for (const char* variable : {"SLURM_JOB_ID", "SLURM_STEP_ID"})
    if (const char* value = std::getenv(variable)) out.append(".").append(value);
  return out;
}

bool is_taken() {
  const char* taken = std::getenv(kTakenVariable);
  return taken != nullptr && step() == taken && !has_pmix();
}

const Known* find_known() {
  for (const Known& known : kKnown) {
    if (number(known.size) == 0 || !has_sign(known)) continue;
    // srun --mpi=pmi2 sets PMI's variables, too; Hydra sets more.
    const bool is_pmi_of_srun = std::strcmp(known.size, "PMI_SIZE") == 0 &&
                                std::getenv("SLURM_STEP_NUM_TASKS") != nullptr &&
                                std::getenv("MPI_LOCALNRANKS") == nullptr;
    if (!is_pmi_of_srun) return &known;
  }
  return nullptr;
}

std::string how_to(const Starter& starter, std::string_view program) {
  const std::string count = std::to_string(starter.processes);
  const bool is_mpcrun = program.empty();
  const std::string command =
      is_mpcrun ? "mpcrun -n RANKS ./prog" : std::string(program);
  const std::string here = is_mpcrun ? "mpcrun -n RANKS -p " + count + " ./prog"
                                     : "mpcrun -n " + count + " " + command;
  if (starter.is_slurm())
    return "write 'srun --mpi=pmix -n " + count + " " + command + "', or '" + here +
           "' without srun";
  return "write '" + here + "' without " + starter.name +
         ", or start it by 'srun --mpi=pmix' or Open MPI's mpirun";
}

}  // namespace

Starter find_starter() {
  Starter starter;
  if (is_taken()) return starter;
  const Known* known = find_known();
  if (known != nullptr) {
    starter.name = known->name;
    starter.variable = known->size;
    starter.processes = number(known->size);
    starter.index = number(known->index);
  } else if (has_pmix()) {
    starter.name = "a PMIx launcher";
    starter.index = number("PMIX_RANK");
  }
  if (starter.processes == 1) return starter;
  if (has_pmix())
    starter.kind = Starter::Kind::kPmix;
  else if (known != nullptr)
    starter.kind = Starter::Kind::kOther;
  return starter;
}

std::string refusal(const Starter& starter, std::string_view program) {
  const std::string count = std::to_string(starter.processes);
  return std::string(starter.name) + " has started " +
         std::string(program.empty() ? "mpcrun" : program) + " " + count +
         " times without PMIx, so these do not find each other (" + starter.variable +
         "=" + count + "): " + how_to(starter, program) + "; for " + count +
         " jobs of their own unset " + starter.variable;
}

void hide_starter() {
  ::setenv(kTakenVariable, step().c_str(), 1);
  hide_pmix();
}

void hide_pmix() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "PMIX_", 5) == 0)
      names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

}  // namespace mpc::wireup
