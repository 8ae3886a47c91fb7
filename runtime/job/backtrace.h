#pragma once
// Backtrace: where a thread was when it crashed, in functions and lines.
//
// Role:      unwinds from the context of a signal. Names functions by the dynamic symbols; names
//            and lines also come from the debug data, which addr2line of binutils reads if it is
//            installed. A damaged stack or heap costs frames or names, never the report.
// Users:     runtime/job/crash.cpp.
// Threads:   the one that writes the report, in its signal handler.
// See also:  docs/mpcrun.md section "When something goes wrong".

#include <cstddef>

#include "runtime/job/report_text.h"

namespace mpc::job {

class Backtrace {
 public:
  // `fault`: the address that was accessed; the context is restored at the end.
  Backtrace(int signal, const void* fault, void* context) noexcept;

  // One line per frame, down to the program's last one. Cost: up to 3 s, by addr2line.
  void write_to(ReportText& text) noexcept;

  // Did the crash happen in the heap's code?
  bool is_in_heap() const noexcept { return is_in_heap_; }

 private:
  struct Frame {
    const char* address;  // of the instruction, or within the call
    const char* path = nullptr;
    size_t offset = 0;
    const char* symbol = nullptr;
    size_t symbol_offset = 0;
    bool is_of_program = false;
    char function[160] = "";  // from the debug data
    char line[200] = "";
  };
  static constexpr int kMaxFrames = 32;

  void unwind() noexcept;
  void walk_frame_pointers() noexcept;
  void describe() noexcept;
  void find_lines() noexcept;
  void find_lines_of(const char* path, int milliseconds) noexcept;
  void write_frame(ReportText& text, int number) noexcept;

  void* const context_;
  bool is_wild_call_;
  const void* const fault_;
  int count_ = 0;
  bool is_in_heap_ = false;
  Frame frames_[kMaxFrames];
};

}  // namespace mpc::job
