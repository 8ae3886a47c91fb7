#pragma once
// Tuned: what `mpcinfo tune` has found out about one machine.
//
// Role:      the limits that this machine wants, with the times that say so, and for which machine.
// Users:     tools/mpcinfo measures it; nbc/overlap/tuned_limits.cpp takes it at the start of a job;
//            nbc/model/tuned_file.h keeps it.
// Threads:   any.
// See also:  nbc/schedule/limits.h, docs/collectives.md, section "Limits".

#include <cstdint>
#include <string>
#include <vector>

#include "nbc/schedule/limits.h"

namespace mpc::nbc {

// Measurements of one never serve another.
struct TunedMachine {
  std::string cpu;  // topo::cpu_name()
  int cores = 0;
  std::string fingerprint;  // topo::fingerprint()
  bool operator==(const TunedMachine&) const = default;
};

// Both ways at one size, in the order of the sizes.
struct TunedTime {
  int64_t bytes = 0;
  double below_us = 0, above_us = 0;  // the way that is taken below the limit, above it
  bool operator==(const TunedTime&) const = default;
};

struct TunedLimit {
  std::string name;  // LimitFacts::name
  int64_t bytes = 0;
  std::vector<TunedTime> times;
  bool operator==(const TunedLimit&) const = default;
};

struct Tuned {
  TunedMachine machine;
  std::string made;  // "2026-11-25"
  // For people: what the times above are made of, in microseconds.
  double line_us = 0, wake_us = 0, message_us = 0;
  std::vector<TunedLimit>
      limits;  // those that differ from what is built in, and those that do not
  bool operator==(const Tuned&) const = default;
};

// The limit that costs least over all sizes; the one built in, unless another one gains 5 % or more at the sizes
// between both.
int64_t best_limit(const LimitFacts& facts, const std::vector<TunedTime>& times);

}  // namespace mpc::nbc
