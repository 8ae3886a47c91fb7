// Bodies of MPI-4.1 section 3.7: completion of requests: one, any, some or all.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "mpi/impl/p2p.h"
#include "mpi/objects/blame.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/request_quick.h"
#include "mpi/objects/status.h"
#include "mpi/objects/wait_reasons.h"
#include "mpi/p2p/request_array.h"
#include "runtime/job/wait_partner.h"

namespace mpc::mpi::impl {
namespace {

// For a thread that reports: to ask a small collective would take its data. (It is not done, or the wait
// would be over.)
bool is_known_done(const Request& request) noexcept {
  return request.kind() != RequestKind::kSmallCollective && request.is_done();
}

// From here on small collectives among the requests notify the rank.
class Watching {
 public:
  explicit Watching(const RequestArray& requests) noexcept : requests_(requests) {
    for_each(nbc::direct::watch);
  }
  ~Watching() { for_each(nbc::direct::unwatch); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  void for_each(void (*visit)(const nbc::direct::Pending&)) const noexcept {
    for (int i = 0; i < requests_.count(); ++i) {
      if (requests_[i] != nullptr &&
          requests_[i]->kind() == RequestKind::kSmallCollective)
        visit(requests_[i]->pending);
    }
  }
  const RequestArray& requests_;
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
      if (requests_[i] != nullptr && requests_[i]->can_end_by_itself()) return true;
    }
    return false;
  }

  // The partner of the first request that is not complete.
  int partner() const noexcept {
    for (int i = 0; i < requests_.count(); ++i)
      if (requests_[i] != nullptr && !is_known_done(*requests_[i]))
        return partner_of(*requests_[i]);
    return -1;
  }

 private:
  const char* call_;
  const RequestArray& requests_;
};

bool explain(const sched::WaitReason& reason, job::WaitPartner& partner) {
  const auto* any = dynamic_cast<const AnyReason*>(&reason);
  if (any != nullptr) partner.rank = any->partner();
  return any != nullptr;
}

[[gnu::constructor]] void register_source() { job::add_partner_source(explain); }

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
  const Watching watching(requests);
  msg::wait_until(
      *state.rank, messages.data(), messages.size(),
      [](void* argument) {
        return static_cast<const RequestArray*>(argument)->find_done() >= 0;
      },
      const_cast<RequestArray*>(&requests), reason);
}

// Accesses to files: while `first` is not over, moves the data of those that no thread has begun, in their order: the
// system reads ahead.
void help_with_rest(const RequestArray& requests, int first) {
  const auto for_each_of_files = [&](auto visit) {
    for (int i = first; i < requests.count(); ++i)
      if (requests[i] != nullptr && requests[i]->kind() == RequestKind::kFile)
        visit(*requests[i]->several);
  };
  for_each_of_files([](Several& access) { access.note_wait(); });
  for_each_of_files([&](Several& access) {
    if (!requests[first]->is_done()) access.help();
  });
}

// Finishes one entry of an array call, with its MPI_ERROR. Counts failures.
[[gnu::noinline]] void finish_entry(RankState& state, MPI_Request* handles,
                                    const RequestArray& requests, int i,
                                    MPI_Status* status, int* failures) {
  Err error;
  if (requests[i] == nullptr) {
    set_empty(status);
  } else if (!Request::finish_quickly(state, &handles[i], *requests[i], status)) {
    error = finish(state, &handles[i], *requests[i], status);
  }
  if (error) ++*failures;
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error.code;
}

// The same for what is one message in most cases. True: the entry is finished.
[[gnu::always_inline]] inline bool finish_message(RankState& state, MPI_Request* handle,
                                                  Request& request,
                                                  MPI_Status* status) {
  if (!Request::finish_quickly(state, handle, request, status)) return false;
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
  return true;
}

// Finishes entries that are messages and done, from `first` on, up to one that is neither; returns its index. A function of
// its own, whose loop has all that it needs in registers.
[[gnu::noinline]] int finish_messages(RankState& state, int first, int count,
                                      Request* const* requests, MPI_Request* handles,
                                      MPI_Status* statuses) noexcept {
  int i = first;
  for (; i < count; ++i) {
    Request* const request = requests[i];
    if (request == nullptr || !request->is_message_done() ||
        !finish_message(state, &handles[i], *request, at(statuses, i)))
      break;
  }
  return i;
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
  if (request->is_active && !request->is_message_done())
    wait_done(state, *request, "MPI_Wait");
  if (Request::finish_quickly(state, handle, *request, status)) return kSuccess;
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
  *flag = !request->is_active || test_for([&] { return request->is_done(); });
  return *flag ? finish(*rank_state(), handle, *request, status) : kSuccess;
}

// --- all ------------------------------------------------------------------------------------

Err waitall(int count, MPI_Request* handles, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  RankState& state = *rank_state();
  int failures = 0;
  // In order: each wait is woken by its own request only; later ones are often done by then. What is
  // done is finished at once, while its lines are in the cache.
  int i = 0;
  while ((i = finish_messages(state, i, count, requests.data(), handles, statuses)) <
         count) {
    Request* const request = requests[i];
    if (request != nullptr && !request->is_message_done()) {
      if (request->kind() == RequestKind::kFile) help_with_rest(requests, i);
      wait_done(state, *request, "MPI_Waitall");
      if (request->is_message_done()) continue;
    }
    finish_entry(state, handles, requests, i, at(statuses, i), &failures);
    ++i;
  }
  return in_status(failures);
}

Err testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  RequestArray requests;
  if (const Err error = requests.open(count, handles)) return error;
  *flag = test_for([&] { return requests.all_done(); });
  if (!*flag) return kSuccess;
  return finish_all(*rank_state(), count, handles, requests, statuses);
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
  int done = -1;
  *flag = test_for([&] { return (done = requests.find_done()) >= 0; });
  if (!*flag) return kSuccess;
  *index = done;
  return finish(*rank_state(), &handles[done], *requests[done], status);
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
  test_for([&] { return requests.find_done() >= 0; });
  return finish_some(*rank_state(), handles, requests, outcount, indices, statuses);
}

}  // namespace mpc::mpi::impl
