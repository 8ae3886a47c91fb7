#pragma once
// LinePump: what a rank's command prints, on its way to the output of the job.
//
// Role:      pipes for standard output and error; passes whole lines on, labelled if that is wanted, on
//            a thread of its own: a reader that takes its time holds up nothing else.
// Users:     tools/mpclaunch/shim.h.
// Threads:   that of its owner; the pump is inside.
// See also:  runtime/job/console.h, runtime/interpose/line_stream.h (ranks that share a process).

#include <pthread.h>

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mpc::launch {

class LinePump {
 public:
  // label: in front of each line.
  explicit LinePump(std::string label) : label_(std::move(label)) {}
  LinePump(const LinePump&) = delete;

  // `is_one`: both are one pipe, which keeps their order. Errors: kSystem.
  Result<> open(bool is_one);
  // For the command to write to; close them when it runs.
  int output() const noexcept { return streams_[0].inner; }
  int error() const noexcept {
    return streams_[1].inner >= 0 ? streams_[1].inner : streams_[0].inner;
  }
  // The owner's ends of the pipes are closed. Errors: kSystem.
  Result<> start();
  // The command has ended: waits until all that is in the pipes has been passed on, also if others
  // still have them open, so long at most. False: the reader is too slow, or some is lost.
  bool finish(int most_ms);
  // What could not be written; 0: nothing. Which: the descriptor.
  int lost_error() const noexcept {
    return lost_error_.load(std::memory_order_acquire);
  }
  int lost_fd() const noexcept { return lost_fd_; }

 private:
  struct Stream {
    int inner = -1, outer = -1, fd = -1;
    std::string begun;  // of a line
  };
  static void* run(void* self);
  void pump();
  bool read(Stream& stream);
  void pass(Stream& stream, std::string_view text);
  void write(int fd, const std::string& text);

  const std::string label_;
  Stream streams_[2];
  int bell_ = -1;  // eventfd: finish() has been called
  pthread_t thread_{};
  bool has_thread_ = false;
  std::atomic<bool> is_over_{false};
  std::atomic<int> lost_error_{0};
  int lost_fd_ = -1;
};

}  // namespace mpc::launch
