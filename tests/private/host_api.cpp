// The part of libmpi_abi that these tests need beside the layers below MPI.
#include "runtime/job/job.h"

#define TEST_EXPORT extern "C" __attribute__((visibility("default")))

TEST_EXPORT int test_rank() {
  const mpc::job::Rank* rank = mpc::job::current_rank();
  return rank != nullptr ? rank->world_rank : 0;
}
TEST_EXPORT void test_yield() { mpc::sched::Execution::self().yield(); }
