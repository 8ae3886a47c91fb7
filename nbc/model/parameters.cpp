#include "nbc/model/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mpc::nbc {

namespace {

constexpr double kBytesPerUsPerGbs = 1e3;  // 1 GB/s = 1000 bytes per microsecond

// KNL 7210 in quadrant mode and cache mode, 1.4 GHz. The paper gives no bandwidths; but
// its measured curves switch S exactly where a model without any limit on
// concurrent copies says. So numa_gbs is high enough for 32 copies at once: MCDRAM's copy rate
// (about 400 GB/s of reads and writes together) allows that. One core's copy rate, latencies
// and the cost of a node are estimates for a core of this clock.
Parameters knl64() {
  Parameters p;
  p.machine = "knl64";
  p.source = "estimated; concurrency from the figures of Denis et al. 2018";
  p.shape = {64, 2, 64};
  p.node_us = 0.5;
  p.handover_us = 1.0;
  p.message_us = 0.7;
  p.copy[0] = {0.3, 5.0};
  p.copy[1] = {0.5, 5.0};
  p.copy[2] = {0.5, 5.0};
  p.numa_gbs = 200;
  p.reduce_gbs = 8;
  return p;
}

// Two Xeon Platinum Skylake sockets with 24 cores at 2.7 GHz. The paper's measured best N of 38
// agrees with 24 copies at once that hardly slow each other; memory alone would be slower
// (about 50 GB/s copied per socket), but blocks of 2 MB come partly from caches. All numbers
// are estimates.
Parameters skylake48() {
  Parameters p;
  p.machine = "skylake48";
  p.source = "estimated; concurrency from the figures of Denis et al. 2018";
  p.shape = {48, 24, 24};
  p.node_us = 0.2;
  p.handover_us = 0.4;
  p.message_us = 0.3;
  p.copy[0] = {0.15, 9.0};
  p.copy[1] = {0.15, 9.0};
  p.copy[2] = {0.3, 7.0};
  p.numa_gbs = 110;
  p.reduce_gbs = 12;
  return p;
}

// Any current server or laptop that has not been measured.
Parameters generic() {
  Parameters p;
  p.machine = "generic";
  p.source = "a guess for a machine that was not measured";
  p.shape = {8, 8, 8};
  p.node_us = 0.15;
  p.handover_us = 0.3;
  p.message_us = 0.2;
  p.copy[0] = {0.1, 10.0};
  p.copy[1] = {0.1, 10.0};
  p.copy[2] = {0.25, 7.0};
  p.numa_gbs = 40;
  p.reduce_gbs = 12;
  return p;
}

const std::array<Parameters, 3>& builtins() {
  static const std::array<Parameters, 3> all{knl64(), skylake48(), generic()};
  return all;
}

}  // namespace

double copy_us(const Parameters& p, Reach reach, int64_t bytes,
               double concurrent) noexcept {
  const CopyCost& cost = p.copy[static_cast<size_t>(reach)];
  double rate = cost.bandwidth_gbs;
  if (p.numa_gbs > 0) rate = std::min(rate, p.numa_gbs / std::max(1.0, concurrent));
  return cost.latency_us + static_cast<double>(bytes) / (rate * kBytesPerUsPerGbs);
}

double reduce_us(const Parameters& p, int64_t bytes) noexcept {
  return static_cast<double>(bytes) / (p.reduce_gbs * kBytesPerUsPerGbs);
}

double network_us(const Parameters& p, int64_t bytes) noexcept {
  return p.network.latency_us +
         static_cast<double>(bytes) / (p.network.bandwidth_gbs * kBytesPerUsPerGbs);
}

CacheCost shortest(const CacheCost& a, const CacheCost& b) noexcept {
  return {a.bytes, std::min(a.near_copy_us, b.near_copy_us),
          std::min(a.far_copy_us, b.far_copy_us),
          std::min(a.near_reduce_us, b.near_reduce_us),
          std::min(a.far_reduce_us, b.far_reduce_us)};
}

