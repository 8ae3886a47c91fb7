#pragma once
// StartBlock: the data that a program finds on its stack when it starts, for one rank.
//
// Role:      the rank's own argv, environment and auxiliary vector, followed by their strings, in
//            one piece of memory and in the kernel's order: programs cut their arguments in place,
//            and write their title over them.
// Users:     runtime/job/node_job.cpp creates it; runtime/interpose answers /proc/self from it.
// Threads:   the rank's, as in a process.
// See also:  execve(2), getauxval(3).
//
//   argv[0] ... 0 | envp[0] ... 0 | auxv ... AT_NULL | "argv[0]\0argv[1]\0 ..." | "NAME=value\0 ..."

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::job {

struct Rank;

class StartBlock {
 public:
  // path: under which the program was found, AT_EXECFN; file: the absolute path of its file.
  StartBlock(const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment, const std::string& path,
             const std::string& file);

  // Makes room for the blocks of so many ranks. Caller: one at a time, before they start.
  static void reserve(int ranks);
  // Makes it the rank's block. It lives as long as the process, because threads that a rank left
  // behind may still use it. Caller: the rank, when it starts.
  static const StartBlock& give(const Rank& rank, std::unique_ptr<StartBlock> block);
  // Null in a singleton. Caller: any thread of the rank, any layer. Cost: a load.
  static const StartBlock* of(const Rank& rank) noexcept;

  int argc() const noexcept { return argc_; }
  char** argv() const noexcept { return reinterpret_cast<char**>(memory_.get()); }
  char** envp() const noexcept { return argv() + argc_ + 1; }
  const std::string& path() const noexcept { return path_; }
  // The path that /proc/PID/exe shows.
  const std::string& file() const noexcept { return file_; }
  // The bytes of the strings as they are now, as /proc/PID/cmdline and environ show them.
  std::string_view argument_text() const noexcept;
  std::string_view environment_text() const noexcept;

 private:
  int argc_;
  std::string path_;
  std::string file_;
  std::unique_ptr<char*[]> memory_;
  char* text_ = nullptr;  // the strings of argv, then those of the environment
  size_t argument_bytes_ = 0;
  size_t environment_bytes_ = 0;
};

}  // namespace mpc::job
