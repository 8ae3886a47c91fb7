#pragma once
// RequestArray: the requests of MPI_Waitall and its kin; and how a call tests that must not wait.
//
// Role:      looks each handle up once; common parts of MPI_Test, MPI_Iprobe and their kin.
// Users:     mpi/p2p.
// Threads:   a local variable of one call; test_for() any execution of the rank.
// See also:  MPI-4.1 section 3.7.5.

#include <memory>

#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "runtime/message/message.h"

namespace mpc::mpi::impl {

// The requests of an array call: looked up once. Null and inactive ones are null here.
class RequestArray {
 public:
  Err open(int count, const MPI_Request* handles) {
    count_ = count;
    if (count > kInline) {
      heap_ = std::make_unique<Request*[]>(static_cast<size_t>(count));
      requests_ = heap_.get();
    }
    const int owner = this_world_rank();
    Request** const requests = requests_;  // locals stay in registers
    int active = 0;
    for (int i = 0; i < count; ++i) {
      const MPI_Request handle = handles[i];
      Request* request = nullptr;
      if (handle != MPI_REQUEST_NULL) {
        if (!is_object(handle, Kind::kRequest, owner)) [[unlikely]] {
          Object* found = nullptr;  // of no rank, or an error
          if (const Err error = find_object(handle, Kind::kRequest, &found))
            return error;
        }
        request = static_cast<Request*>(object_of(handle));
        if (!request->is_active) request = nullptr;
      }
      requests[i] = request;
      active += request != nullptr ? 1 : 0;
    }
    active_ = active;
    return kSuccess;
  }
  int count() const noexcept { return count_; }
  int active() const noexcept { return active_; }
  Request* operator[](int i) const noexcept { return requests_[i]; }
  // Index of a request that is done, searched from `begin` on; -1 if there is none.
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

// Tests after treating the messages that have arrived. If the test fails, other ranks of the core
// get a turn before the caller's next test. True if done.
template <class IsDone>
bool test_after_progress(job::Rank& self, IsDone is_done) {
  msg::progress(self);
  if (is_done()) return true;
  msg::relax(self);
  return false;
}
// The same for an operation that may be done already.
template <class IsDone>
bool test_for(IsDone is_done) {
  return is_done() || test_after_progress(*rank_state()->rank, is_done);
}

inline MPI_Status* at(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

}  // namespace mpc::mpi::impl
