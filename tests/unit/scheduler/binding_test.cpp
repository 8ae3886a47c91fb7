#include "scheduler/binding.h"

#include <gtest/gtest.h>

#include <thread>

#include "topology/machine.h"

namespace mpc::sched {
namespace {

cpu_set_t affinity_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

bool same(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b) != 0; }

// Each kernel thread of the test leaves its affinity behind, so it is a thread of its own.
template <typename Body>
void in_thread(Body body) {
  std::thread(body).join();
}

TEST(Bindings, AWorkersThreadRunsOnItsCoreThenOnTheShareThenWhereTheRankWants) {
  in_thread([] {
    auto machine = std::move(topo::Machine::detect()).value();
    std::vector<int> cores;
    for (int i = 0; i < machine->core_count(); ++i) cores.push_back(i);
    const cpu_set_t start = cpus_of(*machine, {0}), all = cpus_of(*machine, cores);
    Bindings bindings;
    bindings.add(start);
    bindings.share_out(*machine, {0}, {cores});
    EXPECT_TRUE(same(bindings.share_of(0), all));
    EXPECT_EQ(bindings.has_several_cores(0), machine->core_count() > 1);
    bindings.follow(0);
    EXPECT_TRUE(same(affinity_here(), start));
    EXPECT_FALSE(bindings.is_wide(0));
    bindings.widen(0);
    EXPECT_TRUE(same(affinity_here(), all));
    EXPECT_TRUE(bindings.is_wide(0));
    bindings.set(0, start);
    EXPECT_TRUE(same(affinity_here(), start));
  });
}

TEST(Bindings, AThreadThatHasGoneOnToAnotherWorkerStaysThere) {
  in_thread([] {
    auto machine = std::move(topo::Machine::detect()).value();
    const int last = machine->core_count() - 1;
    const cpu_set_t first = cpus_of(*machine, {0}), second = cpus_of(*machine, {last});
    Bindings bindings;
    bindings.add(first);
    bindings.add(second);
    bindings.follow(0);
    bindings.follow(1);
    EXPECT_TRUE(same(affinity_here(), second));
    bindings.set(0, cpus_of(*machine, {0, last}));
    EXPECT_TRUE(same(affinity_here(), second));
  });
}

TEST(Bindings, ACoreIsTakenWhenTheThreadsOfItsShareNeedIt) {
  auto machine = std::move(topo::Machine::by_name("skylake48")).value();
  Bindings bindings;
  for (int i = 0; i < 3; ++i) bindings.add(cpus_of(*machine, {2 * i}));
  // Worker 0 has ranks and three cores; worker 1's core is one of these, worker 2's is not.
  bindings.share_out(*machine, {0, 2, 4}, {{0, 1, 2}});
  EXPECT_FALSE(bindings.is_taken(1));
  bindings.count_threads(0, 1);
  EXPECT_FALSE(bindings.is_taken(1));  // a core is left
  bindings.count_threads(0, 1);
  EXPECT_TRUE(bindings.is_taken(1));
  EXPECT_FALSE(bindings.is_taken(0));
  EXPECT_FALSE(bindings.is_taken(2));
  bindings.count_threads(0, -1);
  EXPECT_FALSE(bindings.is_taken(1));
}

TEST(Units, AreAllHardwareThreadsOfTheCores) {
  auto knl = std::move(topo::Machine::by_name("knl64")).value();
  EXPECT_EQ(knl->units(2), (std::vector<int>{8, 9, 10, 11}));
  const cpu_set_t set = cpus_of(*knl, {0, 2});
  EXPECT_EQ(CPU_COUNT(&set), 8);
}

}  // namespace
}  // namespace mpc::sched
