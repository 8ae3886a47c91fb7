// Lists what a rank has left when MPI ends for it: handles, requests, messages (mpi.check=full).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mpi/objects/attributes.h"
#include "mpi/objects/check.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/made.h"
#include "mpi/objects/note.h"
#include "mpi/objects/request.h"
#include "mpi/objects/watch.h"
#include "runtime/job/job.h"
#include "runtime/message/leftovers.h"

namespace mpc::mpi {
namespace {

// The objects of one kind that were created at one place.
struct Heap {
  int count = 0;
  CallSite site;
  std::string example;  // of requests: what is under way
};

std::string what_is_under_way(const Object& object) {
  if (object.kind() != Kind::kRequest) return {};
  const auto& request = static_cast<const Request&>(object);
  return fmt::format("{}, {}", request.text(),
                     !request.is_active  ? "not active"
                     : request.is_done() ? "done but not completed"
                                         : "under way");
}

// MPI-4.1 section 11.4.1: calls for them are allowed at any time.
bool may_outlive_mpi(Kind kind) noexcept {
  return kind == Kind::kInfo || kind == Kind::kErrhandler;
}

template <class Filter>
void report_handles(int world_rank, const char* call, Filter concerns) {
  std::map<std::pair<Kind, CodePlace>, Heap> heaps;
  for (const Made& made : objects_of(world_rank)) {
    if (!concerns(made.kind)) continue;
    Heap& heap = heaps[{made.kind, place_of(made.site.address)}];
    if (heap.count++ > 0) continue;
    heap.site = made.site;
    heap.example = what_is_under_way(*made.object);
  }
  for (const auto& [key, heap] : heaps) {
    const auto& [kind, place] = key;
    const std::string name = count_of(1, kind).substr(2);
    report_fault(
        ("not freed: " + name).c_str(), place, {}, [&, kind = kind, &heap = heap] {
          return fmt::format(
              "at {} rank {} still has {}\n  made by {}{}{}", call, world_rank,
              count_of(heap.count, kind),
              heap.site.call != nullptr ? call_at(heap.site) : "an unknown call",
              heap.example.empty() ? "" : ": ", heap.example);
        });
  }
}

void report_keyvals(const RankState& state, const char* call) {
  if (!state.keyvals) return;
  for (const KeyvalTable::Entry& entry : state.keyvals->list) {
    if (entry.owner == nullptr) continue;
    const CodePlace place = place_of(entry.made.address);
    report_fault("not freed: keyval", place, {}, [&] {
      return fmt::format("at {} rank {} still has a keyval\n  made by {}", call,
                         state.rank->world_rank, call_at(entry.made));
    });
  }
}

std::string comm_text(const RankState& state, msg::ContextId context) {
  for (const Comm* comm : {state.world, state.self})
    if (comm != nullptr && comm->context() == context) return comm->display_name();
  for (const Made& made : objects_of(state.rank->world_rank)) {
    if (made.kind != Kind::kComm) continue;
    const auto* comm = static_cast<const Comm*>(made.object);
    if (comm->context() == context) return comm->display_name();
  }
  return "a communicator that is freed";
}

void report_message(const RankState& state, const msg::Leftover& message,
                    const Note* note, const char* call) {
  report_fault("not received", note != nullptr ? note->place() : CodePlace{}, {}, [&] {
    return fmt::format(
        "at {} rank {} has a message that it has not received: {} bytes from rank {}, "
        "tag {}, {}{}{}",
        call, state.rank->world_rank, message.bytes, message.key.source,
        message.key.tag, comm_text(state, message.key.context),
        note != nullptr ? "\n  sent by " : "", note != nullptr ? note->text() : "");
  });
}

// Notes that have come for messages like this one. The last notes belong to the messages that are
// left.
std::vector<Note> notes_for(job::Rank& self, const msg::Key& key) {
  std::vector<Note> notes;
  while (const std::optional<Note> note = take_note(self, key, false))
    notes.push_back(*note);
  return notes;
}

void report_messages(const RankState& state, const char* call) {
  using KeyOrder = std::tuple<msg::ContextId, int, int>;
  std::map<KeyOrder, std::vector<msg::Leftover>> by_key;
  for (const msg::Leftover& one : msg::leftovers(*state.rank, is_of_user))
    by_key[{one.key.context, one.key.source, one.key.tag}].push_back(one);
  for (const auto& [order, messages] : by_key) {
    const std::vector<Note> notes = notes_for(*state.rank, messages.front().key);
    const size_t n = messages.size();
    for (size_t i = 0; i < n; ++i)
      report_message(state, messages[i],
                     notes.size() >= n ? &notes[notes.size() - n + i] : nullptr, call);
  }
}

}  // namespace

namespace {

// The requests that the program has freed, and that have not been reaped. Caller: the last call of
// the rank.
std::vector<Request*> abandoned_requests(const RankState& state) {
  std::vector<Request*> list;
  for (Request* one = state.requests->abandoned; one != nullptr; one = one->next)
    list.push_back(one);
  return list;
}

// All ranks that the request may involve have come to the end.
bool is_within_world(const Request& request, const Comm& world) {
  const Comm* const comm = request.comm();
  if (comm == nullptr || comm->is_inter()) return false;
  for (int i = 0; i < comm->size(); ++i)
    if (world.group()->index_of(comm->group()->world_rank(i)) < 0) return false;
  return true;
}

std::vector<msg::Request*> messages_of(Request& request) {
  switch (request.kind()) {
    case RequestKind::kSend:
    case RequestKind::kRecv:
      return {&request.message};
    case RequestKind::kSeveral:
      return request.several->messages;
    default:
      return {};
  }
}

// Messages of other processes may still be on their way.
void wait_for_the_network(job::Rank& self, const std::vector<Request*>& requests) {
  constexpr uint64_t kMostNs = 2'000'000'000;
  const uint64_t end_ns = sched::now_ns() + kMostNs;
  const auto is_over = [](const Request* one) { return one->is_done(); };
  while (!std::ranges::all_of(requests, is_over) && sched::now_ns() < end_ns) {
    msg::progress(self);
    msg::relax(self);
  }
}

void report_freed(const RankState& state, const Request& request, const char* call) {
  CallSite made{request.call(), nullptr}, freed{"MPI_Request_free", nullptr};
  if (const std::optional<Freed> found = Watch::here().freed(request)) {
    made = found->made;
    freed = found->freed;
  }
  report_fault("freed while active", place_of(made.address), place_of(freed.address),
               [&] {
                 return fmt::format(
                     "at {} rank {} has an operation under way that nobody completes\n"
                     "  {}: {}\n  freed by {}",
                     call, state.rank->world_rank, call_at(made), request.text(),
                     call_at(freed));
               });
}

}  // namespace

void end_freed_requests(RankState& state, const char* call) {
  job::Rank& self = *state.rank;
  std::vector<Request*> open;
  for (Request* one : abandoned_requests(state))
    if (!one->is_done() && is_within_world(*one, *state.world)) open.push_back(one);
  if (open.empty()) return;
  if (!state.world->is_in_one_process()) wait_for_the_network(self, open);
  for (Request* request : open) {
    const std::vector<msg::Request*> messages = messages_of(*request);
    for (msg::Request* message : messages)
      if (!message->is_complete()) msg::cancel(self, *message);  // if not matched
    if (!messages.empty()) wait_done(state, *request, call);
    const auto is_cancelled = [](const msg::Request* one) {
      return one->status().cancelled;
    };
    if (std::ranges::any_of(messages, is_cancelled))
      report_freed(state, *request, call);
  }
}

void report_what_is_left(RankState& state, const char* call) {
  if (!is_checking()) return;
  report_handles(state.rank->world_rank, call,
                 [](Kind kind) { return !may_outlive_mpi(kind); });
  report_keyvals(state, call);
  report_messages(state, call);
  if (state.rank->job->is_singleton()) report_fault_counts();  // no rank comes later
}

void report_what_is_left_at_end(RankState& state) {
  constexpr const char* kEnd = "the end of its program";
  if (!is_checking()) return;
  if (state.sessions > 0) report_what_is_left(state, kEnd);
  if (state.sessions > 0 || state.finalised.load(std::memory_order_relaxed))
    report_handles(state.rank->world_rank, kEnd, &may_outlive_mpi);
}

}  // namespace mpc::mpi
