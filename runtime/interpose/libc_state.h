#pragma once
// Libc state: per rank what libc stores once per process.
//
// Role:      the random number generators, buffers and environment behind libc functions that
//            are not reentrant. Our replacements use those of the caller's rank, and call libc's
//            own function outside the ranks of a job.
// Users:     runtime/interpose.
// Threads:   a rank's threads share it, as the threads of a process do; `mutex` guards what
//            libc guards, too.
// See also:  docs/limits.md (state of libc that ranks share).

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/interpose/main_thread.h"
#include "runtime/job/job.h"
#include "runtime/loader/image.h"

// Declared by the interposers themselves and exported from libmpi_abi.so.
#define MPC_EXPORT extern "C" __attribute__((visibility("default")))

namespace mpc::interpose {

struct ForkHandlers;   // fork_handlers.cpp
struct FolderAndMask;  // working_directory.cpp
struct RankSignals;    // signals.cpp
struct RankLocale;     // rank_locale.cpp
struct StaticResults;  // static_results.cpp

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

  // The array behind the rank's `environ`, as far as setenv() and its relatives created it, and the
  // strings that they created.
  std::vector<char*> environment;
  std::unordered_map<std::string, std::vector<std::unique_ptr<char[]>>>
      environment_strings;

  // std::cin and its companions (iostreams.cpp); null as long as nothing is in C++.
  void* iostreams = nullptr;

  // What the rank has set by std::set_terminate() and its companions (cxx_handlers.cpp); null:
  // nothing. The last one is a std::pmr::memory_resource.
  std::terminate_handler terminate_handler = nullptr;
  std::new_handler new_handler = nullptr;
  void* memory_resource = nullptr;

  // pthread_atfork(); null until the rank registers some.
  ForkHandlers* fork_handlers = nullptr;

  // Working directory and umask; null: the initial ones.
  FolderAndMask* place = nullptr;
  // Handlers that the rank has installed; null until it does.
  RankSignals* signals = nullptr;
  // See user_signals.cpp.
  std::array<std::atomic<int>, 2> user_signals_due{};
  // A bit for each signal: see ending_signals.cpp.
  std::atomic<uint64_t> due_signals{0};
  // Those that the main thread has blocked, a bit for each, and the threads that wait for one: see signal_waits.h.
  std::atomic<uint64_t> blocked_signals{0};
  std::array<std::atomic<int>, NSIG> signal_waiters{};
  // The main thread has blocked SIGCHLD (child_signals.cpp).
  std::atomic<bool> blocks_child_signal{false};

  // The choice of setlocale(); null until it is used.
  RankLocale* locale = nullptr;
  // The memory that results of getpwnam() and others point to; null until one of them is used.
  StaticResults* results = nullptr;

  // Threads that the rank started and that have not ended.
  std::atomic<int> thread_count{0};
  MainThread main_thread;
  // pthread_setattr_default_np(): guarded by `mutex`.
  pthread_attr_t thread_defaults;
  bool has_thread_defaults = false;
  std::atomic<uint64_t> ended_threads_ns{0};  // CPU time of threads that have ended

  // getopt(): its position inside a group of short options, and the permuted non-options.
  char* option_position = nullptr;
  int first_nonoption = 1;
  int last_nonoption = 1;
  int option_order = 0;
  int unknown_option = 0;  // what optopt becomes at the next call
  bool has_option_state = false;
};

// Set when this library is initialised. A sanitizer's runtime calls some of our replacements
// before its own start-up has finished: until then they must not enter instrumented code, that is
// all code outside this folder.
extern bool g_is_ready;

// A child that a rank forked is a separate process, and behaves as one.
bool is_forked_child() noexcept;

// The copy that contains this address, or null.
inline loader::ProgramInstance* instance_at(const void* address) noexcept {
  return g_is_ready ? loader::find_instance(address) : nullptr;
}

// The rank of a job (not of a singleton) that the caller acts for, or null.
// Cost: a few loads; attaches a thread that the runtime has not seen.
inline job::Rank* own_rank() noexcept {
  if (!g_is_ready) return nullptr;
  job::Job* job = job::Job::existing();
  if (job == nullptr || job->is_singleton()) return nullptr;
  return job::current_rank();
}
inline loader::ProgramInstance* own_instance() noexcept {
  if (!g_is_ready) return nullptr;
  if (loader::ProgramInstance* instance = loader::running_instance()) return instance;
  job::Rank* rank = own_rank();
  return rank != nullptr ? rank->instance : nullptr;
}
// Created when the rank starts; null outside a job.
inline LibcState* libc_state() noexcept {
  job::Rank* rank = own_rank();
  return rank != nullptr ? rank->libc : nullptr;
}

}  // namespace mpc::interpose
