#include "mpi/objects/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/objects/request.h"

namespace mpc::mpi {
namespace {

void store_end(Receive& receive, const msg::Status& status) {
  receive.has_ended = true;
  receive.request = nullptr;
  receive.was_cancelled = status.cancelled;
  receive.has_failed = status.failed;
  receive.source = status.source;
  receive.tag = status.tag;
  receive.bytes = status.bytes;
}

// The operation may have ended though the program has not asked yet.
void refresh(Receive& receive) {
  if (receive.has_ended || receive.request == nullptr) return;
  if (receive.request->is_done()) store_end(receive, receive.request->result());
}

void compare(const Receive& receive) {
  if (!receive.note.has_value() || !receive.type || receive.has_failed) return;
  const Note& note = *receive.note;
  // Two threads that receive at once may have swapped their notes.
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

}  // namespace

Receive::Receive(Comm& its_comm, int its_source, int its_tag) noexcept
    : comm(its_comm), source(its_source), tag(its_tag) {
  comm.retain();
}
Receive::~Receive() { comm.drop(); }

Watch& Watch::here() {
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.watch) state.watch = std::make_shared<Watch>(*state.rank);
  return *state.watch;
}

Watch::~Watch() {
  // Somebody else may still want to read them.
  for (std::shared_ptr<SentNote>& note : notes_)
    if (!note->request.is_complete()) new std::shared_ptr<SentNote>(std::move(note));
}

ReceiveRef Watch::post(Comm& comm, int source, int tag) {
  auto receive = std::make_shared<Receive>(comm, source, tag);
  const std::lock_guard lock(mutex);
  Stream& stream = streams_[comm.context()];
  if (!stream.is_lost) stream.receives.push_back(receive);
  return receive;
}

WatchedRef Watch::find(const Request* request) {
  const std::lock_guard lock(mutex);
  const auto found = requests.find(request);
  return found != requests.end() ? found->second : nullptr;
}

void Watch::note_end(Receive& receive, const msg::Status& status) {
  const std::lock_guard lock(mutex);
  if (!receive.has_ended) store_end(receive, status);
}

// The first one that has ended, unless an earlier one may have taken the same message, or one before
// it. Messages of one source with one tag are matched in the order in which receives are posted.
ReceiveRef Watch::next_ripe(Stream& stream) {
  auto& list = stream.receives;
  for (auto it = list.begin(); it != list.end();) {
    refresh(**it);
    if ((*it)->was_cancelled) {
      it = list.erase(it);
      continue;
    }
    const Receive& one = **it;
    const bool is_certain =
        one.has_ended &&
        std::none_of(list.begin(), it, [&one](const ReceiveRef& other) {
          return other->may_take(one.source, one.tag);
        });
    if (is_certain) {
      ReceiveRef found = *it;
      list.erase(it);
      return found;
    }
    ++it;
  }
  return nullptr;
}

void Watch::settle(const Comm& comm) {
  for (;;) {
    ReceiveRef next;
    {
      const std::lock_guard lock(mutex);
      Stream& stream = streams_[comm.context()];
      if (stream.is_settling || stream.is_lost) return;
      next = next_ripe(stream);
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
  std::erase_if(notes_, [](const auto& sent) { return sent->request.is_complete(); });
  if (!note->request.is_complete()) notes_.push_back(std::move(note));
}

}  // namespace mpc::mpi
