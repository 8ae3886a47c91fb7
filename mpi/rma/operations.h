#pragma once
// Operations: common parts of put, get and the accumulates, with and without a request.
//
// Role:      the target of an operation: may it be accessed, where is it, does the origin fit?
// Users:     mpi/rma.
// Threads:   any execution of the rank.
// See also:  mpi/rma/window.h; MPI-4.1 section 12.3.

#include <memory>

#include "mpi/impl/rma.h"
#include "mpi/objects/request.h"
#include "mpi/rma/window.h"
#include "runtime/rma/accumulate.h"
#include "runtime/rma/remote_access.h"

namespace mpc::mpi {

// One side of an operation.
struct Side {
  const void* address;
  Count count;
  const dt::Datatype& type;

  Count bytes() const noexcept { return type.size() * count; }
  rma::Buffer buffer() const noexcept {
    return {const_cast<void*>(address), &type, count};
  }
};

// find_target() returns this if all is right, but the target's memory is in another process. It is
// no error.
inline constexpr Err kElsewhere{-1};
inline bool is_elsewhere(Err found) noexcept { return found.code == kElsewhere.code; }

// Likewise if the operation has to wait for a lock or a post, and is then done at `at`: win.access.push().
inline constexpr Err kQueued{-2};
inline bool is_queued(Err found) noexcept { return found.code == kQueued.code; }

// Success: the operation may access the target now, at `at`. Switches: seldom, see Access::reach().
Err find_target(const char* call, Win& win, int target, Count disp,
                const dt::Datatype& type, Count count, char** at);

// Errors: a null pointer that is not MPI_BOTTOM; too little room (`room`: the other side's, in
// bytes).
Err check_origin(const Side& origin, Count room);

// For an operation with a request that may end later: set if it does.
using IsOver = rma::RemoteAccess::IsOver;

Err put(const char* call, const Side& origin, int target, Count disp, Count count,
        const dt::Datatype& type, Win& win, IsOver* later = nullptr);
Err get(const char* call, const Side& origin, int target, Count disp, Count count,
        const dt::Datatype& type, Win& win, IsOver* later = nullptr);
// `result` is null for an accumulate.
Err accumulate(const char* call, const Side& origin, const Side* result, int target,
               Count disp, Count count, const dt::Datatype& type, Op& op, Win& win,
               IsOver* later = nullptr);

// A request of an operation that fetches data from another process.
Request* make_later_request(const char* call, Win& win, int target, IsOver is_over);

// Operations with requests are over when they return, and so are their requests, except those
// whose result comes from another process.
template <class Operation>
Err with_request(const char* call, Win& win, int target, Request** request,
                 Operation&& operation) {
  if (target != MPI_PROC_NULL && !win.access.is_passive())
    return bad_sync("operations with requests are for targets that are locked");
  IsOver later;
  MPC_MPI_TRY(operation(&later));
  if (later != nullptr) [[unlikely]] {
    *request = make_later_request(call, win, target, std::move(later));
    return kSuccess;
  }
  *request = Request::make(this_rank(), RequestKind::kDone, &win.comm(), call);
  (*request)->is_active = true;
  return kSuccess;
}

}  // namespace mpc::mpi
