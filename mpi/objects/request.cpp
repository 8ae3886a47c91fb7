#include "mpi/objects/request.h"

#include <fmt/format.h>

#include "mpi/objects/blame.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/go_direct.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/status.h"
#include "mpi/objects/wait_reasons.h"
#include "runtime/job/wait_partner.h"
#include "runtime/message/abroad.h"
#include "runtime/message/background.h"

namespace mpc::mpi {

bool Request::is_done() const noexcept {
  switch (kind_) {
    case RequestKind::kDone:
    case RequestKind::kBuffered:
      return true;
    case RequestKind::kSend:
    case RequestKind::kRecv:
      return message.is_complete();
    case RequestKind::kSeveral:
      for (const msg::Request* part : several->messages) {
        if (!part->is_complete()) return false;
      }
      return true;
    case RequestKind::kCollective:
      return collective->collective == nullptr ||
             nbc::is_complete(*collective->collective);
    case RequestKind::kSmallCollective:
      // Takes what has come, which changes nothing that the user may look at yet.
      return nbc::direct::advance(const_cast<nbc::direct::Pending&>(pending));
    case RequestKind::kGeneralized:
      return generalized->is_complete.load(std::memory_order_acquire);
    case RequestKind::kMeeting:
    case RequestKind::kFile:
    case RequestKind::kPartitioned:
      return several->is_over();
  }
  return true;
}

const msg::Status& Request::result() const noexcept {
  switch (kind_) {
    case RequestKind::kSend:
    case RequestKind::kRecv:
      return message.status();
    case RequestKind::kSeveral:
      if (several->receive == nullptr) break;
      return several->receive->status();
    case RequestKind::kCollective:
      return collective->collective == nullptr ? done_status
                                               : nbc::status(*collective->collective);
    case RequestKind::kPartitioned:
    case RequestKind::kFile:
      return several->outcome();
    case RequestKind::kDone:
    case RequestKind::kBuffered:
    case RequestKind::kGeneralized:
    case RequestKind::kMeeting:
      break;
    case RequestKind::kSmallCollective:  // done_status is not renewed
      return Several::nothing();
  }
  return done_status;
}

const msg::Status& Several::nothing() noexcept {
  static const msg::Status none;
  return none;
}

const msg::Status& Several::outcome() const noexcept { return nothing(); }

bool Request::can_end_by_itself() const {
  if (kind_ == RequestKind::kPartitioned) return several->can_end_by_itself();
  return kind_ == RequestKind::kGeneralized;
}

std::string Request::text() const {
  switch (kind_) {
    case RequestKind::kSend:
    case RequestKind::kBuffered:
      return describe_p2p("send", send.count, "to", peer, send.tag, comm_);
    case RequestKind::kRecv:
      return describe_p2p("receive", recv.count, "from", peer, recv.tag, comm_);
    case RequestKind::kSeveral:
    case RequestKind::kMeeting:
    case RequestKind::kFile:
    case RequestKind::kPartitioned:
      return several->text();
    case RequestKind::kCollective:
    case RequestKind::kSmallCollective:
      return fmt::format("{} on {}", call_, comm_->display_name());
    case RequestKind::kGeneralized:
      return "generalized request";
    case RequestKind::kDone:
      break;
  }
  return call_;
}

namespace {

void start_collective(CollectiveState& state) {
  if (state.collective == nullptr) return;
  state.split.note_start();
  if (state.staged != nullptr) [[unlikely]] {
    state.staged->load();
    state.is_stored = false;
  }
  nbc::start(*state.collective);
  state.split.note_started();
}

// One request.
class RequestReason final : public sched::WaitReason {
 public:
  RequestReason(const char* call, const Request& request) noexcept
      : call_(call), request_(request) {}
  std::string text() const override {
    return fmt::format("{}: {}", call_, request_.text());
  }
  bool can_end_by_itself() const override { return request_.can_end_by_itself(); }
  int partner() const noexcept { return partner_of(request_); }

