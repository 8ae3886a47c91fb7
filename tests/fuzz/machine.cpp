// Machines as users describe them: a file of measurements, or a topology's synthetic string.

#include <cmath>

#include "nbc/model/model_json.h"
#include "tests/fuzz/bytes.h"
#include "tools/mpcinfo/operation.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace {

void read_measurements(const std::string& text) {
  const auto parameters = mpc::nbc::parameters_from_json(text);
  if (!parameters) return FUZZ_CLAIM(!parameters.error().message.empty());
  FUZZ_CLAIM(mpc::nbc::problem_of(*parameters).empty());
  for (const int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{4096}, int64_t{1} << 40}) {
    FUZZ_CLAIM(mpc::nbc::reduce_us(*parameters, bytes) >= 0);
    for (const auto reach : {mpc::nbc::Reach::kCache, mpc::nbc::Reach::kMachine})
      FUZZ_CLAIM(mpc::nbc::copy_us(*parameters, reach, bytes, 3) >= 0);
    if (!parameters->caches.empty())
      FUZZ_CLAIM(!std::isnan(cache_cost(parameters->caches, bytes).near_copy_us));
  }
  // What was read can be written, and read again.
  FUZZ_CLAIM(mpc::nbc::parameters_from_json(to_json(*parameters)).ok());
}

void read_limits(const std::string& text) {
  const auto tuned = mpc::nbc::tuned_from_json(text);
  if (!tuned) return FUZZ_CLAIM(!tuned.error().message.empty());
  const auto again = mpc::nbc::tuned_from_json(to_json(*tuned));
  FUZZ_CLAIM(again.ok() && *again == *tuned);
}

// Synthetic strings say how many objects there are: a machine that takes seconds is no fault.
// Numbers are read as hwloc reads them: in octal "0010" ends before a 9, and "9900" is the next one.
bool is_small(const std::string& text) {
  constexpr uint64_t kMostObjects = 4096;
  uint64_t objects = 1;
  for (size_t at = 0; objects <= kMostObjects;) {
    at = text.find_first_of("0123456789", at);
    if (at == std::string::npos) break;
    char* end = nullptr;
    const uint64_t count = std::strtoull(text.c_str() + at, &end, 0);
    if (count > kMostObjects) return false;
    objects *= count > 1 ? count : 1;
    at = static_cast<size_t>(end - text.c_str());
  }
  return objects <= kMostObjects;
}

void read_topology(const std::string& text) {
  // Not a path: that would be a file of this machine.
  if (text.find('/') != std::string::npos || text.ends_with(".xml") || !is_small(text))
    return;
  const auto machine = mpc::topo::Machine::by_name(text);
  if (!machine) return FUZZ_CLAIM(!machine.error().message.empty());
  FUZZ_CLAIM((*machine)->core_count() > 0);
  FUZZ_CLAIM(!(*machine)->draw().empty());
  FUZZ_CLAIM(mpc::topo::fingerprint(**machine).size() == 16);
  const mpc::topo::Outline outline = mpc::topo::outline(**machine);
  FUZZ_CLAIM(outline.cores >= outline.cores_per_cache && outline.cores_per_numa >= 1);
}

void read_operations(const std::string& text) {
  (void)mpc::tools::parse_mix(text);
  if (const auto bytes = mpc::tools::parse_bytes(text)) FUZZ_CLAIM(*bytes >= 0);
  if (const auto time = mpc::tools::parse_time_us(text)) FUZZ_CLAIM(*time >= 0);
}

}  // namespace

// The first byte says what the rest is: '{' a file of measurements or of limits, '-' an option of mpcinfo.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(mpc::fuzz::Bytes(data, size).rest());
  if (text.starts_with('{')) {
    read_measurements(text);
    read_limits(text);
  } else if (text.starts_with('-')) {
    read_operations(text.substr(1));
  } else {
    read_topology(text.substr(0, text.find('\0')));
  }
  return 0;
}
