// Bodies of MPI-4.1 section 3.7: completion of requests, one, any, some or all; cancel, free,
// persistent starts; generalized requests (section 13.2).

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "mpi/api/impl_grequest.h"
#include "mpi/api/impl_p2p.h"
#include "mpi/comm.h"
#include "mpi/errhandler.h"
#include "mpi/handles.h"
#include "mpi/rank_state.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "mpi/wait_reasons.h"

namespace mpc::mpi::impl {
namespace {

// The requests of an array call: looked up once. Null and inactive ones are null here.
class RequestArray {
 public:
  Err open(int count, const MPI_Request* handles) {
    count_ = count;
    if (count > kInline) {
      heap_ = std::make_unique<Request*[]>(static_cast<size_t>(count));
      requests_ = heap_.get();
    }
    for (int i = 0; i < count; ++i) {
      requests_[i] = nullptr;
      if (handles[i] == MPI_REQUEST_NULL) continue;
      Request* request = nullptr;
      if (const Err error = lookup(handles[i], &request)) return error;
      if (!request->is_active) continue;
      requests_[i] = request;
      ++active_;
    }
    return kSuccess;
  }
  int count() const noexcept { return count_; }
  int active() const noexcept { return active_; }
  Request* operator[](int i) const noexcept { return requests_[i]; }
  // Index of a done one, looking from `begin` on; -1 if there is none.
  int find_done() const noexcept {
    for (int i = 0; i < count_; ++i) {
      if (requests_[i] != nullptr && requests_[i]->is_done()) return i;
    }
    return -1;
  }
  bool all_done() const noexcept {
    for (int i = 0; i < count_; ++i) {
      if (requests_[i] != nullptr && !requests_[i]->is_done()) return false;
    }
    return true;
  }
  Request* const* data() const noexcept { return requests_; }

 private:
  static constexpr int kInline = 64;
  Request* inline_[kInline];
  std::unique_ptr<Request*[]> heap_;
  Request** requests_ = inline_;
  int count_ = 0, active_ = 0;
};

// Several requests, any of which may end the wait.
class AnyReason final : public sched::WaitReason {
 public:
  AnyReason(const char* call, const RequestArray& requests) noexcept
      : call_(call), requests_(requests) {}
  std::string text() const override {
    for (int i = 0; i < requests_.count(); ++i) {
      if (requests_[i] == nullptr) continue;
      return fmt::format("{} of {} requests, the first of them: {}", call_,
                         requests_.active(), requests_[i]->text());
    }
    return call_;
  }
  bool can_end_by_itself() const override {
    for (int i = 0; i < requests_.count(); ++i) {
      if (requests_[i] != nullptr &&
          requests_[i]->kind() == RequestKind::kGeneralized) {
        return true;
      }
    }
    return false;
  }

