#pragma once
// LinePump: the output of a rank's command, on its way to the output of the job.
//
// Role:      pipes for standard output and error; passes on whole lines, with labels if wanted, on
//            a thread of its own, so that a slow reader holds up nothing else.
// Users:     tools/mpclaunch/shim.h.
// Threads:   that of its owner; the pump is inside.
// See also:  runtime/job/console.h, runtime/interpose/line_stream.h (ranks that share a process).

#include <pthread.h>

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/job/rank_output.h"

namespace mpc::launch {

class LinePump {
 public:
  LinePump(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  LinePump(const LinePump&) = delete;

  // `is_one`: both are one pipe, which keeps their order; not where the rank has files for its
  // output, which are opened, too. Errors: kSystem.
  Result<> open(bool is_one);
  // The ends to which the command writes; close them when it runs.
  int output() const noexcept { return streams_[0].inner; }
  int error() const noexcept {
    return streams_[1].inner >= 0 ? streams_[1].inner : streams_[0].inner;
  }
  // The owner's ends of the pipes are closed. Errors: kSystem.
  Result<> start();
  // The command has ended: waits for at most `most_ms` until everything in the pipes has been
  // passed on, even if other processes still have them open. False: the reader is too slow, or
  // output is lost.
  bool finish(int most_ms);
  // The error of output that could not be written; 0: none. lost_fd(): its descriptor.
  int lost_error() const noexcept {
    return lost_error_.load(std::memory_order_acquire);
  }
  int lost_fd() const noexcept { return lost_fd_; }

 private:
  struct Stream {
    int inner = -1, outer = -1, fd = -1;
    job::LineLabel label{{}};
    int copy = -1;      // a file that has the output, too
    std::string begun;  // of a line
  };
  static void* run(void* self);
  void pump();
  bool read(Stream& stream);
  void pass(Stream& stream, std::string_view text);
  void write(const Stream& stream, const std::string& text);

  const int rank_, ranks_;
  Stream streams_[2];
  int bell_ = -1;  // eventfd: finish() has been called
  pthread_t thread_{};
  bool has_thread_ = false;
  std::atomic<bool> is_over_{false};
  std::atomic<int> lost_error_{0};
  int lost_fd_ = -1;
};

}  // namespace mpc::launch
