#include "mpi/objects/note.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "mpi/objects/comm.h"
#include "mpi/objects/wait_reasons.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

using dt::Count;

template <size_t kBytes>
void store(std::string_view text, char (&to)[kBytes]) noexcept {
  const size_t n = std::min(text.size(), kBytes - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

bool share_memory(int world_a, int world_b) {
  const job::ProcessMap& map = job::Job::instance().processes();
  return map.process_of(world_a) == map.process_of(world_b);
}

// A path that is too long loses its folders.
std::string_view fitting(std::string_view path, size_t room) noexcept {
  return path.size() < room ? path : path.substr(path.rfind('/') + 1);
}

Note make_note(const Comm& comm, int world_dest, Count count,
               const dt::Datatype& type) {
  const CallSite site = this_call();
  Note note{};
  note.hash = dt::hash_repeat(type.signature_hash(), count);
  note.elements = type.elements() * count;
  note.bytes = type.size() * count;
  note.count = count;
  note.type_elements = type.elements();
  note.type_code = type.abi_code();
  note.uniform_code = type.uniform_code();
  note.sender = comm.self().world_rank;
  store(site.call != nullptr ? site.call : "a call", note.call);
  note.address = reinterpret_cast<uintptr_t>(site.address);
  if (!share_memory(note.sender, world_dest)) {
    const CodePlace place = place_of(site.address);
    note.offset = place.offset;
    store(fitting(place.path, sizeof note.path), note.path);
  }
  return note;
}

// The hash of the first `elements` basic elements of any number of `type`.
dt::SignatureHash hash_of_first(const dt::Datatype& type, Count elements) {
  if (type.elements() == 0) return {};
  dt::SignatureHash hash =
      dt::hash_repeat(type.signature_hash(), elements / type.elements());
  Count left = elements % type.elements();
  dt::SignatureCursor cursor(type.signature(), 1);
  for (dt::SignatureCursor::Run run{}; left > 0 && cursor.next(run);) {
    const Count n = std::min(left, run.count);
    hash = dt::hash_append(hash, dt::hash_repeat(dt::hash_basic(run.code), n));
    left -= n;
  }
  return hash;
}

}  // namespace

CodePlace Note::place() const {
  if (path[0] != '\0') return {path, offset};
  return place_of(reinterpret_cast<const void*>(address));
}

std::string Note::text() const {
  return fmt::format("{} of rank {}: {}", call_at(call, place()), sender,
                     elements_text(count, type_code, uniform_code, type_elements));
}

std::shared_ptr<SentNote> send_note(Comm& comm, int dest, int tag, Count count,
                                    const dt::Datatype& type) {
  static_assert(sizeof(Note) <= 224, "longer ones do not go through the ring");
  const int world_dest = comm.peer_world_rank(dest);
  auto sent = std::make_shared<SentNote>();
  sent->note = make_note(comm, world_dest, count, type);
  msg::start_send(
      comm.self(), sent->request,
      {&sent->note, sizeof(Note), dt::predefined(dt::abi::kByte), world_dest,
       note_context(comm.context()), tag, comm.rank(), msg::Mode::kStandard});
  return sent;
}

std::optional<Note> take_note(job::Rank& self, const msg::Key& message, bool waits) {
  constexpr uint64_t kMostNs = 2'000'000'000;  // it was sent before the message
  const uint64_t end_ns = sched::now_ns() + (waits ? kMostNs : 0);
  msg::MatchedMessage* found = nullptr;
  for (;;) {
    msg::progress(self);
    msg::Status status;
    found = msg::improbe(self, message.source, note_context(message.context),
                         message.tag, &status);
    if (found != nullptr) break;
    if (sched::now_ns() >= end_ns) return {};
    msg::relax(self);
  }
  Note note{};
  msg::Request request;
  msg::start_mrecv(self, request, found, &note, sizeof note,
                   dt::predefined(dt::abi::kByte));
  class Reason final : public sched::WaitReason {
    std::string text() const override {
      return "mpi.check: what a message consists of";
    }
  };
  msg::wait(self, request, Reason());
  return note;
}

bool fits(const Note& note, const dt::Datatype& type) {
  if (note.bytes == 0 || type.size() == 0) return true;
  // MPI-4.1 section 3.3.1: packed data may be received as their original types, and vice versa.
  if (note.is_packed() || type.uniform_code() == dt::abi::kPacked) return true;
  return note.hash == hash_of_first(type, note.elements);
}

}  // namespace mpc::mpi
