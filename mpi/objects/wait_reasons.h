#pragma once
// Wait reasons of MPI calls: the lines of the deadlock report and of the Ctrl-\ table.
//
// Role:      the name of the call and what it waits for, in the user's terms. Making one costs
//            a few stores; the text is made only for a report.
// Users:     mpi/objects/request.cpp, mpi/p2p, mpi/coll.
// Threads:   text() runs on a reporting thread while the waiter is held.
// See also:  scheduler/execution.h, runtime/job/report.h.

#include <fmt/format.h>

#include <string>

#include "mpi/objects/comm.h"
#include "runtime/datatype/datatype.h"
#include "scheduler/execution.h"

namespace mpc::mpi {

class Request;

using dt::Count;

inline constexpr Count kNoCount = -1;  // of a probe

// "receive of 4 elements from rank 3, tag 7, MPI_COMM_WORLD".
std::string describe_p2p(const char* what, Count count, const char* direction, int peer,
                         int tag, const Comm* comm);

// The world rank of the peer, for profiles; -1: no single rank.
int world_rank_of(const Comm& comm, int peer) noexcept;
// The rank that a send or receive waits for; -1: none, or another kind of request. In request.cpp.
int partner_of(const Request& request) noexcept;

// A blocking send, receive or probe.
class P2pReason final : public sched::WaitReason {
 public:
  P2pReason(const char* call, const char* what, Count count, const char* direction,
            int peer, int tag, const Comm& comm) noexcept
      : call_(call),
        what_(what),
        direction_(direction),
        count_(count),
        peer_(peer),
        tag_(tag),
        comm_(comm) {}
  std::string text() const override {
    return fmt::format("{}: {}", call_,
                       describe_p2p(what_, count_, direction_, peer_, tag_, &comm_));
  }
  int partner() const noexcept { return world_rank_of(comm_, peer_); }

 private:
  const char* call_;
  const char* what_;
  const char* direction_;
  Count count_;
  int peer_, tag_;
  const Comm& comm_;
};

// A collective on a communicator.
class CollectiveReason final : public sched::WaitReason {
 public:
  CollectiveReason(const char* call, const Comm& comm) noexcept
      : call_(call), comm_(comm) {}
  std::string text() const override {
    return fmt::format("{} on {}", call_, comm_.display_name());
  }

 private:
  const char* call_;
  const Comm& comm_;
};

}  // namespace mpc::mpi
