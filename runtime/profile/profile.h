#pragma once
// Profile: how a job's ranks spent their time, and how much they sent to each other.
//
// Role:      plain numbers, which are added up over the processes of a job.
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

// What a rank's main execution was doing in a sample.
enum State : uint8_t {
  kComputing,  // outside MPI
  kWaiting,    // in an MPI call, waiting for other ranks
  kMoving,     // in an MPI call, not waiting: copies, MPI's own work
  kReady,      // ready to run, but another rank has its core
  kBlocked,    // outside MPI, asleep: sleep(), a lock
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
  int partner = -1;  // the rank that it waited for; -1: no single rank, or not known
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

  // Adds the profile of another process of the same job.
  void add(const Profile& other);
};

// For another process of the same build, and back.
std::string encode(const Profile& profile);
// Errors: kArg.
Result<Profile> decode(std::string_view text);

// The text that mpcrun prints.
std::string to_text(const Profile& profile);
std::string to_json(const Profile& profile);

}  // namespace mpc::profile
