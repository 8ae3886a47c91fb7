#pragma once
// SplitMemory: the times of earlier calls at one site, and the S of the next call.
//
// Role:      the history of `nbc.split=auto`. All ranks of a process that make the same call share
//            one memory: the first rank that asks for a call decides, so that all have the same S.
// Users:     nbc/overlap/tree_split.cpp.
// Threads:   any. A rank that comes very late may be told another S: that is allowed, since S
//            says which cores do a level, not what is sent.
// See also:  nbc/model/chooser.h, docs/overlap-model.md.
//
// An S that has been measured counts with its measured time, another one with the time that the
// model predicts. So an S that the model rates too well is tried and found out; an S that the model
// rates badly is not tried.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "nbc/model/calibrated.h"

namespace mpc::nbc {

class SplitMemory {
 public:
  explicit SplitMemory(int ranks) noexcept : ranks_(ranks) {}

  struct Decision {
    int split = 0;
    double predicted_us = 0;  // by the model; 0: the window is not known yet
  };
  // The S of this call, counted from 0 by each rank. `times`: the model's, by S; `nominal_us`: the
  // window while none is known. Cost: an atomic load, unless the caller is the first to ask.
  Decision decide(uint64_t call, const std::vector<SplitTime>& times, double nominal_us,
                  double window_factor);
  // Records how long a rank has computed between start and wait. Some samples are dropped.
  void note_window(double us) noexcept;
  // Records that a rank's wait has ended, so long after its start.
  void note_end(uint64_t call, double total_us) noexcept;

 private:
  static constexpr size_t kCalls = 16, kMostSplits = 16;
  struct Call {
    // Call number and S: (call + 1) * kMostSplits + S; 0: unused.
    std::atomic<uint64_t> decided{0};
    std::atomic<double> predicted_us{0};
    double window_us = -1;  // under the mutex
    std::atomic<uint64_t> longest_ns{0};
    std::atomic<int> ended{0};  // number of ranks that have ended
  };
  struct Measured {
    int count = -1;        // the first call is not counted: it builds the schedule
    double excess_us = 0;  // the least time beyond the window
  };

  int best(const std::vector<SplitTime>& times, double window_us) const noexcept;
  double estimate_us(const SplitTime& time, double window_us) const noexcept;
  void learn(const Call& call, int split) noexcept;
  void forget() noexcept;

  const int ranks_;
  std::mutex mutex_;  // never held over a switch
  std::array<Call, kCalls> calls_;
  std::array<Measured, kMostSplits> measured_;
  double window_us_ = -1;       // the usual one; below 0: not known yet
  double measured_at_us_ = -1;  // the window of the measurements
  int current_ = -1;
  uint64_t decisions_ = 0;
};

}  // namespace mpc::nbc
