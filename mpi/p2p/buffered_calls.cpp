// Bodies of MPI-4.1 section 3.6: buffers for buffered mode, attached and detached.

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "mpi/impl/p2p.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/session.h"

namespace mpc::mpi {
namespace impl {
namespace {

Err attach(std::shared_ptr<SendBuffer>& slot, void* buffer, Count size,
           const char* call) {
  if (slot != nullptr) {
    return fail(MPI_ERR_BUFFER,
                fmt::format("{}: a buffer is attached already; detach it first", call));
  }
  if (buffer == nullptr && size > 0) {
    return fail(MPI_ERR_BUFFER, fmt::format("{}: the buffer is a null pointer", call));
  }
  slot = std::make_shared<SendBuffer>(buffer, size);
  return kSuccess;
}

Err detach(std::shared_ptr<SendBuffer>& slot, void* buffer_address, Count* size,
           const char* call) {
  if (slot == nullptr) {
    // MPI-4.1 section 3.6: detaching nothing gives a null pointer and size zero.
    *static_cast<void**>(buffer_address) = nullptr;
    *size = 0;
    return kSuccess;
  }
  slot->flush(*rank_state()->rank, call);
  *static_cast<void**>(buffer_address) = slot->base();
  *size = slot->base() == MPI_BUFFER_AUTOMATIC ? 0 : slot->bytes();
  slot.reset();
  return kSuccess;
}

Err flush(std::shared_ptr<SendBuffer>& slot, const char* call) {
  if (slot != nullptr) slot->flush(*rank_state()->rank, call);
  return kSuccess;
}

// MPI_Buffer_iflush: the messages that were in the buffer when it was called.
struct Flush final : Several {
  std::vector<BufferedMessage> pending;
  const char* call = "";
  std::string text() const override {
    return fmt::format("{}: {} buffered messages to be delivered", call,
                       pending.size());
  }
};

Err iflush(std::shared_ptr<SendBuffer>& slot, Comm* comm, const char* call,
           Request** request) {
  auto flush = std::make_unique<Flush>();
  flush->call = call;
  if (slot != nullptr) flush->pending = slot->pending();
  for (const BufferedMessage& message : flush->pending) {
    flush->messages.push_back(&message.request());
  }
  *request = Request::make(*rank_state(), RequestKind::kSeveral, comm, call);
  (*request)->is_active = true;
  (*request)->several = std::move(flush);
  return kSuccess;
}

}  // namespace

Err buffer_attach(void* buffer, Count size) {
  return attach(rank_state()->send_buffer, buffer, size, "MPI_Buffer_attach");
}
Err buffer_detach(void* buffer_address, Count* size) {
  return detach(rank_state()->send_buffer, buffer_address, size, "MPI_Buffer_detach");
}
Err buffer_flush() { return flush(rank_state()->send_buffer, "MPI_Buffer_flush"); }
Err comm_attach_buffer(Comm& comm, void* buffer, Count size) {
  return attach(comm.send_buffer, buffer, size, "MPI_Comm_attach_buffer");
}
Err comm_detach_buffer(Comm& comm, void* buffer_address, Count* size) {
  return detach(comm.send_buffer, buffer_address, size, "MPI_Comm_detach_buffer");
}
Err buffer_iflush(Request** request) {
  return iflush(rank_state()->send_buffer, nullptr, "MPI_Buffer_iflush", request);
}
Err comm_iflush_buffer(Comm& comm, Request** request) {
  return iflush(comm.send_buffer, &comm, "MPI_Comm_iflush_buffer", request);
}
Err session_attach_buffer(Session& session, void* buffer, Count size) {
  return attach(session.buffer()->attached, buffer, size, "MPI_Session_attach_buffer");
}
Err session_detach_buffer(Session& session, void* buffer_address, Count* size) {
  return detach(session.buffer()->attached, buffer_address, size,
                "MPI_Session_detach_buffer");
}
Err session_flush_buffer(Session& session) {
  return flush(session.buffer()->attached, "MPI_Session_flush_buffer");
}
Err session_iflush_buffer(Session& session, Request** request) {
  return iflush(session.buffer()->attached, nullptr, "MPI_Session_iflush_buffer",
                request);
}
Err comm_flush_buffer(Comm& comm) {
  return flush(comm.send_buffer, "MPI_Comm_flush_buffer");
}

}  // namespace impl
}  // namespace mpc::mpi
