#pragma once
// RequestArray: the requests of MPI_Waitall and its kin.
//
// Role:      looks each handle up once.
// Users:     mpi/p2p.
// Threads:   a local variable of one call.
// See also:  MPI-4.1 section 3.7.5.

#include <memory>

#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/request.h"

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

inline MPI_Status* at(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

}  // namespace mpc::mpi::impl
