#pragma once
// Partitioned: the two halves of a partitioned communication.
//
// Role:      the objects behind the requests of MPI_Psend_init and MPI_Precv_init. Each partition
//            of the sender is a message of its own, which is sent when it is ready and lands where
//            it belongs. An announcement tells the receiver once what the two calls of init have
//            in common.
// Users:     mpi/p2p/partitioned_calls.cpp.
// Threads:   ready(), arrived() any execution of the rank, several at once; start() and is_over()
//            one of them; messages end on any execution of the job.
// See also:  docs/design/0030-partitioned.md; MPI-4.1 chapter 4.
//
//   sender     init --announcement--> (source, tag) in the order of the calls       start  ready(p)
//                                           |                                                |
//                                           v                                        message p of this
//   receiver   init ..................... known --+-- both: a receive for each          round
//              start .................. started --+   partition of the sender <-------------+

#include <atomic>
#include <memory>
#include <string>

#include "mpi/objects/comm.h"
#include "mpi/objects/request.h"
#include "mpi/objects/status.h"
#include "mpi/p2p/partition_tag.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

// The arguments that the user gave to init. `peer`: with MPI_PROC_NULL a round is over at once.
struct PartitionedBuffer {
  void* address;  // never written by a send
  int partitions;
  dt::Count count;  // elements of each
  const dt::Datatype* type;
  int peer;
  int tag;

  dt::Count partition_bytes() const noexcept { return count * type->size(); }
  dt::Count bytes() const noexcept { return partitions * partition_bytes(); }
};

class Partitioned : public Several {
 public:
  Partitioned(Comm& comm, const PartitionedBuffer& buffer) noexcept
      : comm_(comm), self_(comm.self()), buffer_(buffer) {}

  // Partitions low .. high of a send are ready. Errors: it is no send; there is no such partition;
  // one of them is ready already. Caller: the request is active.
  virtual Err ready(int low, int high) = 0;
  // Have the data of this partition of a receive arrived? Errors: it is no receive; no such
  // partition.
  virtual Err arrived(int partition, bool* out) const = 0;

  // acquire pairs with end_one(): the data of all messages are where they belong.
  bool is_over() final { return left_.load(std::memory_order_acquire) == 0; }
  const PartitionedBuffer& buffer() const noexcept { return buffer_; }
  bool has_partition(int partition) const noexcept {
    return partition >= 0 && partition < buffer_.partitions;
  }

 protected:
  bool is_with_nobody() const noexcept { return buffer_.peer == MPI_PROC_NULL; }
  // One of the operations that a round waits for has ended. Caller: any; then the owner may free
  // this.
  void end_one() noexcept;

  Comm& comm_;  // kept by the request
  job::Rank& self_;
  const PartitionedBuffer buffer_;
  std::atomic<int> left_{0};  // number of operations that a round still waits for
};

class PartitionedSend final : public Partitioned {
 public:
  // Announces itself to the receiver.
  PartitionedSend(Comm& comm, const PartitionedBuffer& buffer);
  void start() override;
  Err ready(int low, int high) override;
  Err arrived(int partition, bool* out) const override;
  std::string text() const override;
  bool can_end_by_itself() const override;

 private:
  struct Part {
    msg::Request message;
    std::atomic<bool> is_ready{false};  // in this round
  };
  int count_ready() const noexcept;

  const std::unique_ptr<Part[]> parts_;
  uint32_t first_number_ = 0;
};

class PartitionedReceive final : public Partitioned {
 public:
  // Waits for the sender's announcement from now on.
  PartitionedReceive(Comm& comm, const PartitionedBuffer& buffer);
  ~PartitionedReceive() override;
  void start() override;
  Err ready(int low, int high) override;
  Err arrived(int partition, bool* out) const override;
  std::string text() const override;
  const msg::Status& outcome() const noexcept override { return outcome_; }
  Err error() override;

 private:
  // The state of one partition of the sender.
  struct Part {
    msg::Request message;
    PartitionedReceive* owner = nullptr;
    int index = 0;
    std::atomic<bool> is_there{false};  // in this round
  };
  // Which of the two things that a first round needs has come; the thread that brings the second
  // one posts.
  enum Stage : int { kKnown = 1, kStarted = 2 };
  enum class Landing : uint8_t { kBytes, kElements, kStaged, kNowhere };

  static void take_announcement(msg::Request* request, void* self) noexcept;
  static void take_part(msg::Request* message, void* part) noexcept;
  void learn() noexcept;
  void choose_landing() noexcept;
  void post() noexcept;
  msg::RecvArgs args_of(int part) noexcept;

  PartitionAnnouncement announcement_;
  msg::Request announced_;
  std::atomic<int> stage_{0};
  // Below: written by the thread that takes the announcement, read by threads that have seen
  // kKnown.
  Landing landing_ = Landing::kNowhere;
  std::unique_ptr<Part[]> parts_;  // null: the receive was taken back
  std::unique_ptr<char[]> staged_;
  msg::Status outcome_;
};

}  // namespace mpc::mpi
