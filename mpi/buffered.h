#pragma once
// Buffered mode: MPI_Bsend and the buffers that users attach for it.
//
// Role:      keeps a packed copy of each buffered message until it is delivered, and refuses
//            what does not fit in the attached buffer.
// Users:     mpi/p2p.cpp, mpi/completion.cpp (persistent Bsend), mpi/rank_state (end of rank).
// Threads:   any execution of the rank; one lock per buffer, never held over a switch.
// See also:  MPI-4.1 section 3.6.
//
// The attached memory is a quota: copies live in memory of the runtime, each counted as the
// standard's model counts it (packed size + MPI_BSEND_OVERHEAD), so the user's memory is never
// written and there is no fragmentation. MPI_BUFFER_AUTOMATIC is a quota without a bound.

#include <memory>
#include <mutex>

#include "mpi.h"
#include "mpi/error.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Comm;

class SendBuffer {
 public:
  SendBuffer(void* base, int64_t bytes) noexcept : base_(base), bytes_(bytes) {}
  ~SendBuffer();
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  // Errors: MPI_ERR_BUFFER if the message does not fit beside those not yet delivered.
  Err send(job::Rank& self, const msg::SendArgs& args);
  // Waits until everything is delivered. Switches: yes.
  void flush(job::Rank& self, const char* call);
  bool is_empty();
  void* base() const noexcept { return base_; }
  int64_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry;
  void reap();  // caller holds mutex_

  std::mutex mutex_;
  void* base_;
  int64_t bytes_;
  int64_t used_ = 0;
  Entry* entries_ = nullptr;
};

// MPI_Bsend: by the communicator's buffer if it has one, else by the rank's.
Err buffered_send(const msg::SendArgs& args, Comm& comm);

}  // namespace mpc::mpi
