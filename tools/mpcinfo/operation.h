#pragma once
// Operation: the collectives that `--op` and `--ops` name; sizes and times in the form in which
// people write them.
//
// Role:      converts "ibcast", "ireduce:2MB:2", "1.5MiB", "2ms" to values, or yields an error that
//            lists the known names.
// Users:     tools/mpcinfo.
// Threads:   pure functions.
// See also:  docs/overlap-model.md.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "nbc/model/paper.h"
#include "nbc/schedule/coll.h"

namespace mpc::tools {

struct Operation {
  std::string name;  // "ibcast"
  nbc::Coll coll = nbc::Coll::kBcast;
  nbc::PaperOperation paper;
  int64_t bytes = 2 << 20;  // of one rank's buffer; the paper's 2 MB
  int count = 1;            // times per round of a mix
};

// "ibcast" or "bcast", in any case. `needs_tree`: only those that go through a tree.
// Errors: kArg; the message lists the known operations.
Result<Operation> parse_operation(const std::string& text, bool needs_tree = true);
// "ibcast:2MB:1,ireduce:2MB:2": operation[:bytes[:count]], separated by commas.
Result<std::vector<Operation>> parse_mix(const std::string& text);
// Not negative, in the form of base/sizes.h: "64", "64KiB", "2MB", "1.5m".
Result<int64_t> parse_bytes(const std::string& text);
// "2ms", "150us", "1.5s"; a bare number is microseconds.
Result<double> parse_time_us(const std::string& text);

}  // namespace mpc::tools