 private:
  const char* call_;
  const Request& request_;
};

}  // namespace

int partner_of(const Request& request) noexcept {
  if (request.kind() == RequestKind::kSmallCollective) {
    const int member = nbc::direct::missing_member(request.pending);
    return member < 0 ? -1 : world_rank_of(*request.comm(), member);
  }
  if (request.kind() == RequestKind::kSend) return request.send.dest_world;
  if (request.kind() != RequestKind::kRecv || request.comm() == nullptr) return -1;
  return world_rank_of(*request.comm(), request.recv.source_in_comm);
}

namespace {

bool explain(const sched::WaitReason& reason, job::WaitPartner& partner) {
  const auto* of_request = dynamic_cast<const RequestReason*>(&reason);
  if (of_request != nullptr) partner.rank = of_request->partner();
  return of_request != nullptr;
}

[[gnu::constructor]] void register_source() { job::add_partner_source(explain); }

// The program has finished what it wanted to do during the collective.
void close_window(CollectiveState& state) { state.split.note_wait(); }

}  // namespace

Err start_request(RankState& state, Request& request) {
  if (request.is_active) {
    return fail(MPI_ERR_REQUEST,
                fmt::format("the persistent request of {} is active already; "
                            "complete it before it is started again",
                            request.call()));
  }
  request.is_active = true;
  const msg::ShortCall short_call;
  switch (request.kind()) {
    case RequestKind::kSend:
      msg::start_send(*state.rank, request.message, request.send);
      break;
    case RequestKind::kRecv:
      msg::start_recv(*state.rank, request.message, request.recv);
      break;
    case RequestKind::kBuffered:
      request.done_status = msg::Status{};
      if (Err error = buffered_send(request.send, *request.comm(), &request.buffered)) {
        request.is_active = false;
        return error;
      }
      break;
    case RequestKind::kCollective:
      start_collective(*request.collective);
      break;
    case RequestKind::kPartitioned:
      request.several->start();
      break;
    case RequestKind::kDone:
    case RequestKind::kSmallCollective:  // are started when they are made
    case RequestKind::kSeveral:
    case RequestKind::kMeeting:
    case RequestKind::kFile:
    case RequestKind::kGeneralized:
      break;
  }
  return kSuccess;
}

void wait_done(RankState& state, Request& request, const char* call) {
  if (request.kind() == RequestKind::kSmallCollective) {
    if (request.is_done()) return;
    return nbc::direct::wait(request.pending, RequestReason(call, request));
  }
  if (request.kind() == RequestKind::kCollective) close_window(*request.collective);
  if (request.is_done()) return;
  if (request.kind() == RequestKind::kFile) {
    request.several->help();
    if (request.is_done()) return;
  }
  const RequestReason reason(call, request);
  if (request.is_message()) {
    msg::wait(*state.rank, request.message, reason);
    return;
  }
  if (request.kind() == RequestKind::kSeveral) {
    const auto& parts = request.several->messages;
    msg::wait_all(*state.rank, parts.data(), parts.size(), reason);
    return;
  }
  msg::wait_until(
      *state.rank, nullptr, 0,
      [](void* argument) { return static_cast<Request*>(argument)->is_done(); },
      &request, reason);
}

void store_staged(Request& request) noexcept {
  if (request.staged != nullptr && request.is_active) [[unlikely]] {
    request.staged->store();
    request.staged.reset();
    return;
  }
  if (request.kind() != RequestKind::kCollective || !request.is_active) return;
  CollectiveState& state = *request.collective;
  if (state.staged == nullptr || state.is_stored) return;
  state.staged->store();
  state.is_stored = true;
}

Err error_of(const msg::Status& status) {
  if (!status.failed) return kSuccess;
  if (status.error == Errc::kTruncate) {
    return fail(
        MPI_ERR_TRUNCATE,
        fmt::format("a message from rank {} with tag {} is longer than the receive "
                    "buffer of {} bytes",
                    status.source, status.tag, status.bytes));
  }
  // "the operation failed" says less than which process has ended.
  const std::string gone =
      status.error == Errc::kLost ? msg::abroad::last_gone() : std::string();
  return fail(Error{status.error, gone.empty() ? "the operation failed"
                                               : fmt::format("a rank of another job "
                                                             "will not answer: {}",
                                                             gone)});
}

Err error_of_collective(const msg::Status& status, const char* call) {
  if (status.failed && status.error == Errc::kCount) {
    return fail(
        MPI_ERR_NOT_SAME,
        fmt::format("{}: a message is shorter than this rank's buffer: counts or types "
                    "differ between the ranks",
                    call));
  }
  if (!status.failed || status.error != Errc::kTruncate) return error_of(status);
  const std::string sender =
      status.source < 0 ? std::string() : fmt::format(" from rank {}", status.source);
  return fail(MPI_ERR_TRUNCATE,
              fmt::format("{}: a message{} is longer than this rank's buffer: "
                          "counts or types differ between the ranks",
                          call, sender));
}

int query_status(const Generalized& fns, MPI_Status* status) {
  MPI_Status own{};
  set_empty(&own);
  const int code =
      fns.query == nullptr ? MPI_SUCCESS : fns.query(fns.extra_state, &own);
  if (status != MPI_STATUS_IGNORE) {
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
  }
  return code;
}

namespace {

// MPI-4.1 section 13.2: query_fn fills the status, free_fn ends the request; both when it is
// complete.
Err finish_generalized(Request& request, MPI_Status* status) {
  const Generalized& fns = *request.generalized;
  int code = query_status(fns, status);
  const int freed = fns.free == nullptr ? MPI_SUCCESS : fns.free(fns.extra_state);
  if (code == MPI_SUCCESS) code = freed;
  return Err{code};
}

Err failure_of(const Request& request, const msg::Status& result) {
  if (request.kind() == RequestKind::kCollective)
    return error_of_collective(result, request.call());
  if (request.kind() == RequestKind::kPartitioned) return request.several->error();
  return error_of(result);
}

Err finish_small(RankState& state, MPI_Request* handle, Request& request,
                 MPI_Status* status) {
  store_staged(request);
  set_status(status, request.result());
  Err error;
  if (!nbc::direct::is_right(request.pending)) [[unlikely]] {
    std::string text;
    error = blame(error_of_outcome(nbc::direct::outcome_of(request.pending, text),
                                   request.call()),
                  request.comm());
  }
  *handle = MPI_REQUEST_NULL;
  Request::destroy(state, &request);
  return error;
}

}  // namespace

Err finish(RankState& state, MPI_Request* handle, Request& request,
           MPI_Status* status) {
  if (request.is_message() && !request.is_persistent &&
      !request.message.status().failed) [[likely]] {
    set_status(status, request.message.status());
    *handle = MPI_REQUEST_NULL;
    Request::destroy(state, &request);
    return kSuccess;
  }
  if (request.kind() == RequestKind::kSmallCollective)
    return finish_small(state, handle, request, status);
  if (request.is_persistent && !request.is_active) {
    set_empty(status);
    return kSuccess;
  }
  Err error;
  if (request.kind() == RequestKind::kCollective) {
    close_window(*request.collective);
    if (request.is_active) request.collective->split.note_end();
    store_staged(request);
  }
  if (request.kind() == RequestKind::kGeneralized) {
    error = finish_generalized(request, status);
  } else {
    const msg::Status& result = request.result();
    set_status(status, result);
    if (result.failed) [[unlikely]] {
      error = request.kind() == RequestKind::kFile
                  ? request.several->error()
                  : blame(failure_of(request, result), request.comm());
    }
  }
  if (request.is_persistent) {
    request.is_active = false;
  } else {
    *handle = MPI_REQUEST_NULL;
    Request::destroy(state, &request);
  }
  return error;
}

}  // namespace mpc::mpi
