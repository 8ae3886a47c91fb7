#pragma once
// HostMeeting: barriers and short allreduces of several processes of one host, in memory that all of
// them have mapped.
//
// Role:      one execution of each process comes; the last one combines what all have brought, and lets
//            the others go. Each process needs a core once for each meeting, and no message is sent unless
//            an execution has parked.
// Users:     mpi/coll/bridged.cpp.
// Threads:   a process's part: one execution at a time (MPI's rule for collectives).
// See also:  docs/design/0047-host-segment.md (why nobody waits for ever), nbc/direct/team.h.
//
//   | head: arrived, ended | a line for each process | a vector for each process, the result |
//
// Numbers only grow. Meeting m has ended when `ended` is m; it ends when `arrived` is m times the number
// of processes. A process writes into its line and its vector before it arrives, and reads the result
// before it arrives at the next meeting; the last one reads and writes them in between.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nbc/direct/call.h"
#include "nbc/direct/direct.h"
#include "runtime/job/rank.h"
#include "runtime/message/sleeper.h"
#include "runtime/transport/host/shared_memory.h"

namespace mpc::nbc::direct {

// The memory of a meeting.
class HostMemory {
 public:
  // Null: the system has none, or it cannot be mapped from here.
  static std::unique_ptr<HostMemory> make(int processes);
  struct Name {
    transport::host::DescriptorName memory;
    transport::host::Mark mark;
  };
  static std::unique_ptr<HostMemory> open(const Name& name, int processes);
  Name name() const noexcept;
  // All have opened it.
  void close_name() noexcept { memory_ = transport::host::Descriptor(); }

 private:
  friend class HostMeeting;
  struct Head;
  struct Line;
  HostMemory() = default;
  Head& head() const noexcept;
  Line& line(int process) const noexcept;
  // Of a process, or (its number is that of processes) the result.
  unsigned char* vector(int process) const noexcept;

  int processes_ = 0;
  transport::host::Descriptor memory_;
  transport::host::Pages pages_;
};

class HostMeeting {
 public:
  static constexpr size_t kMostBytes = 4096;  // of a vector

  // A process's part in the meetings.
  struct Place {
    std::vector<int> processes;  // their numbers in the job
    std::vector<int> ranks;      // of the execution of each, for reports
    int index = 0;               // of this process among them
    uint64_t id = 0;  // the same at all, and of no other meeting that they have
  };
  HostMeeting(std::unique_ptr<HostMemory> memory, Place place);
  ~HostMeeting();
  HostMeeting(const HostMeeting&) = delete;

  int processes() const noexcept { return static_cast<int>(place_.processes.size()); }
  // How many have come to the present meeting; for reports.
  int arrived() const noexcept;

  // A barrier, or an allreduce of kMostBytes at most with a predefined operation. Values are combined in
  // the order of processes. Switches: yes. Ownership: as run().
  Outcome meet(job::Rank& self, const Call& call, const sched::WaitReason& why);

 private:
  struct Wait;
  void bring(const Call& call) noexcept;
  void conclude(const Call& call) noexcept;
  bool is_one_call() noexcept;
  unsigned char* vector_of(int process, size_t bytes) const noexcept;
  unsigned char* result_of(size_t bytes) const noexcept;

  const std::unique_ptr<HostMemory> memory_;
  const Place place_;
  uint64_t meeting_ = 0;  // the present one
  msg::Sleeper sleeper_;
  std::string complaint_;
};

}  // namespace mpc::nbc::direct
