#include "tools/mpcinfo/calibrate.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "sim/placement.h"

namespace mpc::tools {

namespace {

constexpr size_t kLarge = 2 << 20;  // the paper's buffer
constexpr size_t kSmall = 1024;
constexpr int kRounds = 15;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool bind_to(int os_pu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(os_pu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// Runs fn(index) on a thread for each of these cores. Returns: false if one could not be bound.
bool on_cores(const topo::Machine& machine, const std::vector<int>& cores,
              const std::function<void(size_t)>& fn) {
  std::atomic<bool> is_bound{true};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cores.size(); ++i)
    threads.emplace_back([&, i] {
      // relaxed: join() orders it.
      if (!bind_to(machine.core(cores[i]).os_pu))
        is_bound.store(false, std::memory_order_relaxed);
      fn(i);
    });
  for (std::thread& thread : threads) thread.join();
  return is_bound.load(std::memory_order_relaxed);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(),
                   values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// The first core copies what the second one has just written.
// The median leaves out page faults and interruptions.
Result<double> copy_time_us(const topo::Machine& machine, int reader, int writer,
                            size_t bytes) {
  std::vector<char> source(bytes), target(bytes);
  std::vector<double> times;
  std::barrier turn(2);
  const bool is_bound = on_cores(machine, {reader, writer}, [&](size_t i) {
    for (int round = 0; round < kRounds; ++round) {
      if (i == 1) std::memset(source.data(), round, bytes);
      if (i == 0) std::memset(target.data(), round, bytes);
      turn.arrive_and_wait();
      if (i == 0) {
        const double begin = now_us();
        std::memcpy(target.data(), source.data(), bytes);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // the copy is not moved
        times.push_back(now_us() - begin);
      }
      turn.arrive_and_wait();
    }
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  return median(times);
}

Result<nbc::CopyCost> copy_cost(const topo::Machine& machine, int reader, int writer) {
  auto small = copy_time_us(machine, reader, writer, kSmall);
  if (!small) return small.error();
  auto large = copy_time_us(machine, reader, writer, kLarge);
  if (!large) return large.error();
  nbc::CopyCost cost;
  cost.latency_us = *small;
  cost.bandwidth_gbs =
      static_cast<double>(kLarge - kSmall) * 1e-3 / std::max(1e-3, *large - *small);
  return cost;
}

// All cores of core 0's NUMA node copy buffers of their own. Returns: GB/s together.
Result<double> numa_bandwidth(const topo::Machine& machine) {
  std::vector<int> cores;
  for (int i = 0; i < machine.core_count(); ++i)
    if (machine.core(i).numa == machine.core(0).numa) cores.push_back(i);
  constexpr int kCopies = 30;
  std::vector<double> times(cores.size());
  std::barrier start(static_cast<std::ptrdiff_t>(cores.size()));
  const bool is_bound = on_cores(machine, cores, [&](size_t i) {
    std::vector<char> source(kLarge, 1), target(kLarge);
    start.arrive_and_wait();
    const double begin = now_us();
    for (int copy = 0; copy < kCopies; ++copy) {
      std::memcpy(target.data(), source.data(), kLarge);
      std::swap(source, target);
    }
    times[i] = now_us() - begin;
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  double total = 0;
  for (double time : times)
    total += kCopies * static_cast<double>(kLarge) * 1e-3 / time;
  return total;
}

void add_to(std::vector<double>& inout, const std::vector<double>& in) {
  for (size_t i = 0; i < in.size(); ++i) inout[i] += in[i];
}

double reduce_bandwidth() {
  std::vector<double> in(kLarge / sizeof(double), 1), inout(in.size(), 2);
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_us();
    add_to(inout, in);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // rounds stay apart
    times.push_back(now_us() - begin);
  }
  return static_cast<double>(kLarge) * 1e-3 / median(times);
}

// The lower quartile: some rounds are interrupted, none is too fast.
double low(std::vector<double> values) {
  const auto at = values.begin() + static_cast<long>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

struct CacheTimes {
  double copy_us = 0, reduce_us = 0;
};

// One core copies and sums in buffers that the writer, itself or another core, has just written.
Result<CacheTimes> cache_times(const topo::Machine& machine, int worker, int writer,
                               size_t bytes) {
  std::vector<double> from(bytes / sizeof(double)), to(from.size());
  std::vector<double> copies, sums;
  const bool is_other = writer != worker;
  std::barrier turn(is_other ? 2 : 1);
  const auto write = [&](int round) {
    std::fill(from.begin(), from.end(), round);
    std::fill(to.begin(), to.end(), round);
  };
  const auto time_us = [&](auto&& work) {
    turn.arrive_and_wait();
    const double begin = now_us();
    work();
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the work is not moved
    const double took = now_us() - begin;
    turn.arrive_and_wait();
    return took;
  };
  std::vector<int> cores{worker};
  if (is_other) cores.push_back(writer);
  const bool is_bound = on_cores(machine, cores, [&](size_t i) {
    for (int round = 0; round < 2 * kRounds; ++round)
      for (std::vector<double>* times : {&copies, &sums}) {
        if (i + 1 == cores.size()) write(round);
        if (i == 1) {
          turn.arrive_and_wait();
          turn.arrive_and_wait();
        } else if (times == &copies) {
          times->push_back(
              time_us([&] { std::memcpy(to.data(), from.data(), bytes); }));
        } else {
          times->push_back(time_us([&] { add_to(to, from); }));
        }
      }
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  return CacheTimes{low(copies), low(sums)};
}

Result<std::vector<nbc::CacheCost>> cache_costs(const topo::Machine& machine,
                                                int worker, int other) {
  std::vector<nbc::CacheCost> costs;
  for (const size_t bytes :
       {size_t{16} << 10, size_t{64} << 10, size_t{256} << 10, kLarge}) {
    auto near = cache_times(machine, worker, worker, bytes);
    if (!near) return near.error();
    auto far = cache_times(machine, worker, other, bytes);
    if (!far) return far.error();
    constexpr double kLeastUs = 1e-3;  // the clock's step
    costs.push_back({static_cast<int64_t>(bytes), std::max(kLeastUs, near->copy_us),
                     std::max(kLeastUs, far->copy_us),
                     std::max(kLeastUs, near->reduce_us),
                     std::max(kLeastUs, far->reduce_us)});
  }
  return costs;
}

// Half a round trip of a word between two cores: how soon one notices what the other did.
// Bounded: if the two share a core in truth, a turn costs a scheduling period.
Result<double> handover_us(const topo::Machine& machine, int core_a, int core_b) {
  constexpr int kTurns = 2000;
  constexpr double kMost_us = 300'000;
  std::atomic<int> turn{0};
  double time = 0;
  int done = 0;
  const bool is_bound = on_cores(machine, {core_a, core_b}, [&](size_t i) {
    const double begin = now_us();
    const int me = static_cast<int>(i);
    for (int n = me; n < kTurns; n += 2) {
      // acquire and release: each other's partner, so that the turns are in order.
      for (int spins = 0; turn.load(std::memory_order_acquire) != n; ++spins) {
        if (turn.load(std::memory_order_acquire) < 0) return;
        if (spins % 1024 == 1023 && now_us() - begin > kMost_us) {
          turn.store(-1, std::memory_order_release);  // pairs with the acquire above
          return;
        }
      }
      if (i == 0) done = n + 1;
      turn.store(n + 1, std::memory_order_release);  // pairs with the acquire above
    }
    if (i == 1) time = now_us() - begin;
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  return time > 0 ? time / kTurns : kMost_us / std::max(1, done);
}

}  // namespace

Result<nbc::Measured> calibrate(const topo::Machine& machine) {
  nbc::Measured measured;
  int other = -1;
  for (int core = machine.core_count() - 1; core > 0; --core) {
    const auto reach = static_cast<size_t>(sim::reach_between(machine, 0, core));
    if (measured.copy[reach].bandwidth_gbs > 0) continue;
    auto cost = copy_cost(machine, 0, core);
    if (!cost) return cost.error();
    measured.copy[reach] = *cost;
    other = core;
  }
  if (other > 0) {
    auto handover = handover_us(machine, 0, other);
    if (!handover) return handover.error();
    measured.handover_us = *handover;
    auto caches = cache_costs(machine, 0, other);
    if (!caches) return caches.error();
    measured.caches = std::move(*caches);
  }
  auto bandwidth = numa_bandwidth(machine);
  if (!bandwidth) return bandwidth.error();
  measured.numa_gbs = *bandwidth;
  measured.reduce_gbs = reduce_bandwidth();
  return measured;
}

}  // namespace mpc::tools
