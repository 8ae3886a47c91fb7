#include "tools/mpcinfo/calibrate.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/datatype/abi.h"
#include "runtime/datatype/reduce.h"
#include "sim/placement.h"
#include "tools/mpcinfo/spin_barrier.h"

namespace mpc::tools {

namespace {

constexpr size_t kLarge = 2 << 20;  // the paper's buffer
constexpr size_t kSmall = 1024;
// More than a first cache, less than a second one.
constexpr size_t kOtherData = 128 << 10;
constexpr int kRounds = 15, kPasses = 3;

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

// Runs fn(index) on a thread for each of these cores. Returns: false if a thread could not be
// bound.
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

// The lower quartile: disturbances only lengthen rounds.
double low(std::vector<double> values) {
  const auto at = values.begin() + static_cast<long>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

template <class Work>
double time_us(Work&& work) {
  const double begin = now_us();
  work();
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the work in its place
  return now_us() - begin;
}

// Whole pages, as large buffers in programs have them; touched.
class Buffer {
 public:
  explicit Buffer(size_t bytes)
      : bytes_(bytes),
        data_(static_cast<double*>(
                  std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)),
              std::free) {
    write(1);
  }
  double* data() noexcept { return data_.get(); }
  // Stores single numbers, as programs do: a memset of this size would bypass the caches.
  void write(int value) noexcept {
    std::fill_n(data(), bytes_ / sizeof(double), value);
  }

 private:
  static constexpr size_t kPage = 4096;
  size_t bytes_;
  std::unique_ptr<double, void (*)(void*)> data_;
};

// Lets a core go on to other data: what it wrote before moves from its first-level cache to the
// second, where another core finds it sooner.
void turn_to(Buffer& other) {
  double total = 0;
  for (size_t i = 0; i < kOtherData / sizeof(double); ++i) total += other.data()[i];
  volatile double seen = total;
  static_cast<void>(seen);
}

// The operation that reductions use.
void sum(Buffer& left, Buffer& right, Buffer& out, size_t bytes) {
  static const dt::Reduce3Fn kernel = dt::reduction3(dt::abi::kSum, dt::abi::kDouble);
  kernel(left.data(), right.data(), out.data(),
         static_cast<dt::Count>(bytes / sizeof(double)));
}

// Time in which core `reader` copies what core `writer`, which stays awake, has just written.
Result<double> copy_time_us(const topo::Machine& machine, int reader, int writer,
                            size_t bytes) {
  Buffer source(bytes), target(bytes);
  std::vector<double> times;
  SpinBarrier turn(2);
  const bool is_bound = on_cores(machine, {reader, writer}, [&](size_t i) {
    for (int round = 0; round < kRounds; ++round) {
      (i == 1 ? source : target).write(round);
      turn.arrive_and_wait();
      if (i == 0)
        times.push_back(
            time_us([&] { std::memcpy(target.data(), source.data(), bytes); }));
      turn.arrive_and_wait();
    }
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  return low(times);
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

// All these cores copy buffers of their own. Returns: GB/s in total.
Result<double> bandwidth_of(const topo::Machine& machine,
                            const std::vector<int>& cores) {
  constexpr int kCopies = 20;
  std::vector<double> times(cores.size());
  SpinBarrier start(static_cast<int>(cores.size()));
  const bool is_bound = on_cores(machine, cores, [&](size_t i) {
    Buffer source(kLarge), target(kLarge);
    start.arrive_and_wait();
    times[i] = time_us([&] {
      for (int copy = 0; copy < kCopies; ++copy) {
        std::memcpy(target.data(), source.data(), kLarge);
        std::swap(source, target);
      }
    });
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  double total = 0;
  for (double time : times)
    total += kCopies * static_cast<double>(kLarge) * 1e-3 / time;
  return total;
}

// For core 0's NUMA node: the best of several tries, as disturbances only lower it.
Result<double> numa_bandwidth(const topo::Machine& machine) {
  std::vector<int> cores;
  for (int i = 0; i < machine.core_count(); ++i)
    if (machine.core(i).numa == machine.core(0).numa) cores.push_back(i);
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    auto bandwidth = bandwidth_of(machine, cores);
    if (!bandwidth) return bandwidth.error();
    best = std::max(best, *bandwidth);
  }
  return best;
}

double reduce_bandwidth() {
  Buffer left(kLarge), right(kLarge), out(kLarge);
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round)
    times.push_back(time_us([&] { sum(left, right, out, kLarge); }));
  return static_cast<double>(kLarge) * 1e-3 / low(times);
}

struct CacheTimes {
  double copy_us = 0, reduce_us = 0;
};

// One core copies and sums buffers that the writer, itself or another core, has just written. If it
// is another core that one goes on to other data and stays awake, as the core of a rank that
// computes.
Result<CacheTimes> cache_times(const topo::Machine& machine, int worker, int writer,
                               size_t bytes) {
  Buffer left(bytes), right(bytes), out(bytes), others(kOtherData);
  std::vector<double> copies, sums;
  const bool is_other = writer != worker;
  SpinBarrier turn(is_other ? 2 : 1);
  std::vector<int> cores{worker};
  if (is_other) cores.push_back(writer);
  const bool is_bound = on_cores(machine, cores, [&](size_t i) {
    const bool works = i == 0, writes = i + 1 == cores.size();
    for (int round = 0; round < 2 * kRounds; ++round)
      for (const bool is_copy : {true, false}) {
        if (writes && !is_copy) left.write(round);
        if (writes) right.write(round);
        if (writes) out.write(round);
        if (writes && is_other) turn_to(others);
        turn.arrive_and_wait();
        if (works && is_copy)
          copies.push_back(
              time_us([&] { std::memcpy(out.data(), right.data(), bytes); }));
        if (works && !is_copy)
          sums.push_back(time_us([&] { sum(left, right, out, bytes); }));
        turn.arrive_and_wait();
      }
  });
  if (!is_bound) return {Errc::kSystem, "cannot bind a thread to a core"};
  return CacheTimes{low(copies), low(sums)};
}

Result<nbc::CacheCost> cache_cost_of(const topo::Machine& machine, int worker,
                                     int other, size_t bytes) {
  auto near = cache_times(machine, worker, worker, bytes);
  if (!near) return near.error();
  auto far = cache_times(machine, worker, other, bytes);
  if (!far) return far.error();
  constexpr double kLeastUs = 1e-3;  // the clock's step
  return nbc::CacheCost{static_cast<int64_t>(bytes), std::max(kLeastUs, near->copy_us),
                        std::max(kLeastUs, far->copy_us),
                        std::max(kLeastUs, near->reduce_us),
                        std::max(kLeastUs, far->reduce_us)};
}

// The shortest times of several passes through all sizes, each with pages of its own: a disturbance
// of one pass may last longer than the measurement of one size.
Result<std::vector<nbc::CacheCost>> cache_costs(const topo::Machine& machine,
                                                int worker, int other) {
  constexpr size_t kSizes[] = {size_t{16} << 10, size_t{64} << 10, size_t{256} << 10,
                               kLarge};
  std::vector<nbc::CacheCost> costs;
  for (int pass = 0; pass < kPasses; ++pass)
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      auto cost = cache_cost_of(machine, worker, other, kSizes[i]);
      if (!cost) return cost.error();
      if (pass == 0)
        costs.push_back(*cost);
      else
        costs[i] = nbc::shortest(costs[i], *cost);
    }
  return costs;
}

// Half a round trip of a word between two cores: how soon one sees a store of the other. Bounded:
// if the two are in fact one core, a turn costs a scheduling period.
Result<double> handover_us(const topo::Machine& machine, int core_a, int core_b) {
  constexpr int kTurns = 2000;
  constexpr double kMostUs = 300'000;
  std::atomic<int> turn{0};
  double time = 0;
  int done = 0;
  const bool is_bound = on_cores(machine, {core_a, core_b}, [&](size_t i) {
    const double begin = now_us();
    const int me = static_cast<int>(i);
    for (int n = me; n < kTurns; n += 2) {
      // acquire and release: each pairs with the other thread's, so that the turns are in order.
      for (int spins = 0; turn.load(std::memory_order_acquire) != n; ++spins) {
        if (turn.load(std::memory_order_acquire) < 0) return;
        if (spins % 1024 == 1023 && now_us() - begin > kMostUs) {
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
  return time > 0 ? time / kTurns : kMostUs / std::max(1, done);
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

double measure_wake_us() {
  constexpr int kWakes = 40;
  constexpr auto kAsleep = std::chrono::milliseconds(1);
  std::atomic<int> turn{0};
  std::atomic<double> woken_us{0};
  std::thread sleeper([&] {
    for (int i = 0; i < kWakes; ++i) {
      turn.wait(2 * i);
      woken_us.store(now_us(), std::memory_order_relaxed);
      turn.store(2 * i + 2, std::memory_order_release);  // pairs with the acquire below
    }
  });
  std::vector<double> times;
  for (int i = 0; i < kWakes; ++i) {
    std::this_thread::sleep_for(kAsleep);
    const double begin = now_us();
    turn.store(2 * i + 1, std::memory_order_release);
    turn.notify_one();
    while (turn.load(std::memory_order_acquire) != 2 * i + 2) std::this_thread::yield();
    times.push_back(woken_us.load(std::memory_order_relaxed) - begin);
  }
  sleeper.join();
  std::nth_element(times.begin(), times.begin() + kWakes / 2, times.end());
  return times[kWakes / 2];
}

}  // namespace mpc::tools
