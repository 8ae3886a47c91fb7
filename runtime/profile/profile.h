#pragma once
// Profile: where the time of a job's ranks went, and how much they told each other.
//
// Role:      plain numbers, which the parts of a job of several processes add up to.
// Users:     runtime/job fills it; tools/mpcinfo reads its file.
// Threads:   plain data.
// See also:  docs/profile.md.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/traffic.h"

namespace mpc::profile {

// What a rank's main execution was found to do.
enum State : uint8_t {
  kComputing,  // outside of MPI
  kWaiting,    // in an MPI call, for others
  kMoving,     // in an MPI call, and not waiting: copies, MPI's own work
  kReady,      // could go on, but another rank has its core
  kBlocked,    // outside of MPI, asleep: sleep(), a lock
  kStates
};
extern const char* const kStateNames[kStates];

struct RankTimes {
  int rank = 0;
  std::array<int64_t, kStates> ns{};
};

// The time of one rank in one MPI call.
struct CallTime {
  int rank = 0;
  int partner = -1;  // for whom it waited; -1: no single rank, or not known
  std::string call;
  int64_t waiting_ns = 0, moving_ns = 0;
};

struct Profile {
  std::string program;
  int ranks = 0;
  double seconds = 0;            // from the first sample to the last
  int64_t samples = 0;           // of each rank
  std::vector<RankTimes> times;  // by rank
  std::vector<CallTime> calls;
  std::vector<traffic::Flow> messages;

  // Of another process of the same job.
  void add(const Profile& other);
};

// For another process of the same build, and back.
std::string encode(const Profile& profile);
// Errors: kArg.
Result<Profile> decode(std::string_view text);

// What mpcrun prints.
std::string to_text(const Profile& profile);
std::string to_json(const Profile& profile);

}  // namespace mpc::profile
