// Bodies of MPI-4.1 sections 12.3.1, 12.3.2, 12.3.5: put and get.

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpi/rma/operations.h"
#include "runtime/message/joint_copy.h"
#include "runtime/rma/queue_limits.h"
#include "runtime/transport/memory/copy.h"

namespace mpc::mpi {
Err bad_place(rma::Fit fit, Win& win, int target, Count disp) {
  const rma::Memory& memory = win.target(target).memory;
  switch (fit) {
    case rma::Fit::kFar:
      return kElsewhere;
    case rma::Fit::kNegative:
      return fail(MPI_ERR_DISP, fmt::format("displacement {} is negative", disp));
    case rma::Fit::kNotAttached:
      return fail(
          MPI_ERR_RMA_RANGE,
          fmt::format("rank {} has attached no memory that holds the data at {}",
                      target, reinterpret_cast<void*>(disp)));
    default:
      return fail(
          MPI_ERR_RMA_RANGE,
          fmt::format("the data at displacement {} do not lie in the {} bytes of "
                      "rank {} (displacement unit {})",
                      disp, memory.bytes, target, memory.unit));
  }
}

namespace {

// A reason why it is not allowed, or kLater.
[[gnu::noinline, gnu::cold]] Err find_later(rma::Complaint complaint,
                                            const rma::Spot& spot, Win& win,
                                            char** at) {
  if (complaint != rma::kLater) return bad_sync(complaint);
  const rma::Fit fit =
      win.target(spot.target).find(spot.disp, spot.type, spot.count, at);
  return fit == rma::Fit::kFits ? kQueued : bad_place(fit, win, spot.target, spot.disp);
}

}  // namespace

Err find_target(const char* call, Win& win, int target, Count disp,
                const dt::Datatype& type, Count count, char** at) {
  MPC_MPI_TRY(check_target(target, win));
  if (rma::Complaint complaint =
          win.access.reach(target, TargetReason(call, win, target))) [[unlikely]]
    return find_later(complaint, {target, disp, type, count}, win, at);
  const rma::Fit fit = win.target(target).find(disp, type, count, at);
  return fit == rma::Fit::kFits ? kSuccess : bad_place(fit, win, target, disp);
}

Err check_origin(const Side& origin, Count room) {
  if (origin.bytes() > room)
    return fail(MPI_ERR_TRUNCATE,
                fmt::format("the origin has {} bytes, the other side {}",
                            origin.bytes(), room));
  if (origin.address == nullptr && origin.bytes() > 0 && origin.type.is_predefined())
    return fail(
        MPI_ERR_BUFFER,
        fmt::format("the buffer of {} elements is a null pointer", origin.count));
  return kSuccess;
}

namespace {

// So many elements may be a long copy, which the target may have a part in. Their number is at hand anyway: that test costs
// nothing. A few elements of a large type are copied by the origin alone.
constexpr Count kMany = 4 << 10;

// Which of the two is memory of rank `target`?
struct Way {
  Win& win;
  int target;
  msg::Copied which;
};

[[gnu::noinline]] void move_long(const Way& way, void* to, const void* from,
                                 Count bytes) noexcept {
  if (bytes == 0) return;  // the pointers may be null
  job::Rank* const member = rma::member_of(way.win.target(way.target));
  if (member != nullptr &&
      msg::copy_jointly(*member, to, from, static_cast<size_t>(bytes), way.which))
    return;
  transport::copy_bytes(to, from, static_cast<size_t>(bytes));
}

// Origin and target may be the same memory: MPI forbids it, but programs do it.
// `way` is null if there is nothing to share: few bytes, or an operation that has waited and is done by any thread.
void move(const Way* way, void* to, const dt::Datatype& to_type, Count to_count,
          const void* from, const dt::Datatype& from_type, Count from_count) noexcept {
  const Count bytes = from_type.size() * from_count;
  if (to == from && &to_type == &from_type) return;
  if (!to_type.is_contiguous() || !from_type.is_contiguous()) {
    transport::copy_layout(to, to_type, to_count, from, from_type, from_count);
  } else if (bytes == 8) {
    // Neither pointer is null for contiguous data: Target::find(), check_origin().
    __builtin_memcpy(to, from, 8);  // NOLINT(clang-analyzer-unix.cstring.NullArg)
  } else if (way != nullptr) {
    move_long(*way, to, from, bytes);
  } else if (bytes > 0) {
    transport::copy_bytes(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

namespace {

// `at` by reference: it is read after the check, and occupies no register until then.
[[gnu::always_inline]] inline Err put_at(char* const& at, const Side& origin,
                                         Count count, const dt::Datatype& type,
                                         const Way* way = nullptr) {
  MPC_MPI_TRY(check_origin(origin, type.size() * count));
  move(way, at, type, count, origin.address, origin.type, origin.count);
  return kSuccess;
}

[[gnu::cold]] Err no_room(const Side& origin, Count bytes) {
  return fail(MPI_ERR_TRUNCATE,
              fmt::format("the target has {} bytes, the origin room for {}", bytes,
                          origin.bytes()));
}

Err check_result(const Side& origin, Count bytes) {
  if (bytes > origin.bytes()) return no_room(origin, bytes);
  return check_origin(origin, origin.bytes());
}

[[gnu::always_inline]] inline Err get_at(char* const& at, const Side& origin,
                                         Count count, const dt::Datatype& type,
                                         Win& win, const Way* way = nullptr) {
  MPC_MPI_TRY(check_result(origin, type.size() * count));
  win.has_read.store(true, std::memory_order_relaxed);
  move(way, const_cast<void*>(origin.address), origin.type, origin.count, at, type,
       count);
  return kSuccess;
}

// The data of a put that waits are copied if they are few: that costs about as much as to keep the types.
[[gnu::noinline, gnu::cold]] Err put_later(char* at, const Side& origin,
                                           const rma::Spot& spot, Win& win,
                                           IsOver* later) {
  MPC_MPI_TRY(check_origin(origin, spot.bytes()));
  rma::LocalOperation operation;
  const Count bytes = origin.bytes();
  if (bytes <= Count{rma::kLittleBytes}) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    dt::pack(origin.address, origin.type, origin.count, 0, data.data(), data.size());
    operation = {.run =
                     [at, type = dt::TypeRef(&spot.type), count = spot.count,
                      data = std::move(data)] {
                       dt::unpack(at, *type, count, 0, data.data(), data.size());
                     },
                 .is_copied = true,
                 .copied_bytes = static_cast<size_t>(bytes)};
  } else {
    operation.run = [at, type = dt::TypeRef(&spot.type), count = spot.count,
                     from = origin.buffer(), from_type = dt::TypeRef(&origin.type)] {
      move(nullptr, at, *type, count, from.base, *from_type, from.count);
    };
  }
  win.access.push(spot.target, std::move(operation), later);
  return kSuccess;
}

[[gnu::noinline, gnu::cold]] Err get_later(char* at, const Side& origin,
                                           const rma::Spot& spot, Win& win,
                                           IsOver* later) {
  MPC_MPI_TRY(check_result(origin, spot.bytes()));
  win.has_read.store(true, std::memory_order_relaxed);
  win.access.push(spot.target,
                  {.run =
                       [at, type = dt::TypeRef(&spot.type), count = spot.count,
                        to = origin.buffer(), to_type = dt::TypeRef(&origin.type)] {
                         move(nullptr, to.base, *to_type, to.count, at, *type, count);
                       }},
                  later);
  return kSuccess;
}

// For windows that span processes, epochs in which operations may have to wait, and long ones. These are separate functions,
// so that the others need no registers for them.
[[gnu::noinline, gnu::cold]] Err put_slowly(const char* call, const Side& origin,
                                            const rma::Spot& spot, Win& win,
                                            IsOver* later) {
  char* at = nullptr;
  const Err found =
      find_target(call, win, spot.target, spot.disp, spot.type, spot.count, &at);
  if (!found) {
    const Way way{win, spot.target, msg::Copied::kToOther};
    return put_at(at, origin, spot.count, spot.type, &way);
  }
  if (is_queued(found)) return put_later(at, origin, spot, win, later);
  if (!is_elsewhere(found)) return found;
  MPC_MPI_TRY(check_origin(origin, spot.bytes()));
  win.access.remote()->put(spot, origin.buffer(), TargetReason(call, win, spot.target),
                           later);
  return kSuccess;
}

[[gnu::noinline, gnu::cold]] Err get_slowly(const char* call, const Side& origin,
                                            const rma::Spot& spot, Win& win,
                                            IsOver* later) {
  char* at = nullptr;
  const Err found =
      find_target(call, win, spot.target, spot.disp, spot.type, spot.count, &at);
  if (!found) {
    const Way way{win, spot.target, msg::Copied::kFromOther};
    return get_at(at, origin, spot.count, spot.type, win, &way);
  }
  if (is_queued(found)) return get_later(at, origin, spot, win, later);
  if (!is_elsewhere(found)) return found;
  MPC_MPI_TRY(check_result(origin, spot.bytes()));
  win.has_read.store(true, std::memory_order_relaxed);
  win.access.remote()->get(spot, origin.buffer(), TargetReason(call, win, spot.target),
                           later);
  return kSuccess;
}

}  // namespace

Err put(const char* call, const Side& origin, int target, Count disp, Count count,
        const dt::Datatype& type, Win& win, IsOver* later) {
  if (target == MPI_PROC_NULL) return kSuccess;
  if (win.access.may_be_later() || origin.count >= kMany) [[unlikely]]
    return put_slowly(call, origin, {target, disp, type, count}, win, later);
  char* at = nullptr;
  MPC_MPI_TRY(find_target(call, win, target, disp, type, count, &at));
  return put_at(at, origin, count, type);
}

Err get(const char* call, const Side& origin, int target, Count disp, Count count,
        const dt::Datatype& type, Win& win, IsOver* later) {
  if (target == MPI_PROC_NULL) return kSuccess;
  if (win.access.may_be_later() || origin.count >= kMany) [[unlikely]]
    return get_slowly(call, origin, {target, disp, type, count}, win, later);
  char* at = nullptr;
  MPC_MPI_TRY(find_target(call, win, target, disp, type, count, &at));
  return get_at(at, origin, count, type, win);
}

namespace {

struct LaterOperation final : Several {
  LaterOperation(IsOver flag, const char* name, Win& win, int rank)
      : over(std::move(flag)), call(name), window(win.display_name()), target(rank) {}
  // acquire pairs with RemoteAccess::note_end(): the result is there.
  bool is_over() override { return over->load(std::memory_order_acquire); }
  std::string text() const override {
    return fmt::format("{} of rank {}, {}", call, target, window);
  }
  const IsOver over;
  const char* const call;
  const std::string window;
  const int target;
};

}  // namespace

Request* make_later_request(const char* call, Win& win, int target, IsOver is_over) {
  Request* const request =
      Request::make(this_rank(), RequestKind::kMeeting, &win.comm(), call);
  request->several =
      std::make_unique<LaterOperation>(std::move(is_over), call, win, target);
  request->is_active = true;
  return request;
}

namespace impl {

Err put(const void* origin_addr, Count origin_count,
        const dt::Datatype& origin_datatype, int target_rank, Count target_disp,
        Count target_count, const dt::Datatype& target_datatype, Win& win) {
  return mpi::put("MPI_Put", {origin_addr, origin_count, origin_datatype}, target_rank,
                  target_disp, target_count, target_datatype, win);
}

Err get(void* origin_addr, Count origin_count, const dt::Datatype& origin_datatype,
        int target_rank, Count target_disp, Count target_count,
        const dt::Datatype& target_datatype, Win& win) {
  return mpi::get("MPI_Get", {origin_addr, origin_count, origin_datatype}, target_rank,
                  target_disp, target_count, target_datatype, win);
}

Err rput(const void* origin_addr, Count origin_count,
         const dt::Datatype& origin_datatype, int target_rank, Count target_disp,
         Count target_count, const dt::Datatype& target_datatype, Win& win,
         Request** request) {
  return with_request("MPI_Rput", win, target_rank, request, [&](IsOver* later) {
    return mpi::put("MPI_Rput", {origin_addr, origin_count, origin_datatype},
                    target_rank, target_disp, target_count, target_datatype, win,
                    later);
  });
}

Err rget(void* origin_addr, Count origin_count, const dt::Datatype& origin_datatype,
         int target_rank, Count target_disp, Count target_count,
         const dt::Datatype& target_datatype, Win& win, Request** request) {
  return with_request("MPI_Rget", win, target_rank, request, [&](IsOver* later) {
    return mpi::get("MPI_Rget", {origin_addr, origin_count, origin_datatype},
                    target_rank, target_disp, target_count, target_datatype, win,
                    later);
  });
}

}  // namespace impl
}  // namespace mpc::mpi
