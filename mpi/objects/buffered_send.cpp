// Which of the attached buffers a buffered send uses (MPI-4.1 section 3.6).

#include "mpi/objects/buffered.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

Err buffered_send(const msg::SendArgs& args, Comm& comm, BufferedMessage* message) {
  SendBuffer* buffer = comm.send_buffer.get();
  if (buffer == nullptr && comm.session_buffer() != nullptr)
    buffer = comm.session_buffer()->attached.get();
  if (buffer == nullptr) buffer = rank_state()->send_buffer.get();
  if (buffer == nullptr) {
    return fail(MPI_ERR_BUFFER,
                "a buffered send without a buffer; call MPI_Buffer_attach "
                "before it");
  }
  return buffer->send(comm.self(), args, message);
}

}  // namespace mpc::mpi
