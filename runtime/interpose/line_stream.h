#pragma once
// LineStream: passes one rank's output to the job's standard output, or error, line by line.
//
// Role:      collects what a rank writes, by whatever call, and passes it on in whole lines, with
//            the rank's label; tells the rank what could not be written. Or: the file to which
//            the rank has redirected this descriptor (dup2).
// Users:     runtime/interpose/streams.cpp (a rank's FILEs), raw_output.cpp (write, dup2 ...).
// Threads:   any thread of the rank, and the one that ends the job.
// See also:  runtime/job/console.h, docs/mpcrun.md (output).

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "runtime/job/job.h"
#include "runtime/job/rank_output.h"

namespace mpc::interpose {

class LineStream {
 public:
  LineStream(const job::Rank& rank, int fd);

  // Returns 0 or the errno of what could not be written. at_once: writes an unfinished line, too,
  // if the job's output shows unfinished lines (a terminal, a job of one rank). A signal handler
  // may call it, as it may write(2): if it has interrupted the same thread inside, its text is
  // written at once.
  int append(const char* text, size_t size, bool at_once) noexcept;
  // Passes an unfinished line on: always, or as append() does with at_once.
  void finish() noexcept;
  void show_unfinished_line() noexcept;
  // The error of a line that was lost since the last call, or 0. In a process, whose buffer is
  // written by fflush(), the error would occur there, and there programs check for it.
  int take_error() noexcept;
  // The same at the end of the job, when another thread of the rank may be inside.
  void finish_at_job_end() noexcept;

  // The file of --output-file or --error-file, if there is one, gets what is written from now on, alone or
  // beside the job's output. Caller: before anything is written. Errors: kSystem.
  Result<> open_file();

  // For a signal handler: it has interrupted this thread within one of these.
  static bool is_inside() noexcept;

  // dup2(fd, 1): from now on the rank writes there. The number is a private one, or
  // STDOUT_FILENO or STDERR_FILENO for the job's own; -1: closed.
  void redirect(int fd) noexcept;
  // The descriptor that dup(1) of the rank copies; -1: closed.
  int fd() const noexcept;

 private:
  // Keeps other threads out, and tells a signal handler of this thread that it is inside.
  class Guard {
   public:
    explicit Guard(const LineStream& lines) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;

   private:
    std::mutex* mutex_ = nullptr;  // null: not acquired
  };
  int target() const noexcept { return fd_.load(std::memory_order_relaxed); }
  bool is_redirected() const noexcept { return target() != 1 && target() != 2; }
  int write_through(const char* text, size_t size) const noexcept {
    return write_all(target(), text, size);
  }
  static int write_all(int fd, const char* text, size_t size) noexcept;
  int write_lines(const char* text, size_t size);
  int pass_on();
  int pass_on(const char* text, size_t size);
  void add_labelled(const char* text, size_t size);
  void bound_last_words(size_t size);

  const job::Rank& rank_;
  const job::LineLabel label_;
  mutable std::mutex
      mutex_;  // guards the following; held over write(2), not over a switch
  std::string pending_;
  std::atomic<int> fd_;  // relaxed: read without the mutex at the job's end only
  int copy_ = -1;
  int error_ = 0;
  bool in_line_ = false;  // pending_, or what was shown of it, does not end a line
  size_t last_words_bytes_ = 0;
};

}  // namespace mpc::interpose