 private:
  const char* call_;
  const RequestArray& requests_;
};

void wait_any_done(RankState& state, const RequestArray& requests, const char* call) {
  if (requests.find_done() >= 0) return;
  std::vector<msg::Request*> messages;
  for (int i = 0; i < requests.count(); ++i) {
    Request* request = requests[i];
    if (request == nullptr) continue;
    if (request->kind() == RequestKind::kSend ||
        request->kind() == RequestKind::kRecv) {
      messages.push_back(&request->message);
    } else if (request->kind() == RequestKind::kSeveral) {
      const auto& parts = request->several->messages;
      messages.insert(messages.end(), parts.begin(), parts.end());
    }
  }
  // Two flushes may wait for the same message.
  std::sort(messages.begin(), messages.end());
  messages.erase(std::unique(messages.begin(), messages.end()), messages.end());
  const AnyReason reason(call, requests);
  msg::wait_until(
      *state.rank, messages.data(), messages.size(),
      [](void* argument) {
        return static_cast<const RequestArray*>(argument)->find_done() >= 0;
      },
      const_cast<RequestArray*>(&requests), reason);
}

MPI_Status* at(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// One of the array calls' entries, with its MPI_ERROR. Counts failures.
void finish_entry(RankState& state, MPI_Request* handles, const RequestArray& requests,
                  int i, MPI_Status* status, int* failures) {
  Err error;
  if (requests[i] == nullptr) {
    set_empty(status);
  } else {
    error = finish(state, &handles[i], *requests[i], status);
  }
  if (error) ++*failures;
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error.code;
}

// MPI-4.1 section 3.7.5: MPI_ERROR of the statuses is set only when the call fails with
// MPI_ERR_IN_STATUS; so entries are finished first, and reset when all went well.
Err in_status(int failures) {
  if (failures == 0) return kSuccess;
  const unsigned last = last_error_number();
  return blame_same(
      fail(MPI_ERR_IN_STATUS, fmt::format("{} of the requests failed: {}", failures,
                                          last_error_message())),
      last);
}

Err finish_all(RankState& state, int count, MPI_Request* handles,
               const RequestArray& requests, MPI_Status* statuses) {
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    finish_entry(state, handles, requests, i, at(statuses, i), &failures);
  }
  return in_status(failures);
}

Err finish_some(RankState& state, MPI_Request* handles, const RequestArray& requests,
                int* outcount, int* indices, MPI_Status* statuses) {
  int failures = 0;
  *outcount = 0;
  for (int i = 0; i < requests.count(); ++i) {
    if (requests[i] == nullptr || !requests[i]->is_done()) continue;
    finish_entry(state, handles, requests, i, at(statuses, *outcount), &failures);
    indices[(*outcount)++] = i;
  }
  return in_status(failures);
}

}  // namespace

// --- one ------------------------------------------------------------------------------------

Err wait(MPI_Request* handle, MPI_Status* status) {
  if (*handle == MPI_REQUEST_NULL) {
    set_empty(status);
    return kSuccess;
  }
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  RankState& state = *rank_state();
  if (request->is_active) wait_done(state, *request, "MPI_Wait");
  return finish(state, handle, *request, status);
}

Err test(MPI_Request* handle, int* flag, MPI_Status* status) {
  *flag = 1;
  if (*handle == MPI_REQUEST_NULL) {
    set_empty(status);
    return kSuccess;
  }
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  RankState& state = *rank_state();
  if (request->is_active && !request->is_done()) {
    msg::progress(*state.rank);
    if (!request->is_done()) {
      *flag = 0;
      msg::relax(*state.rank);
      return kSuccess;
    }
  }
  return finish(state, handle, *request, status);
}

Err request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  *flag = 1;
  set_empty(status);
  if (handle == MPI_REQUEST_NULL) return kSuccess;
  Request* request = nullptr;
  if (const Err error = lookup(handle, &request)) return error;
  if (!request->is_active) return kSuccess;
  RankState& state = *rank_state();
  if (!request->is_done()) msg::progress(*state.rank);
  if (!request->is_done()) {
    *flag = 0;
    msg::relax(*state.rank);
    return kSuccess;
  }
  if (request->kind() == RequestKind::kGeneralized) {
    MPI_Status own{};
    set_empty(&own);
    const Generalized& fns = *request->generalized;
    const int code =
        fns.query == nullptr ? MPI_SUCCESS : fns.query(fns.extra_state, &own);
    if (status != MPI_STATUS_IGNORE) {
      own.MPI_ERROR = status->MPI_ERROR;
      *status = own;
    }
    return Err{code};
  }
  set_status(status, request->result());
  return kSuccess;
}

// --- all ------------------------------------------------------------------------------------

Err waitall(int count, MPI_Request* handles, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  RankState& state = *rank_state();
  // In order: each wait wakes for its own request only, later ones are done by then.
  for (int i = 0; i < count; ++i) {
    if (requests[i] != nullptr) wait_done(state, *requests[i], "MPI_Waitall");
  }
  return finish_all(state, count, handles, requests, statuses);
}

Err testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  RankState& state = *rank_state();
  if (!requests.all_done()) msg::progress(*state.rank);
  *flag = requests.all_done();
  if (!*flag) {
    msg::relax(*state.rank);
    return kSuccess;
  }
  return finish_all(state, count, handles, requests, statuses);
}

// --- any ------------------------------------------------------------------------------------

Err waitany(int count, MPI_Request* handles, int* index, MPI_Status* status) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  if (requests.active() == 0) {
    *index = MPI_UNDEFINED;
    set_empty(status);
    return kSuccess;
  }
  RankState& state = *rank_state();
  wait_any_done(state, requests, "MPI_Waitany");
  *index = requests.find_done();
  return finish(state, &handles[*index], *requests[*index], status);
}

Err testany(int count, MPI_Request* handles, int* index, int* flag,
            MPI_Status* status) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *index = MPI_UNDEFINED;
  if (requests.active() == 0) {
    *flag = 1;
    set_empty(status);
    return kSuccess;
  }
  RankState& state = *rank_state();
  if (requests.find_done() < 0) msg::progress(*state.rank);
  const int done = requests.find_done();
  *flag = done >= 0;
  if (done < 0) {
    msg::relax(*state.rank);
    return kSuccess;
  }
  *index = done;
  return finish(state, &handles[done], *requests[done], status);
}

// --- some -----------------------------------------------------------------------------------

Err waitsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  if (requests.active() == 0) {
    *outcount = MPI_UNDEFINED;
    return kSuccess;
  }
  RankState& state = *rank_state();
  wait_any_done(state, requests, "MPI_Waitsome");
  return finish_some(state, handles, requests, outcount, indices, statuses);
}

Err testsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  if (requests.active() == 0) {
    *outcount = MPI_UNDEFINED;
    return kSuccess;
  }
  RankState& state = *rank_state();
  if (requests.find_done() < 0) msg::progress(*state.rank);
  if (requests.find_done() < 0) msg::relax(*state.rank);
  return finish_some(state, handles, requests, outcount, indices, statuses);
}

