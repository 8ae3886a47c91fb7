#pragma once
// RankOutput: what stands before the lines that a rank prints, and the files that have its output.
//
// Role:      the settings job.label, job.label_pattern, job.output_file, job.error_file and
//            job.output_copy, for ranks that share a process and for those that are processes of their own.
// Users:     runtime/interpose (line_stream, streams), tools/mpclaunch/shim.cpp, tools/mpcrun.
// Threads:   any, after the settings have been read.
// See also:  docs/mpcrun.md, section "Input and output".

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc::job {

// A text with %r (the rank), %R (the same with as many digits as the number of ranks has), %h (the host), %t (date and
// time), %o (stdout or stderr), %g (0, as MPICH's mpiexec names the only group of processes) and %% in it.
class OutputPattern {
 public:
  struct Values {
    int rank = 0, ranks = 1;
    int fd = 1;
  };
  explicit OutputPattern(std::string text) : text_(std::move(text)) {}
  // What is wrong with it: "has %x, which stands for nothing ..."; empty: nothing.
  std::string fault() const;
  bool has(char what) const noexcept;
  std::string fill(const Values& values) const;

 private:
  std::string text_;
};

// What stands before each line.
class LineLabel {
 public:
  explicit LineLabel(const OutputPattern::Values& values);
  // False: nothing does.
  bool is_there() const noexcept { return is_there_; }
  std::string text() const { return has_time_ ? pattern_.fill(values_) : fixed_; }

 private:
  OutputPattern pattern_;
  OutputPattern::Values values_;
  bool is_there_, has_time_;
  std::string fixed_;
};

bool has_output_files();
// Opens the file for a rank's standard output or error, for appending; missing folders are made.
// -1: there is none. Errors: kSystem, with the file's name.
Result<int> open_output_file(const OutputPattern::Values& values);
// The output goes to the files and to the job's output, not to the files alone.
bool is_output_copied() noexcept;
// Of an assignment, as in "job.label=1": it is one of these settings.
bool is_output_setting(std::string_view assignment) noexcept;
// Before ranks start, once for the job: files that several ranks share are emptied; those of single
// ranks are when they are opened. Errors: kSystem.
Result<> empty_shared_output_files(int ranks);

}  // namespace mpc::job
