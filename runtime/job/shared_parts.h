#pragma once
// SharedParts: texts that the processes of a job leave for the first process.
//
// Role:      joins counters and profiles of several processes: each leaves its part in memory that
//            all processes of one host share, after the console's part of it.
// Users:     runtime/job (node_job_records.cpp).
// Threads:   the process's main thread; a part is read when its process has passed a barrier.
// See also:  runtime/job/console.h (make_shared_memory), docs/cluster.md.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::job {

class SharedParts {
 public:
  enum Kind { kCounters, kProfile, kKinds };

  // memory: the descriptor that all processes have from their launcher; -1: there is none. If it
  // cannot be opened that is no error: then each process prints its own.
  void open(int memory, int processes) noexcept;
  bool is_open() const noexcept { return first_ != nullptr; }

  // A point in time that all processes agree on: that of the first caller.
  uint64_t common_ns(uint64_t now_ns) noexcept;

  // False: the text is too long.
  bool put(int process, Kind kind, std::string_view text) noexcept;
  // "": the process has left none.
  std::string get(int process, Kind kind) const;

 private:
  struct Part;
  Part& part(int process, Kind kind) const noexcept;

  std::byte* first_ = nullptr;
};

}  // namespace mpc::job
