#pragma once
// Request: the object behind an MPI_Request.
//
// Role:      one operation that was started and is not yet completed by its owner: point to
//            point, collective, generalized; persistent or not.
// Users:     mpi/p2p*.cpp, mpi/coll*.cpp, mpi/request*.cpp.
// Threads:   any execution of the owning rank; two of them may not complete the same request
//            at once (MPI-4.1 section 11.6.2). The operation itself may finish anywhere.
// See also:  runtime/message/message.h, nbc/engine/engine.h; MPI-4.1 sections 3.7, 3.9, 13.2.
//
//                start()                       the operation ends        wait/test
//   inactive -------------> active (is_done() == false) ------> is_done() -------> inactive
//      ^                                                                             |
//      +----------- persistent requests only; others are freed instead <-------------+

#include <cstdint>
#include <string>

#include "mpi.h"
#include "mpi/error.h"
#include "mpi/object.h"
#include "nbc/engine/engine.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

class Comm;
struct RankState;

enum class RequestKind : uint8_t {
  kDone,          // complete from the start (MPI_PROC_NULL, empty collectives)
  kSend, kRecv, kCollective, kGeneralized,
};

struct GeneralizedFns {
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra_state = nullptr;
};

class Request final : public Object {
 public:
  // Caller: an execution of the rank. Never fails (memory exhaustion ends the job).
  static Request* make(RankState& state, RequestKind kind, Comm* comm) noexcept;
  // Gives it back to the rank's pool. It must not be active.
  static void destroy(RankState& state, Request* request) noexcept;

  RequestKind kind() const noexcept { return kind_; }
  bool is_persistent() const noexcept { return is_persistent_; }
  bool is_active() const noexcept { return is_active_; }
  // The operation has ended (or was never started); the owner may complete it.
  bool is_done() const noexcept;
  // Result of a done request.
  const msg::Status& result() const noexcept;
  Comm* comm() const noexcept { return comm_; }

  // One line for the deadlock table: "receive of 4 elements from rank 3, tag 7, MPI_COMM_WORLD".
  std::string text() const;

  MPI_Request handle() noexcept { return reinterpret_cast<MPI_Request>(this); }

  // --- fields of the operation; set by whoever makes it -----------------------------------
  msg::Request message;                       // kSend, kRecv
  nbc::CollectivePtr collective;              // kCollective
  void (*release)(Request&) noexcept = nullptr;  // frees what the operation holds, at its end
  void* held = nullptr;                       // for `release`
  GeneralizedFns generalized;                 // kGeneralized
  std::atomic<bool> generalized_done{false};
  msg::Status done_status;                    // kDone, kGeneralized
  // Arguments, for restarts of persistent requests and for text().
  union {
    msg::SendArgs send;
    msg::RecvArgs recv;
  };
  int peer = 0;                               // rank in comm, as the user gave it
  const char* call = nullptr;                 // "MPI_Isend"
  dt::TypeRef type;                           // keeps a derived type alive

 private:
  friend Err start_request(RankState&, Request&);
  Request(RankState& state, RequestKind kind, Comm* comm) noexcept;
  ~Request() = default;

  RequestKind kind_;
  Comm* comm_;
  Request* next_free_ = nullptr;

 public:
  bool is_persistent_ = false;
  bool is_active_ = false;
  bool is_buffered_ = false;
};

// (Re)starts a persistent request. Errors: MPI_ERR_REQUEST if it is active or not persistent.
Err start_request(RankState& state, Request& request);

// Waits until all of them are done. Null entries count as done. Switches: yes.
void wait_done(RankState& state, Request* const* requests, size_t n, const char* call);

// Completes a done request: fills `status`, frees it or makes it inactive, sets *handle to
// MPI_REQUEST_NULL where MPI says so. Returns the operation's error.
Err complete_request(RankState& state, MPI_Request* handle, MPI_Status* status);

}  // namespace mpc::mpi