// MPI-4.1: status of several requests without completing them.
Err request_get_status_any(int count, const MPI_Request* handles, int* index, int* flag,
                           MPI_Status* status) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *index = MPI_UNDEFINED;
  set_empty(status);
  if (requests.active() == 0) {
    *flag = 1;
    return kSuccess;
  }
  RankState& state = *rank_state();
  if (requests.find_done() < 0) msg::progress(*state.rank);
  const int done = requests.find_done();
  *flag = done >= 0;
  if (done < 0) {
    msg::relax(*state.rank);
    return kSuccess;
  }
  *index = done;
  return request_get_status(handles[done], flag, status);
}

Err request_get_status_all(int count, const MPI_Request* handles, int* flag,
                           MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  RankState& state = *rank_state();
  if (!requests.all_done()) msg::progress(*state.rank);
  *flag = requests.all_done();
  if (!*flag) {
    msg::relax(*state.rank);
    return kSuccess;
  }
  for (int i = 0; i < count; ++i) {
    int done = 0;
    if (const Err error = request_get_status(handles[i], &done, at(statuses, i)))
      return error;
  }
  return kSuccess;
}

Err request_get_status_some(int count, const MPI_Request* handles, int* outcount,
                            int* indices, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *outcount = requests.active() == 0 ? MPI_UNDEFINED : 0;
  if (requests.active() == 0) return kSuccess;
  RankState& state = *rank_state();
  if (requests.find_done() < 0) msg::progress(*state.rank);
  if (requests.find_done() < 0) msg::relax(*state.rank);
  for (int i = 0; i < count; ++i) {
    if (requests[i] == nullptr || !requests[i]->is_done()) continue;
    int done = 0;
    if (const Err error =
            request_get_status(handles[i], &done, at(statuses, *outcount))) {
      return error;
    }
    indices[(*outcount)++] = i;
  }
  return kSuccess;
}

// --- start, free, cancel --------------------------------------------------------------------

Err start(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  if (!request->is_persistent) {
    return fail(
        MPI_ERR_REQUEST,
        fmt::format("MPI_Start: the request of {} is not persistent", request->call()));
  }
  return start_request(*rank_state(), *request);
}

Err startall(int count, MPI_Request* handles) {
  for (int i = 0; i < count; ++i) {
    if (const Err error = start(&handles[i])) return error;
  }
  return kSuccess;
}

Err request_free(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  RankState& state = *rank_state();
  Err error;
  if (request->kind() == RequestKind::kGeneralized && request->is_done()) {
    const Generalized& fns = *request->generalized;
    if (fns.free != nullptr) error = Err{fns.free(fns.extra_state)};
  }
  *handle = MPI_REQUEST_NULL;
  Request::abandon(state, request);
  return error;
}

Err cancel(MPI_Request* handle) {
  Request* request = nullptr;
  if (const Err error = lookup(*handle, &request)) return error;
  if (!request->is_active) {
    return fail(MPI_ERR_REQUEST,
                "MPI_Cancel: the request is inactive: nothing was started");
  }
  RankState& state = *rank_state();
  switch (request->kind()) {
    case RequestKind::kSend:
    case RequestKind::kRecv:
      msg::cancel(*state.rank, request->message);
      break;
    case RequestKind::kBuffered:
      request->done_status.cancelled = request->buffered.cancel(*state.rank);
      break;
    case RequestKind::kGeneralized: {
      const Generalized& fns = *request->generalized;
      if (fns.cancel == nullptr) break;
      return Err{fns.cancel(fns.extra_state, request->is_done())};
    }
    case RequestKind::kSeveral:
      return fail(MPI_ERR_REQUEST,
                  fmt::format("MPI_Cancel: the request of {} cannot be "
                              "cancelled",
                              request->call()));
    case RequestKind::kCollective:
      return fail(MPI_ERR_REQUEST,
                  "MPI_Cancel: collective operations cannot be cancelled");
    case RequestKind::kDone:
      break;
  }
  return kSuccess;
}

Err test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status_cancelled(*status);
  return kSuccess;
}

// --- generalized requests -------------------------------------------------------------------

Err grequest_start(MPI_Grequest_query_function* query_fn,
                   MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   Request** request) {
  Request* made = Request::make(*rank_state(), RequestKind::kGeneralized, nullptr,
                                "MPI_Grequest_start");
  made->generalized = std::make_unique<Generalized>();
  made->generalized->query = query_fn;
  made->generalized->free = free_fn;
  made->generalized->cancel = cancel_fn;
  made->generalized->extra_state = extra_state;
  made->is_active = true;
  *request = made;
  return kSuccess;
}

Err grequest_complete(Request& request) {
  if (request.kind() != RequestKind::kGeneralized) {
    return fail(MPI_ERR_REQUEST, "MPI_Grequest_complete: not a generalized request");
  }
  request.generalized->is_complete.store(true, std::memory_order_release);
  msg::notify(*rank_state()->rank);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
