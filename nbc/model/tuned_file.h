#pragma once
// TunedFile: what `mpcinfo tune` has found out about one machine, kept as JSON.
//
// Role:      the limits that this machine wants, with the times that say so, and for which machine.
// Users:     tools/mpcinfo writes it; nbc/overlap/tuned_limits.cpp reads it at the start of a job.
// Threads:   any.
// See also:  nbc/schedule/limits.h, docs/collectives.md, section "Limits".

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
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

std::string to_json(const Tuned& tuned);
// Errors: kArg: not JSON, a field missing or of the wrong kind, a limit that is not there.
Result<Tuned> tuned_from_json(const std::string& text);
// Errors: kNotFound; those of tuned_from_json(), with the path.
Result<Tuned> read_tuned(const std::string& path);
// Errors: kSystem. Readers meet the old file or the new one.
Result<> write_tuned(const Tuned& tuned, const std::string& path);
// Beside the machine's costs (nbc/model/machine_file.h): .../mpc/tuned-NUMBER.json; "" without a folder.
std::string tuned_path(const TunedMachine& machine);

// The limit that costs least over all sizes; the one built in, unless another one gains 5 % or more at the sizes
// between both.
int64_t best_limit(const LimitFacts& facts, const std::vector<TunedTime>& times);

}  // namespace mpc::nbc
