// Blocking collectives through the engine, without MPI, over ranks on one or two workers.
//
// Usage: bench_collectives [--benchmark_filter=...]; the time is that of one collective: the
// process's CPU time with one worker (whatever else the machine does), wall time with two.
// best_us is the time of the best ten in a row, a figure that holds when others use the cores as
// well.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "nbc/algorithms/cache.h"
#include "nbc/engine/engine.h"
#include "tests/unit/message/world.h"

namespace {

using namespace mpc;

void add_doubles(void*, const void* in, void* inout, dt::Count n) {
  const auto* a = static_cast<const double*>(in);
  auto* b = static_cast<double*>(inout);
  for (dt::Count i = 0; i < n; ++i) b[i] += a[i];
}

double now(int workers) {
  timespec t;
  clock_gettime(workers == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Does `calls` collectives on every rank; returns the seconds from the first to the last, as rank 0
// sees them.
double time_of(nbc::Coll coll, int workers, int ranks, int64_t count, int calls,
               const char* algorithm, double* best) {
  msg::test::World world(ranks, workers, [=](int r) { return r * workers / ranks; });
  std::vector<int> world_ranks, places;
  for (int r = 0; r < ranks; ++r) {
    world_ranks.push_back(r);
    places.push_back(r * workers / ranks);
  }
  const msg::test::Why why{"a benchmark"};
  const dt::Datatype* type = dt::predefined(dt::abi::kDouble);
  double seconds = 0;
  world.run([&](job::Rank& rank) {
    const auto n = static_cast<size_t>(count) *
                   (coll == nbc::Coll::kAlltoall || coll == nbc::Coll::kAllgather
                        ? static_cast<size_t>(ranks)
                        : 1);
    std::vector<double> in(n, 1.0), out(n);
    nbc::Shape shape;
    shape.coll = coll;
    shape.rank = rank.world_rank;
    shape.size = ranks;
    shape.send_count = shape.recv_count = count;
    shape.send_type = shape.recv_type = nbc::TypeShape(*type);
    shape.place_of_rank = places;
    void* buffers[] = {in.data(), out.data()};
    const dt::Datatype* types[] = {type, type};
    nbc::Binding binding;
    binding.buffers = buffers;
    binding.types = types;
    binding.reduction = {add_doubles, nullptr, false, true};
    binding.world_ranks = world_ranks;
    binding.my_rank = rank.world_rank;
    binding.context = 5;
    nbc::ScheduleCache cache;
    std::shared_ptr<const nbc::Schedule> fixed;
    if (*algorithm != 0)
      fixed = nbc::build(shape, *nbc::find_algorithm(coll, algorithm)).value();
    uint32_t sequence = 0;
    auto once = [&] {
      const auto schedule = fixed ? fixed : cache.get(shape).value();
      binding.tag_base = nbc::tag_base(sequence++);
      nbc::run(rank, *schedule, binding, why);
    };
    for (int i = 0; i < 10; ++i) once();
    constexpr int kBatch = 10;
    const double begin = now(workers);
    double last = begin;
    for (int i = 0; i < calls; ++i) {
      once();
      if (rank.world_rank != 0 || i % kBatch != kBatch - 1) continue;
      const double time = now(workers);
      *best = std::min(*best, (time - last) / kBatch);
      last = time;
    }
    if (rank.world_rank == 0) seconds = (now(workers) - begin) / calls;
    nbc::forget_rank(rank);
  });
  return seconds;
}

void run_case(benchmark::State& state, nbc::Coll coll, const char* algorithm) {
  const int workers = static_cast<int>(state.range(0));
  const int ranks = static_cast<int>(state.range(1));
  const int64_t count = state.range(2);
  const int calls = count > 100 ? 30 : 300;
  double best = 1e9;
  for (auto _ : state)
    state.SetIterationTime(
        time_of(coll, workers, ranks, count, calls, algorithm, &best));
  state.counters["best_us"] = best * 1e6;
}

#define COLLECTIVE(name, coll, algorithm)                       \
  BENCHMARK_CAPTURE(run_case, name, nbc::Coll::coll, algorithm) \
      ->UseManualTime()                                         \
      ->Unit(benchmark::kMicrosecond)                           \
      ->Iterations(5)                                           \
      ->ArgNames({"workers", "ranks", "count"})                 \
      ->ArgsProduct

COLLECTIVE(barrier, kBarrier, "")({{1, 2}, {2, 16, 64}, {1}});
COLLECTIVE(barrier_linear, kBarrier, "linear")({{1, 2}, {16, 64}, {1}});
COLLECTIVE(barrier_dissemination, kBarrier, "dissemination")({{1, 2}, {16, 64}, {1}});
COLLECTIVE(allreduce, kAllreduce, "")({{1, 2}, {2, 16, 64}, {1}});
COLLECTIVE(allreduce_doubling, kAllreduce, "recursive_doubling")
({{1, 2}, {16, 64}, {1}});
COLLECTIVE(allreduce_64k_tree, kAllreduce, "tree")({{1, 2}, {16}, {8192}});
COLLECTIVE(allreduce_64k_halving, kAllreduce, "halving")({{1, 2}, {16}, {8192}});
COLLECTIVE(allreduce_1m_tree, kAllreduce, "tree")({{1, 2}, {16}, {131072}});
COLLECTIVE(allreduce_1m_halving, kAllreduce, "halving")({{1, 2}, {16}, {131072}});
COLLECTIVE(allreduce_1m_ring, kAllreduce, "ring")({{1, 2}, {16}, {131072}});
COLLECTIVE(alltoall_linear, kAlltoall, "linear")({{1, 2}, {16, 64}, {1, 512}});
COLLECTIVE(alltoall_bruck, kAlltoall, "bruck")({{1, 2}, {16, 64}, {1, 512}});
COLLECTIVE(bcast_1m_tree, kBcast, "tree")({{1, 2}, {16}, {131072}});
COLLECTIVE(bcast_1m_chain, kBcast, "chain")({{1, 2}, {16}, {131072}});
COLLECTIVE(bcast_1m_tree_segmented, kBcast, "tree_segmented")({{1, 2}, {16}, {131072}});
COLLECTIVE(bcast_1m_scatter_ring, kBcast, "scatter_ring")({{1, 2}, {16}, {131072}});
COLLECTIVE(allgather_gather_bcast, kAllgather, "gather_bcast")
({{1, 2}, {16}, {1, 512}});
COLLECTIVE(allgather_bruck, kAllgather, "bruck")({{1, 2}, {16}, {1, 512}});
COLLECTIVE(allgather_ring, kAllgather, "ring")({{1, 2}, {16}, {1, 512}});

}  // namespace

BENCHMARK_MAIN();
