#pragma once
// Libc state: what libc keeps once per process, once per rank.
//
// Role:      the random number generators, buffers and environment behind libc functions that
//            are not reentrant; our replacements work on the caller's rank's, and call libc's
//            own function outside of the ranks of a job.
// Users:     runtime/interpose.
// Threads:   a rank's threads share it, as the threads of a process do; `mutex` guards what
//            libc guards too.
// See also:  docs/limits.md (state of libc that ranks share).

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/job/job.h"
#include "runtime/loader/image.h"

// Declared by the interposers themselves and exported from libmpi_abi.so.
#define MPC_EXPORT extern "C" __attribute__((visibility("default")))

namespace mpc::interpose {

struct LibcState {
  LibcState();

  std::mutex mutex;

  // random(), rand(): libc's own generator and its start state (TYPE_3, 128 bytes, seed 1).
  random_data random{};
  alignas(8) char random_state[128];
  drand48_data drand48{};

  char* strtok_position = nullptr;
  tm broken_down_time{};
  char time_text[160];

  // The array behind the rank's `environ` as far as setenv() and friends made it, and the
  // strings that they made.
  std::vector<char*> environment;
  std::unordered_map<std::string, std::vector<std::unique_ptr<char[]>>>
      environment_strings;

  // Threads that the rank started and that have not ended.
  std::atomic<int> thread_count{0};

  // getopt(): where it is inside a group of short options, and the permuted non-options.
  char* option_position = nullptr;
  int first_nonoption = 1;
  int last_nonoption = 1;
  int option_order = 0;
  int unknown_option = 0;  // what optopt becomes at the next call
  bool has_option_state = false;
};

// The rank of a job (not of a singleton) that the caller acts for, or null.
// Cost: a few loads; attaches a thread that the runtime has not seen.
inline job::Rank* own_rank() noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr || job->is_singleton()) return nullptr;
  return job::current_rank();
}
inline loader::Copy* own_copy() noexcept {
  if (loader::Copy* copy = loader::running_copy()) return copy;
  job::Rank* rank = own_rank();
  return rank != nullptr ? rank->copy : nullptr;
}
// Made when the rank starts; null outside of a job.
inline LibcState* libc_state() noexcept {
  job::Rank* rank = own_rank();
  return rank != nullptr ? static_cast<LibcState*>(rank->libc) : nullptr;
}

}  // namespace mpc::interpose
