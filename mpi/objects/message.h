#pragma once
// Message: the object behind an MPI_Message, a message taken out of matching by MPI_Mprobe.
//
// Role:      holds the message until MPI_Mrecv or MPI_Imrecv consumes it.
// Users:     mpi/p2p/probe.cpp.
// Threads:   any execution of the rank; it is what makes probes safe with several threads.
// See also:  MPI-4.1 section 3.8.2.

#include <utility>

#include "mpi.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/object.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Message final : public Object {
 public:
  Message(Comm& comm, msg::MatchedMessage* matched) noexcept
      : Object(Kind::kMessage, comm.self().world_rank), comm_(comm), matched_(matched) {
    comm_.retain();
  }
  Comm& comm() const noexcept { return comm_; }
  msg::MatchedMessage* take() noexcept { return std::exchange(matched_, nullptr); }
  MPI_Message handle() noexcept { return reinterpret_cast<MPI_Message>(this); }
  void drop() noexcept {
    Comm& comm = comm_;
    delete this;
    comm.drop();
  }

 private:
  ~Message() = default;

  Comm& comm_;
  msg::MatchedMessage* matched_;
};

}  // namespace mpc::mpi
