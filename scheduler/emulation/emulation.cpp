#include "scheduler/emulation/emulation.h"

#include <sys/prctl.h>

#include <algorithm>

#include "base/counter.h"
#include "base/settings.h"
#include "scheduler/execution.h"

namespace mpc::sched {
namespace {

IntSetting stretch_setting(
    "emulate.stretch", 20, "",
    "mpcrun --emulate: how many times longer everything takes than on "
    "the emulated machine",
    1, 1'000'000);
IntSetting scale_setting(
    "emulate.scale", 1, "",
    "mpcrun --emulate: each byte of a message or reduction stands for so "
    "many, so that copying them for real costs little",
    1, 1 << 20);

Counter work_counter{"emulate.work", "Pieces of work that took emulated time"};
Counter late_counter{"emulate.late_ns",
                     "Real time that they took too long, in ns, all together"};

constexpr int kMaxNodes = 64;

EmulatedCosts g_costs;
double g_stretch = 1;
int64_t g_scale = 1;
std::atomic<int> g_copies[kMaxNodes];  // under way, by NUMA node

int numa_of(int core) noexcept {
  return core < 0 ? 0
                  : std::min(core / std::max(1, g_costs.cores_per_numa), kMaxNodes - 1);
}

EmulatedCosts::Reach reach_of(int a, int b) noexcept {
  if (a < 0 || b < 0) return EmulatedCosts::kNuma;
  if (a / std::max(1, g_costs.cores_per_cache) ==
      b / std::max(1, g_costs.cores_per_cache))
    return EmulatedCosts::kCache;
  return numa_of(a) == numa_of(b) ? EmulatedCosts::kNuma : EmulatedCosts::kMachine;
}

double bytes_of(int64_t bytes) noexcept {
  return static_cast<double>(bytes) * static_cast<double>(g_scale);
}

}  // namespace

std::atomic<bool> Emulation::is_on_{false};

void Emulation::turn_on() noexcept {
  g_stretch = static_cast<double>(stretch_setting.get());
  g_scale = scale_setting.get();
  // The kernel may delay a wake-up by this much to save energy. Threads created later inherit it.
  constexpr unsigned long kSlackNs = 1;
  prctl(PR_SET_TIMERSLACK, kSlackNs, 0, 0, 0);
  is_on_.store(true, std::memory_order_relaxed);
}

void Emulation::set_costs(const EmulatedCosts& costs) noexcept { g_costs = costs; }

int Emulation::stretch() noexcept { return static_cast<int>(g_stretch); }
int64_t Emulation::scale() noexcept { return g_scale; }

double Emulation::emulated_ns(uint64_t real_ns) noexcept {
  return static_cast<double>(real_ns) / g_stretch;
}

uint64_t Emulation::emulated_now_ns() noexcept {
  return static_cast<uint64_t>(emulated_ns(now_ns()));
}

void Emulation::occupy(uint64_t real_begin_ns, double emulated_ns) noexcept {
  const uint64_t end = real_begin_ns + static_cast<uint64_t>(emulated_ns * g_stretch);
  sleep_on_core(end);
  work_counter.add();
  const uint64_t now = now_ns();
  if (now > end) late_counter.add(static_cast<int64_t>(now - end));
}

void EmulatedWork::begin(double duration_ns, int numa) noexcept {
  begin_ns_ = now_ns();
  duration_ns_ = duration_ns;
  numa_ = numa;
}

void EmulatedWork::finish() noexcept {
  Emulation::occupy(begin_ns_, duration_ns_);
  if (numa_ >= 0) g_copies[numa_].fetch_sub(1, std::memory_order_relaxed);
}

void EmulatedCopy::start(int64_t bytes, int core_from, int core_to) noexcept {
  const int here = Execution::self().core();  // the core that copies
  const auto reach = std::max({reach_of(core_from, core_to), reach_of(here, core_from),
                               reach_of(here, core_to)});
  const EmulatedCosts::Copy& cost = g_costs.copy[reach];
  const int numa = numa_of(core_to);
  // On a real machine copies that begin later slow this one down, too; here they do not.
  const int copies = g_copies[numa].fetch_add(1, std::memory_order_relaxed) + 1;
  const double rate = std::max(cost.ns_per_byte, g_costs.numa_ns_per_byte * copies);
  begin(
      2 * g_costs.node_ns + g_costs.message_ns + cost.fixed_ns + bytes_of(bytes) * rate,
      numa);
}

void EmulatedLocal::start(Kind kind, int64_t bytes) noexcept {
  const double rate = kind == kReduce ? g_costs.reduce_ns_per_byte
                                      : g_costs.copy[EmulatedCosts::kCache].ns_per_byte;
  begin(g_costs.node_ns + bytes_of(bytes) * rate, -1);
}

}  // namespace mpc::sched
