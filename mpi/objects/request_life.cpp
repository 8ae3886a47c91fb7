// Begin and end of requests, and the rank's store of finished ones.

#include <new>

#include "mpi/objects/comm.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/request_quick.h"

namespace mpc::mpi {
namespace {

// Only threads of one rank compete for this lock, and only with MPI_THREAD_MULTIPLE. Otherwise the
// program lets them in one after the other, and the lock is not acquired. Clang's analysis cannot
// follow that.
class PoolLock {
 public:
  explicit PoolLock(const RankState& state) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS
      : pool_(*state.requests),
        is_needed_(state.thread_level == MPI_THREAD_MULTIPLE) {
    if (is_needed_) pool_.lock.lock();
  }
  ~PoolLock() MPC_NO_THREAD_SAFETY_ANALYSIS {
    if (is_needed_) pool_.lock.unlock();
  }
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

 private:
  RequestPool& pool_;
  const bool is_needed_;
};

}  // namespace

Request::Request(int owner, RequestKind kind, Comm* comm, const char* call) noexcept
    : Object(Kind::kRequest, owner), kind_(kind), comm_(comm), call_(call) {
  if (is_counted(comm_)) comm_->retain();
}

RequestPool::~RequestPool() {
  while (messages != nullptr) {
    Request* const request = std::exchange(messages, messages->next);
    request->~Request();
    ::operator delete (request, std::align_val_t{alignof(Request)});
  }
  while (free != nullptr)
    ::operator delete (std::exchange(free, free->next),
                       std::align_val_t{alignof(Request)});
}

Request* Request::make(RankState& state, RequestKind kind, Comm* comm,
                       const char* call) {
  RequestPool& pool = *state.requests;
  if (pool.has_abandoned()) [[unlikely]]
    reap_abandoned(state, false);
  void* memory = nullptr;
  {
    const PoolLock lock(state);
    if (pool.messages != nullptr &&
        (is_of_message(kind) || kind == RequestKind::kSmallCollective)) {
      Request* const request = std::exchange(pool.messages, pool.messages->next);
      request->renew(kind, comm, call);
      return request;
    }
    if (pool.free != nullptr) memory = std::exchange(pool.free, pool.free->next);
  }
  if (memory == nullptr)
    memory = ::operator new (sizeof(Request), std::align_val_t{alignof(Request)});
  return new (memory) Request(state.rank->world_rank, kind, comm, call);
}

void Request::destroy(RankState& state, Request* request) noexcept {
  RequestPool& pool = *state.requests;
  if (request->is_kept()) [[likely]] {
    request->type = dt::TypeRef();
    request->mark_freed();
    if (is_counted(request->comm_)) request->comm_->drop();
    const PoolLock lock(state);
    request->next = std::exchange(pool.messages, request);
    return;
  }
  if (request->fortran_index >= 0) [[unlikely]]
    forget_handle(*request);
  request->exempt();  // while it still has its status: Watch::note_gone()
  if (is_counted(request->comm_)) request->comm_->drop();
  request->~Request();
  const PoolLock lock(state);
  request->next = pool.free;
  pool.free = request;
}

void Request::abandon(RankState& state, Request* request) noexcept {
  if (!request->is_active || request->is_done()) {
    destroy(state, request);
    return;
  }
  RequestPool& pool = *state.requests;
  const PoolLock lock(state);
  request->next = pool.abandoned.load(std::memory_order_relaxed);
  pool.abandoned.store(request, std::memory_order_relaxed);
}

void reap_abandoned(RankState& state, bool wait, const Comm* only) {
  RequestPool& pool = *state.requests;
  Request* list = nullptr;
  {
    const PoolLock lock(state);
    list = pool.abandoned.exchange(nullptr, std::memory_order_relaxed);
  }
  while (list != nullptr) {
    Request* request = std::exchange(list, list->next);
    if (wait && (only == nullptr || only == request->comm()))
      wait_done(state, *request,
                only == nullptr ? "MPI_Finalize" : "MPI_Comm_disconnect");
    Request::abandon(state, request);  // frees it, or puts it back
  }
}

}  // namespace mpc::mpi