CacheCost cache_cost(const std::vector<CacheCost>& caches, int64_t bytes) noexcept {
  const auto next =
      std::find_if(caches.begin(), caches.end(),
                   [&](const CacheCost& cost) { return cost.bytes >= bytes; });
  const bool is_between = next != caches.begin() && next != caches.end();
  const CacheCost& a = next == caches.begin() ? *next : *(next - 1);
  const CacheCost& b = is_between ? *next : a;
  const double share = is_between ? static_cast<double>(bytes - a.bytes) /
                                        static_cast<double>(b.bytes - a.bytes)
                                  : 0;
  const double factor =
      is_between ? 1 : static_cast<double>(bytes) / static_cast<double>(a.bytes);
  const auto mix = [&](double CacheCost::*field) {
    return factor * (a.*field + share * (b.*field - a.*field));
  };
  return {bytes, mix(&CacheCost::near_copy_us), mix(&CacheCost::far_copy_us),
          mix(&CacheCost::near_reduce_us), mix(&CacheCost::far_reduce_us)};
}

std::span<const Parameters> builtin_parameters() noexcept { return builtins(); }

const Parameters* builtin_parameters(std::string_view machine) noexcept {
  for (const Parameters& p : builtins())
    if (p.machine == machine) return &p;
  return nullptr;
}

Parameters guess_parameters(const MachineShape& shape) {
  for (const Parameters& p : builtins())
    if (p.shape == shape) return p;
  // Machines with many cores on small shared caches are like
  // KNL, others with many cores like Skylake.
  const char* closest = "generic";
  if (shape.cores >= 24) closest = shape.cores_per_cache <= 4 ? "knl64" : "skylake48";
  Parameters p = *builtin_parameters(closest);
  p.source =
      "numbers of " + p.machine + " for another machine (mpcinfo calibrate measures)";
  p.machine = "like " + p.machine;
  p.shape = shape;
  return p;
}

Parameters from_measured(const MachineShape& shape, const Measured& measured,
                         const std::string& when) {
  Parameters p = guess_parameters(shape);
  const std::string base = p.machine;
  p.machine = "measured";
  p.source = "mpcinfo calibrate, " + when;
  if (measured.node_us <= 0 || measured.message_us <= 0)
    p.source += "; cost of a node or a message: " + base;
  // A reach that this machine does not have costs as much as the next smaller one.
  const CopyCost* last = nullptr;
  for (size_t reach = 0; reach < kReachCount; ++reach) {
    if (measured.copy[reach].bandwidth_gbs > 0) last = &measured.copy[reach];
    if (last != nullptr) p.copy[reach] = *last;
  }
  if (measured.numa_gbs > 0) p.numa_gbs = measured.numa_gbs;
  if (measured.reduce_gbs > 0) p.reduce_gbs = measured.reduce_gbs;
  if (measured.handover_us > 0) p.handover_us = measured.handover_us;
  if (measured.node_us > 0) p.node_us = measured.node_us;
  if (measured.message_us > 0) p.message_us = measured.message_us;
  p.call_us = measured.call_us;
  p.caches = measured.caches;
  return p;
}

std::string problem_of(const Parameters& p) {
  const auto is_bad = [](double v, bool may_be_zero) {
    return !std::isfinite(v) || v < 0 || (v == 0 && !may_be_zero);
  };
  if (p.shape.cores < 1 || p.shape.cores_per_cache < 1 || p.shape.cores_per_numa < 1)
    return "counts of cores must be at least 1";
  if (is_bad(p.node_us, true) || is_bad(p.handover_us, true) ||
      is_bad(p.message_us, true) || is_bad(p.call_us, true))
    return "times must not be negative";
  for (const CopyCost& cost : p.copy)
    if (is_bad(cost.latency_us, true) || is_bad(cost.bandwidth_gbs, false))
      return "a copy needs a latency of at least 0 and a bandwidth above 0";
  if (is_bad(p.numa_gbs, true) || is_bad(p.reduce_gbs, false))
    return "bandwidths must be above 0 (numa_gbs: 0 for no limit)";
  if (is_bad(p.network.latency_us, true) || is_bad(p.network.bandwidth_gbs, false))
    return "the network needs a latency of at least 0 and a bandwidth above 0";
  int64_t last_bytes = 0;
  for (const CacheCost& cost : p.caches) {
    if (cost.bytes <= last_bytes) return "caches: sizes must grow";
    last_bytes = cost.bytes;
    for (double time :
         {cost.near_copy_us, cost.far_copy_us, cost.near_reduce_us, cost.far_reduce_us})
      if (is_bad(time, false)) return "caches: times must be above 0";
  }
  return "";
}

}  // namespace mpc::nbc
