#pragma once
// Agreement: what members of a file do together: one of each process acts, all get the result.
//
// Role:      collective calls that access no data: size, sync, open, close.
// Users:     mpi/io.
// Threads:   any execution of the member ranks; collective.
// See also:  mpi/objects/meeting.h. Nothing slow may run in conclude(): a lock is held there.

#include <atomic>
#include <functional>
#include <string>

#include "mpi/objects/comm.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

// The result of what one process, or all of them, have done.
struct Finding {
  int mpi_class = 0;     // 0: nothing wrong
  int system_error = 0;  // errno, for the message
};

// Members bring a value, which must be the same for all, and a finding; the first error counts.
struct FileRoom : Room {
  int64_t value = 0;
  bool has_value = false, differs = false;
  Finding finding;
  std::atomic<bool> is_claimed{false};  // relaxed: only decides which member acts

  void bring(int64_t its_value, const Finding& its_finding);
  void pack(ByteWriter& out) const override;
  void merge(ByteReader& in) override;
  // True for one member of the process. Caller: after the meeting.
  bool claim() noexcept {
    return !is_claimed.exchange(true, std::memory_order_relaxed);
  }
};

// All members meet. Switches: yes.
std::shared_ptr<FileRoom> meet_for(const char* call, Comm& comm, int64_t value,
                                   const Finding& finding = {});

// All members meet with the same `value`; one member of each process calls the function; then all
// meet again, with what it has returned (errno). An error of mpi_class MPI_ERR_NOT_SAME: the values
// differ.
Finding do_together(const char* call, Comm& comm, int64_t value,
                    const std::function<int()>& action);

bool is_first_process(Comm& comm);  // the first of the processes in which members live

}  // namespace mpc::mpi
