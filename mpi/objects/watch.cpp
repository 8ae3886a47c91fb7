#include "mpi/objects/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/objects/made.h"
#include "mpi/objects/request.h"

namespace mpc::mpi {
namespace {

void compare(const Receive& receive) {
  if (!receive.note.has_value() || !receive.type || receive.has_failed) return;
  const Note& note = *receive.note;
  // Two threads that receive at the same time may have swapped their notes.
  if (note.bytes != receive.bytes || fits(note, *receive.type)) return;
  report_fault("types differ", place_of(receive.site.address), note.place(), [&] {
    return fmt::format(
        "a message is received as what it was not sent as\n"
        "  {} of rank {}: {} from rank {}, tag {}, {}\n  {}",
        call_at(receive.site), receive.comm.self().world_rank,
        elements_text(receive.count, *receive.type), receive.source, receive.tag,
        receive.comm.display_name(), note.text());
  });
}

void note_end_of_request(const Object& request) {
  RankState* const state = rank_state();
  if (state == nullptr) return;
  std::shared_ptr<Watch> watch;  // null: there is none yet, or no more
  {
    const std::lock_guard lock(state->mutex);
    watch = state->watch;
  }
  if (watch != nullptr) watch->note_gone(static_cast<const Request&>(request));
}

}  // namespace

Watch& Watch::here() {
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.watch) {
    state.watch = std::make_shared<Watch>(*state.rank);
    at_end_of_requests(note_end_of_request);
  }
  return *state.watch;
}

Watch::~Watch() {
  // Others may still want to read them.
  for (std::shared_ptr<SentNote>& note : notes_)
    if (!note->request.is_complete()) new std::shared_ptr<SentNote>(std::move(note));
}

ReceiveRef Watch::post(Comm& comm, int source, int tag) {
  auto receive = std::make_shared<Receive>(comm, source, tag);
  const std::lock_guard lock(mutex);
  Stream& stream = streams_[comm.context()];
  if (!stream.is_lost) stream.receives.post(receive);
  return receive;
}

WatchedRef Watch::find(const Request* request) {
  const std::lock_guard lock(mutex);
  const auto found = requests.find(request);
  return found != requests.end() ? found->second : nullptr;
}

void Watch::note_end(Receive& receive, const msg::Status& status) {
  const std::lock_guard lock(mutex);
  streams_[receive.comm.context()].receives.end(receive, status);
}

void Watch::settle(const Comm& comm) {
  for (;;) {
    ReceiveRef next;
    {
      const std::lock_guard lock(mutex);
      Stream& stream = streams_[comm.context()];
      if (stream.is_settling || stream.is_lost) return;
      next = stream.receives.next();
      if (next == nullptr) return;
      stream.is_settling = true;
    }
    const std::optional<Note> note =
        take_note(self, {comm.context(), next->source, next->tag}, true);
    {
      const std::lock_guard lock(mutex);
      streams_[comm.context()].is_settling = false;
      next->note = note;
    }
    if (!note.has_value()) return lose(*next);
    compare(*next);
  }
}

void Watch::lose(Receive& receive) {
  const std::lock_guard lock(mutex);
  Stream& stream = streams_[receive.comm.context()];
  stream.is_lost = true;
  stream.receives.clear();
}

void Watch::set_call(Receive& receive, dt::Count count, const dt::Datatype& type) {
  {
    const std::lock_guard lock(mutex);
    receive.set_call(count, type, this_call());
  }
  compare(receive);
}

void Watch::keep(std::shared_ptr<SentNote> note) {
  const std::lock_guard lock(mutex);
  if (notes_.size() >= notes_before_look_) {
    std::erase_if(notes_, [](const auto& sent) { return sent->request.is_complete(); });
    notes_before_look_ = 2 * notes_.size() + 16;
  }
  if (!note->request.is_complete()) notes_.push_back(std::move(note));
}

void Watch::note_freed(const Request& request, CallSite made, ReceiveRef receive) {
  const std::lock_guard lock(mutex);
  freed_[&request] = {made, this_call(), std::move(receive)};
}

void Watch::note_gone(const Request& request) {
  const std::lock_guard lock(mutex);
  const auto found = freed_.find(&request);
  if (found == freed_.end()) return;
  if (const ReceiveRef receive = std::move(found->second.receive)) {
    receive->request = nullptr;
    streams_[receive->comm.context()].receives.end(*receive, request.result());
  }
  freed_.erase(found);
}

std::optional<Freed> Watch::freed(const Request& request) {
  const std::lock_guard lock(mutex);
  const auto found = freed_.find(&request);
  if (found == freed_.end()) return {};
  return found->second;
}

}  // namespace mpc::mpi
