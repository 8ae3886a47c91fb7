#include "runtime/wireup/starter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

namespace mpc::wireup {
namespace {

class Starters : public testing::Test {
 protected:
  Starters() { forget(); }
  ~Starters() override { forget(); }
  static void forget() {
    for (const char* name :
         {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_JOB_ID", "SLURM_STEP_ID",
          "PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
          "MPI_LOCALNRANKS", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_PORT",
          "OMPI_MCA_orte_ess_num_procs", "MPC_STEP_TAKEN"})
      ::unsetenv(name);
  }
  static void set(
      std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
};

using Kind = Starter::Kind;

TEST_F(Starters, AProcessThatIsStartedOnceHasNone) {
  EXPECT_EQ(find_starter().kind, Kind::kNone);
  set({{"SLURM_STEP_NUM_TASKS", "1"}, {"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "0"}});
  EXPECT_EQ(find_starter().kind, Kind::kNone);
}

TEST_F(Starters, WithPmixTheProcessesFindEachOther) {
  set({{"SLURM_STEP_NUM_TASKS", "4"},
       {"SLURM_PROCID", "2"},
       {"PMIX_NAMESPACE", "a"},
       {"PMIX_RANK", "2"}});
  const Starter starter = find_starter();
  EXPECT_EQ(starter.kind, Kind::kPmix);
  EXPECT_EQ(starter.processes, 4);
  EXPECT_EQ(starter.index, 2);
  EXPECT_TRUE(starter.is_slurm());
}

TEST_F(Starters, MpirunWithinAnAllocationIsMpirun) {
  set({{"SLURM_STEP_NUM_TASKS", "2"},  // of the daemons
       {"OMPI_COMM_WORLD_SIZE", "8"},
       {"OMPI_COMM_WORLD_RANK", "3"},
       {"PMIX_NAMESPACE", "a"},
       {"PMIX_RANK", "3"}});
  EXPECT_EQ(find_starter().processes, 8);
  EXPECT_STREQ(find_starter().name, "mpirun");
}

TEST_F(Starters, ALauncherThatSaysNoNumberIsAskedByPmix) {
  set({{"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(find_starter().kind, Kind::kPmix);
  EXPECT_EQ(find_starter().processes, 0);
  EXPECT_EQ(find_starter().index, 1);
}

TEST_F(Starters, PmiOfSrunIsNotHydra) {
  set({{"SLURM_STEP_NUM_TASKS", "4"},
       {"SLURM_PROCID", "1"},
       {"PMI_SIZE", "4"},
       {"PMI_FD", "3"}});
  EXPECT_EQ(find_starter().kind, Kind::kOther);
  const std::string text = refusal(find_starter());
  for (const char* part : {"srun", "4 times", "srun --mpi=pmix -n 4 mpcrun -n RANKS"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  set({{"MPI_LOCALNRANKS", "4"}});
  EXPECT_STREQ(find_starter().name, "mpiexec");
}

TEST_F(Starters, TheRefusalOfAProgramSaysWhatStartsIt) {
  set({{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}, {"PMI_FD", "3"}});
  const std::string text = refusal(find_starter(), "./ring");
  for (const char* part :
       {"mpiexec has started ./ring 4 times", "'mpcrun -n 4 ./ring'"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Left behind in a user's environment, or set by mpcrun for its ranks.
TEST_F(Starters, NumbersAloneAreNoLauncher) {
  set({{"PMI_SIZE", "4"},
       {"PMI_RANK", "1"},
       {"MPI_LOCALNRANKS", "4"},
       {"OMPI_COMM_WORLD_SIZE", "4"},
       {"OMPI_COMM_WORLD_RANK", "1"}});
  EXPECT_EQ(find_starter().kind, Kind::kNone);
  EXPECT_TRUE(find_starter().is_first());
  for (const char* sign : {"PMI_FD", "PMI_PORT", "OMPI_MCA_orte_ess_num_procs"}) {
    set({{sign, "3"}});
    EXPECT_EQ(find_starter().kind, Kind::kOther) << sign;
    EXPECT_EQ(find_starter().index, 1);
    ::unsetenv(sign);
  }
}

TEST_F(Starters, ChildrenOfARankAreNotTakenForProcessesOfTheJob) {
  set({{"SLURM_STEP_NUM_TASKS", "4"},
       {"SLURM_JOB_ID", "7"},
       {"SLURM_STEP_ID", "0"},
       {"PMIX_NAMESPACE", "a"},
       {"PMIX_RANK", "1"}});
  hide_starter();
  EXPECT_EQ(std::getenv("PMIX_NAMESPACE"), nullptr);
  EXPECT_EQ(find_starter().kind, Kind::kNone);
  set({{"SLURM_STEP_ID", "1"}});  // a rank has called srun
  EXPECT_EQ(find_starter().kind, Kind::kOther);
}

}  // namespace
}  // namespace mpc::wireup
