#pragma once
// Ending: how a job ends before its ranks have ended, and how long the others may go on.
//
// Role:      stores the first report, whose status and message are the job's, and statuses of
//            ranks that failed when no other rank needed them any more (after MPI_Finalize).
// Users:     runtime/job/node_job.cpp.
// Threads:   request(), note_failure() and note_refusal() any, also a crash's signal handler; the
//            others by the thread that ends the process.
// See also:  docs/mpcrun.md (the end of a job).

#include <atomic>
#include <cstdint>
#include <string>

namespace mpc::job {

// How long ranks may go on when the job ends before they have ended.
enum class Grace {
  kNone,
  kLastWords,  // job.grace_ms: a rank has failed
  kHandlers,   // job.signal_grace_ms: a signal ends the job, and ranks handle it
};

class Ending {
 public:
  // Requests the end of the job. True for the first caller; the others are too late. `message`,
  // which may be null (the regular end), is not copied: the heap may be what is broken.
  bool request(int status, const std::string* message, Grace grace) noexcept;
  bool is_requested() const noexcept {
    return state_.load(std::memory_order_relaxed) != kRunning;
  }

  // A rank ended with this status, and the job continues. The first call counts.
  void note_failure(int status, const std::string& message);
  // The same for a job that would end with 0: any other status takes precedence.
  void note_refusal(int status, const std::string& message);

  // True if the end was requested, false if all ranks have reached theirs.
  bool is_abort() const noexcept {
    return state_.load(std::memory_order_acquire) == kRequested && message_ != nullptr;
  }
  // The status of the request, or of the failure that was noted before it.
  int status() const noexcept;
  // All messages to be printed, each of one or more lines.
  std::string messages() const;

  Grace grace() const noexcept;
  // How long the other ranks may go on at most.
  uint64_t grace_ns() const noexcept;

 private:
  // request() moves it: kRunning -> kClaimed -> kRequested.
  enum State : int { kRunning, kClaimed, kRequested };
  std::atomic<int> state_{kRunning};
  int status_ = 0;
  Grace grace_ = Grace::kNone;
  const std::string* message_ = nullptr;
  // Ending::note() moves it: kRunning -> kClaimed -> kRequested.
  struct Note {
    std::atomic<int> state{kRunning};
    int status = 0;
    std::string message;
    bool is_there() const noexcept {
      return state.load(std::memory_order_acquire) == kRequested;  // pairs with note()
    }
  };
  static void note(Note& where, int status, const std::string& message);
  Note failure_;
  Note refusal_;
};

}  // namespace mpc::job
