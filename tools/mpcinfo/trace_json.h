#pragma once
// TraceJson: reads a file of `mpcrun --trace` as JSON, with bounds on its numbers.
//
// Role:      opens and parses the file; limits the numbers that its readers compute with. A damaged
//            file causes an exception here, which load_json() turns into an error.
// Users:     tools/mpcinfo (trace_read.cpp, page.h, profile_file.h).
// Threads:   one.
// See also:  docs/tracing.md (the file).

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace mpc::tools {

using Json = nlohmann::json;

// In the file, each process of a job is two "processes": its cores and its ranks.
inline constexpr int kCores = 1, kRanks = 2;
inline constexpr int kTracksPerRank =
    2;  // a rank's main execution, its progress thread
// Sums of smaller numbers do not overflow.
inline constexpr int64_t kMostNumber = int64_t{1} << 53;

inline constexpr bool is_of_cores(int pid) noexcept { return pid % 2 == kCores; }
inline constexpr int process_of(int pid) noexcept { return (pid - 1) / 2; }

// Parses the file and calls read(), which may throw as nlohmann-json does, or std::out_of_range.
// `what` is for messages: "mpcrun --trace". Errors: kNotFound, kArg.
Result<> load_json(const std::string& path, const char* what,
                   const std::function<void(const Json& file)>& read);

int64_t number_in(const Json& args, const char* name, int64_t fallback);
// These two throw.
int track_in(const Json& object, const char* name);
double time_of(const Json& event);

}  // namespace mpc::tools
