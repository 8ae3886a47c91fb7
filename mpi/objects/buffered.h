#pragma once
// Buffered mode: MPI_Bsend and the buffers that users attach for it.
//
// Role:      keeps a packed copy of each buffered message until it is delivered, and refuses
//            messages that do not fit in the attached buffer.
// Users:     mpi/p2p (sends), mpi/objects/request.h (persistent Bsend), mpi/env (its end), mpi/comm.
// Threads:   any execution of the rank; one lock per buffer, never held over a switch.
// See also:  MPI-4.1 section 3.6.
//
// The attached memory is a quota: copies live in memory of the runtime, each counted as the
// standard's model counts it (packed size + MPI_BSEND_OVERHEAD), so the user's memory is never
// written and there is no fragmentation. MPI_BUFFER_AUTOMATIC is a quota without a bound.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Comm;

// A message in a SendBuffer, kept by the buffer until it is delivered and by the request of
// MPI_Ibsend or MPI_Bsend_init that sent it, for MPI_Cancel. Null: none.
class BufferedMessage {
 public:
  BufferedMessage() = default;
  BufferedMessage(BufferedMessage&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  BufferedMessage& operator=(BufferedMessage other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~BufferedMessage();
  msg::Request& request() const noexcept;  // must not be null
  // Takes the message back if it has not been matched. True: it is cancelled.
  bool cancel(job::Rank& self);

 private:
  friend class SendBuffer;
  struct Entry;
  Entry* entry_ = nullptr;
};

class SendBuffer {
 public:
  SendBuffer(void* base, int64_t bytes) noexcept : base_(base), bytes_(bytes) {}
  ~SendBuffer();
  SendBuffer(const SendBuffer&) = delete;
  SendBuffer& operator=(const SendBuffer&) = delete;

  // Errors: MPI_ERR_BUFFER if the message does not fit beside those not yet delivered.
  // `message`, if not null, refers to the message afterwards.
  Err send(job::Rank& self, const msg::SendArgs& args, BufferedMessage* message);
  // Waits until everything is delivered. Switches: yes.
  void flush(job::Rank& self, const char* call);
  // The messages that have not been delivered yet.
  std::vector<BufferedMessage> pending();
  bool is_empty();
  void* base() const noexcept { return base_; }
  int64_t bytes() const noexcept { return bytes_; }

 private:
  using Entry = BufferedMessage::Entry;
  void reap();  // caller holds mutex_

  std::mutex mutex_;
  void* base_;
  int64_t bytes_;
  int64_t used_ = 0;
  Entry* entries_ = nullptr;
};

// The buffer that MPI_Session_attach_buffer attaches. All communicators and groups that come from
// the session know it; they may be older than the buffer.
struct SessionBuffer {
  std::shared_ptr<SendBuffer> attached;
};
using SessionBufferRef = std::shared_ptr<SessionBuffer>;

// MPI_Bsend: by the communicator's buffer if it has one, else by its session's, else by the rank's.
Err buffered_send(const msg::SendArgs& args, Comm& comm,
                  BufferedMessage* message = nullptr);

}  // namespace mpc::mpi
