// MPI-4.1 section 3.7.3 and 3.7.5 with mpi.check=full: requests whose operations the program completes.

#include <vector>

#include "mpi/check/watched.h"
#include "mpi/checked/p2p.h"
#include "mpi/impl/p2p.h"
#include "mpi/objects/handles.h"

namespace mpc::mpi::checked {
namespace {

// The requests that one call may complete.
class Completing {
 public:
  Completing(int count, MPI_Request* handles)
      : watch_(Watch::here()), handles_(handles) {
    before_.resize(static_cast<size_t>(count < 0 ? 0 : count));
    const std::lock_guard lock(watch_.mutex);
    for (size_t i = 0; i < before_.size(); ++i) {
      const auto* request = reinterpret_cast<const Request*>(handles[i]);
      const auto found = watch_.requests.find(request);
      if (found == watch_.requests.end()) continue;
      before_[i] = found->second;
      // The request may be freed before its end is noted, and its address be that of another
      // thread's request.
      if (const ReceiveRef& receive = found->second->receive; receive != nullptr)
        receive->request = nullptr;
      if (!before_[i]->is_persistent) watch_.requests.erase(found);
    }
    old_handles_.assign(handles, handles + before_.size());
  }
  // The requests that are still active, to be watched again.
  ~Completing() {
    const std::lock_guard lock(watch_.mutex);
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] == nullptr) continue;
      const auto* request = reinterpret_cast<const Request*>(old_handles_[i]);
      if (before_[i]->receive != nullptr) before_[i]->receive->request = request;
      if (!before_[i]->is_persistent) watch_.requests[request] = std::move(before_[i]);
    }
  }
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

  // Entry i has ended with this status, if it was active.
  void note(int index, const MPI_Status& status) {
    const auto i = static_cast<size_t>(index);
    if (i >= before_.size() || before_[i] == nullptr) return;
    const WatchedRef watched = std::move(before_[i]);
    before_[i] = nullptr;
    watch_.buffers.end(watched.get(), true);
    if (status_cancelled(status) && watched->note != nullptr)
      msg::cancel(watch_.self, watched->note->request);
    if (watched->note != nullptr) watch_.keep(std::move(watched->note));
    if (ReceiveRef receive = std::move(watched->receive)) {
      watch_.note_end(*receive, status_of(status));
      ended_.push_back(std::move(receive));
    }
  }
  // Caller: after it has ended all of them.
  void settle() {
    for (const ReceiveRef& receive : ended_) watch_.settle(receive->comm);
    ended_.clear();
  }
  // Entry i is no longer what it was.
  bool has_ended(int index) const {
    const auto i = static_cast<size_t>(index);
    if (i >= before_.size()) return false;
    if (handles_[i] != old_handles_[i]) return true;
    return before_[i] != nullptr && before_[i]->is_persistent &&
           !reinterpret_cast<const Request*>(old_handles_[i])->is_active;
  }

 private:
  Watch& watch_;
  MPI_Request* handles_;
  std::vector<WatchedRef> before_;
  std::vector<MPI_Request> old_handles_;
  std::vector<ReceiveRef> ended_;
};

// Statuses of a call whose caller may have passed none.
class OwnStatuses {
 public:
  OwnStatuses(MPI_Status*& statuses, int count) {
    if (statuses != MPI_STATUSES_IGNORE || count <= 0) return;
    own_.resize(static_cast<size_t>(count));
    statuses = own_.data();
  }

 private:
  std::vector<MPI_Status> own_;
};

}  // namespace

Err wait(MPI_Request* handle, MPI_Status* status) {
  const OwnStatus own(status);
  Completing completing(1, handle);
  const Err error = impl::wait(handle, status);
  if (completing.has_ended(0)) completing.note(0, *status);
  completing.settle();
  return error;
}

Err test(MPI_Request* handle, int* flag, MPI_Status* status) {
  const OwnStatus own(status);
  Completing completing(1, handle);
  *flag = 0;
  const Err error = impl::test(handle, flag, status);
  if (*flag != 0 && completing.has_ended(0)) completing.note(0, *status);
  completing.settle();
  return error;
}

Err waitall(int count, MPI_Request* handles, MPI_Status* statuses) {
  const OwnStatuses own(statuses, count);
  Completing completing(count, handles);
  const Err error = impl::waitall(count, handles, statuses);
  for (int i = 0; i < count; ++i)
    if (completing.has_ended(i)) completing.note(i, statuses[i]);
  completing.settle();
  return error;
}

Err testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  const OwnStatuses own(statuses, count);
  Completing completing(count, handles);
  *flag = 0;
  const Err error = impl::testall(count, handles, flag, statuses);
  for (int i = 0; i < count && *flag != 0; ++i)
    if (completing.has_ended(i)) completing.note(i, statuses[i]);
  completing.settle();
  return error;
}

Err waitany(int count, MPI_Request* handles, int* index, MPI_Status* status) {
  const OwnStatus own(status);
  Completing completing(count, handles);
  *index = MPI_UNDEFINED;
  const Err error = impl::waitany(count, handles, index, status);
  if (*index != MPI_UNDEFINED && completing.has_ended(*index))
    completing.note(*index, *status);
  completing.settle();
  return error;
}

Err testany(int count, MPI_Request* handles, int* index, int* flag,
            MPI_Status* status) {
  const OwnStatus own(status);
  Completing completing(count, handles);
  *index = MPI_UNDEFINED;
  const Err error = impl::testany(count, handles, index, flag, status);
  if (*index != MPI_UNDEFINED && completing.has_ended(*index))
    completing.note(*index, *status);
  completing.settle();
  return error;
}

namespace {

void note_some(Completing& completing, int outcount, const int* indices,
               const MPI_Status* statuses) {
  for (int i = 0; i < outcount; ++i)  // MPI_UNDEFINED is negative
    if (completing.has_ended(indices[i])) completing.note(indices[i], statuses[i]);
  completing.settle();
}

}  // namespace

Err waitsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) {
  const OwnStatuses own(statuses, count);
  Completing completing(count, handles);
  *outcount = MPI_UNDEFINED;
  const Err error = impl::waitsome(count, handles, outcount, indices, statuses);
  note_some(completing, *outcount, indices, statuses);
  return error;
}

Err testsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) {
  const OwnStatuses own(statuses, count);
  Completing completing(count, handles);
  *outcount = MPI_UNDEFINED;
  const Err error = impl::testsome(count, handles, outcount, indices, statuses);
  note_some(completing, *outcount, indices, statuses);
  return error;
}

}  // namespace mpc::mpi::checked
