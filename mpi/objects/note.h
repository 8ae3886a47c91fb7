#pragma once
// Note: what a sender tells its receiver about a message, for mpi.check=full.
//
// Role:      a second message in front of each message that a program sends, on a context of its
//            own with the same source and tag: signature, call, place. So messages themselves stay
//            as they are.
// Users:     mpi/objects/watch, mpi/objects/check (messages that were not received).
// Threads:   any execution of the rank.
// See also:  docs/design/0034-checking.md (why the n-th note belongs to the n-th message).

#include <memory>
#include <optional>

#include "mpi/objects/context_ids.h"
#include "mpi/objects/fault.h"
#include "runtime/datatype/signature.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Comm;

// The context of the notes of messages with this context. Even, so no other context is the same.
constexpr msg::ContextId note_context(msg::ContextId context) noexcept {
  return context | kPartitionedBit;
}
constexpr bool is_of_user(msg::ContextId context) noexcept {
  return context % 2 == 0 && (context & kPartitionedBit) == 0;
}

// Travels as bytes. Small enough for the ring.
struct Note {
  dt::SignatureHash hash;
  dt::Count elements, bytes;       // of the message
  dt::Count count, type_elements;  // as the call had it
  uint32_t type_code, uniform_code;
  int32_t sender;  // world rank
  char call[24];
  uint64_t address, offset;
  char path
      [104];  // the file of address and offset, if sender and receiver share no memory

  bool is_packed() const noexcept { return uniform_code == dt::abi::kPacked; }
  std::string text() const;  // "MPI_Send at a.c:12 of rank 0: 4 MPI_INT"
  CodePlace place() const;
};

// A note on its way. It may have to live until the message has matched its receive.
struct SentNote {
  msg::Request request;
  Note note;
};
// Caller: the execution that is about to send the message itself to rank `dest`, which is not
// MPI_PROC_NULL.
std::shared_ptr<SentNote> send_note(Comm& comm, int dest, int tag, dt::Count count,
                                    const dt::Datatype& type);
// The oldest note with this key; nothing if none has come (if `waits`: or comes within a short
// time).
// Switches: yes.
std::optional<Note> take_note(job::Rank& self, const msg::Key& message, bool waits);

// May a message with this note be received as elements of `type`? Both have passed the check of
// lengths.
bool fits(const Note& note, const dt::Datatype& type);

}  // namespace mpc::mpi
