#include "runtime/profile/profile.h"

#include <algorithm>

namespace mpc::profile {

const char* const kStateNames[kStates] = {"computing", "waiting in MPI",
                                          "moving data in MPI", "ready, without a core",
                                          "asleep outside of MPI"};

void Profile::add(const Profile& other) {
  if (program.empty()) program = other.program;
  ranks = std::max(ranks, other.ranks);
  seconds = std::max(seconds, other.seconds);
  samples = std::max(samples, other.samples);
  times.insert(times.end(), other.times.begin(), other.times.end());
  std::sort(times.begin(), times.end(),
            [](const RankTimes& a, const RankTimes& b) { return a.rank < b.rank; });
  calls.insert(calls.end(), other.calls.begin(), other.calls.end());
  messages.insert(messages.end(), other.messages.begin(), other.messages.end());
}

}  // namespace mpc::profile
