// Bodies of MPI-4.1 sections 12.3.3, 12.3.4, 12.3.5: the accumulates.

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/mpi_handle_names.h"
#include "mpi/objects/op.h"
#include "mpi/objects/type_object.h"
#include "mpi/rma/operations.h"
#include "runtime/rma/queue_limits.h"

namespace mpc::mpi {
namespace {

using rma::AccumulateGate;

const char* name_of(const dt::Datatype& element) noexcept {
  return predefined_type_name(element.abi_code());
}

[[gnu::cold]] Err bad_element(const char* side) {
  return fail(
      MPI_ERR_TYPE,
      fmt::format("the {} datatype does not consist of one predefined type", side));
}

bool is_same(uint32_t op_code, const dt::Datatype& a, const dt::Datatype& b) noexcept {
  return dt::reduction(op_code, a.abi_code()) == dt::reduction(op_code, b.abi_code());
}

Err check_element(const dt::Datatype& type, const dt::Datatype& wanted,
                  const char* side) {
  if (&type == &wanted) return kSuccess;
  const dt::Datatype* const element = dt::element_of(type);
  if (element == nullptr) return bad_element(side);
  // C and Fortran have names of their own for the same type.
  if (element == &wanted ||
      (element->extent() == wanted.extent() && element->size() == wanted.size() &&
       is_same(dt::abi::kSum, *element, wanted) &&
       is_same(dt::abi::kMaxloc, *element, wanted)))
    return kSuccess;
  return fail(MPI_ERR_TYPE, fmt::format("the {} consists of {}, the target of {}", side,
                                        name_of(*element), name_of(wanted)));
}

Err bind(Op& op, const dt::Datatype& element, rma::ElementOp* out) {
  if (!op.is_predefined())
    return fail(MPI_ERR_OP, "only predefined operations work on windows");
  if (rma::ElementOp::make(op.code(), element, out)) return kSuccess;
  return fail(MPI_ERR_OP,
              fmt::format("{} is not defined for {}", op.name(), name_of(element)));
}

bool reads_only(const Op& op) noexcept { return op.code() == dt::abi::kNoOp; }

using Bytes = std::vector<std::byte>;

Bytes copy_of(const void* from, Count bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  return from == nullptr ? Bytes() : Bytes(first, first + bytes);
}

// Of an operation that any thread will do.
AccumulateGate::Passage later_passage(Win& win, int target) noexcept {
  AccumulateGate::Passage who = win.access.passage(target);
  who.is_main = false;
  return who;
}

// For an operation that waits: small origins are copied, because many programs use them again too early.
[[gnu::noinline, gnu::cold]] void accumulate_later(const rma::ElementOp& op, char* at,
                                                   const rma::Spot& spot,
                                                   const rma::Buffer& from,
                                                   const rma::Buffer* to, Win& win,
                                                   IsOver* later) {
  const Count bytes = from.type != nullptr ? from.bytes() : 0;
  const bool is_little =
      bytes <= Count{rma::kLittleBytes} && (bytes == 0 || from.type->is_contiguous());
  rma::Buffer result;
  if (to != nullptr) result = *to;
  auto run = [who = later_passage(win, spot.target), op, at,
              type = dt::TypeRef(&spot.type), count = spot.count, from, result,
              from_type = dt::TypeRef(from.type),
              result_type = dt::TypeRef(result.type),
              data = is_little ? copy_of(from.base, bytes) : Bytes()] {
    rma::Buffer origin = from;
    if (!data.empty()) origin.base = const_cast<std::byte*>(data.data());
    rma::accumulate(who, op, {at, type.get(), count}, origin,
                    result.type != nullptr ? &result : nullptr);
  };
  win.access.push(spot.target,
                  {.run = std::move(run),
                   .is_copied = is_little && to == nullptr,
                   .copied_bytes = is_little ? static_cast<size_t>(bytes) : 0},
                  later);
}

}  // namespace

Err accumulate(const char* call, const Side& origin, const Side* result, int target,
               Count disp, Count count, const dt::Datatype& type, Op& op, Win& win,
               IsOver* later) {
  if (!op.is_predefined())
    return fail(MPI_ERR_OP, "only predefined operations work on windows");
  if (target == MPI_PROC_NULL) return kSuccess;
  char* at = nullptr;
  const Err found = find_target(call, win, target, disp, type, count, &at);
  if (found && !is_elsewhere(found) && !is_queued(found)) return found;
  const Count bytes = type.size() * count;
  if (bytes == 0) return kSuccess;
  const dt::Datatype* const element = dt::element_of(type);
  if (element == nullptr) return bad_element("target");
  rma::ElementOp bound;
  MPC_MPI_TRY(bind(op, *element, &bound));
  const bool has_origin = !reads_only(op);
  if (has_origin && origin.bytes() > 0) {
    MPC_MPI_TRY(check_origin(origin, bytes));
    MPC_MPI_TRY(check_element(origin.type, *element, "origin"));
  }
  rma::Buffer back;
  if (result != nullptr) {
    MPC_MPI_TRY(check_origin(*result, INT64_MAX));
    if (result->bytes() > 0)
      MPC_MPI_TRY(check_element(result->type, *element, "result"));
    if (result->bytes() < bytes)
      return fail(MPI_ERR_TRUNCATE,
                  fmt::format("the target has {} bytes, the result room for {}", bytes,
                              result->bytes()));
    back = result->buffer();
    win.has_read.store(true, std::memory_order_relaxed);
  }
  const rma::Buffer from = has_origin ? origin.buffer() : rma::Buffer{};
  const rma::Buffer* const to = result != nullptr ? &back : nullptr;
  if (win.share().is_elsewhere(target)) [[unlikely]] {
    win.access.remote()->accumulate(op.code(), *element, {target, disp, type, count},
                                    from, to, TargetReason(call, win, target), later);
    return kSuccess;
  }
  if (is_queued(found)) [[unlikely]]
    accumulate_later(bound, at, {target, disp, type, count}, from, to, win, later);
  else
    rma::accumulate(win.access.passage(target), bound, {at, &type, count}, from, to);
  return kSuccess;
}

namespace {

// The origin of an operation that may be MPI_NO_OP: then its type is null, and the origin is
// ignored.
Side operand(const void* address, Count count, const dt::Datatype* type) noexcept {
  if (type == nullptr) return {nullptr, 0, *dt::predefined(dt::abi::kByte)};
  return {address, count, *type};
}

// MPI-4.1 section 12.3.4.3 and .4: one element of a predefined type.
Err check_single(const dt::Datatype& type) {
  if (type.is_predefined() && type.abi_code() != 0) return kSuccess;
  return fail(MPI_ERR_TYPE, "the datatype is not a predefined one");
}

Err check_buffer(const void* buffer, const char* name) {
  if (buffer != nullptr) return kSuccess;
  return fail(MPI_ERR_BUFFER, fmt::format("{} is a null pointer", name));
}

// C and Fortran integers, logical types and bytes: the types that have operations on bits, or
// logical operations but no sum.
bool can_be_swapped(uint32_t code) noexcept {
  return dt::reduction(dt::abi::kBand, code) != nullptr ||
         (dt::reduction(dt::abi::kLand, code) != nullptr &&
          dt::reduction(dt::abi::kSum, code) == nullptr);
}

}  // namespace

namespace impl {

Err accumulate(const void* origin_addr, Count origin_count,
               const dt::Datatype& origin_datatype, int target_rank, Count target_disp,
               Count target_count, const dt::Datatype& target_datatype, Op& op,
               Win& win) {
  return mpi::accumulate("MPI_Accumulate", {origin_addr, origin_count, origin_datatype},
                         nullptr, target_rank, target_disp, target_count,
                         target_datatype, op, win);
}

Err get_accumulate(const void* origin_addr, Count origin_count,
                   const dt::Datatype* origin_datatype, void* result_addr,
                   Count result_count, const dt::Datatype& result_datatype,
                   int target_rank, Count target_disp, Count target_count,
                   const dt::Datatype& target_datatype, Op& op, Win& win) {
  const Side result{result_addr, result_count, result_datatype};
  return mpi::accumulate(
      "MPI_Get_accumulate", operand(origin_addr, origin_count, origin_datatype),
      &result, target_rank, target_disp, target_count, target_datatype, op, win);
}

Err raccumulate(const void* origin_addr, Count origin_count,
                const dt::Datatype& origin_datatype, int target_rank, Count target_disp,
                Count target_count, const dt::Datatype& target_datatype, Op& op,
                Win& win, Request** request) {
  return with_request("MPI_Raccumulate", win, target_rank, request, [&](IsOver* later) {
    return mpi::accumulate(
        "MPI_Raccumulate", {origin_addr, origin_count, origin_datatype}, nullptr,
        target_rank, target_disp, target_count, target_datatype, op, win, later);
  });
}

Err rget_accumulate(const void* origin_addr, Count origin_count,
                    const dt::Datatype* origin_datatype, void* result_addr,
                    Count result_count, const dt::Datatype& result_datatype,
                    int target_rank, Count target_disp, Count target_count,
                    const dt::Datatype& target_datatype, Op& op, Win& win,
                    Request** request) {
  const Side result{result_addr, result_count, result_datatype};
  return with_request(
      "MPI_Rget_accumulate", win, target_rank, request, [&](IsOver* later) {
        return mpi::accumulate("MPI_Rget_accumulate",
                               operand(origin_addr, origin_count, origin_datatype),
                               &result, target_rank, target_disp, target_count,
                               target_datatype, op, win, later);
      });
}

Err fetch_and_op(const void* origin_addr, void* result_addr,
                 const dt::Datatype& datatype, int target_rank, Count target_disp,
                 Op& op, Win& win) {
  MPC_MPI_TRY(check_single(datatype));
  rma::ElementOp bound;
  MPC_MPI_TRY(bind(op, datatype, &bound));
  if (target_rank == MPI_PROC_NULL) return kSuccess;
  char* at = nullptr;
  const Err found =
      find_target("MPI_Fetch_and_op", win, target_rank, target_disp, datatype, 1, &at);
  if (found && !is_elsewhere(found) && !is_queued(found)) return found;
  MPC_MPI_TRY(check_buffer(result_addr, "result_addr"));
  if (!reads_only(op)) MPC_MPI_TRY(check_buffer(origin_addr, "origin_addr"));
  win.has_read.store(true, std::memory_order_relaxed);
  if (win.share().is_elsewhere(target_rank)) [[unlikely]] {
    const rma::Buffer result{result_addr, &datatype, 1};
    rma::Buffer origin;
    if (!reads_only(op)) origin = {const_cast<void*>(origin_addr), &datatype, 1};
    win.access.remote()->accumulate(
        op.code(), datatype, {target_rank, target_disp, datatype, 1}, origin, &result,
        TargetReason("MPI_Fetch_and_op", win, target_rank));
    return kSuccess;
  }
  if (is_queued(found)) [[unlikely]] {
    win.access.push(
        target_rank,
        {.run =
             [who = later_passage(win, target_rank), bound, at, result_addr,
              data = copy_of(origin_addr, reads_only(op) ? 0 : datatype.extent())] {
               AccumulateGate::pass(who, [&] {
                 bound.apply(at, data.empty() ? nullptr : data.data(), result_addr);
               });
             }},
        nullptr);
    return kSuccess;
  }
  AccumulateGate::pass(win.access.passage(target_rank),
                       [&] { bound.apply(at, origin_addr, result_addr); });
  return kSuccess;
}

Err compare_and_swap(const void* origin_addr, const void* compare_addr,
                     void* result_addr, const dt::Datatype& datatype, int target_rank,
                     Count target_disp, Win& win) {
  MPC_MPI_TRY(check_single(datatype));
  if (!can_be_swapped(datatype.abi_code()))
    return fail(MPI_ERR_TYPE,
                fmt::format("MPI_Compare_and_swap is for integers, logical types and "
                            "bytes, not for {}",
                            name_of(datatype)));
  if (target_rank == MPI_PROC_NULL) return kSuccess;
  char* at = nullptr;
  const Err found = find_target("MPI_Compare_and_swap", win, target_rank, target_disp,
                                datatype, 1, &at);
  if (found && !is_elsewhere(found) && !is_queued(found)) return found;
  MPC_MPI_TRY(check_buffer(origin_addr, "origin_addr"));
  MPC_MPI_TRY(check_buffer(compare_addr, "compare_addr"));
  MPC_MPI_TRY(check_buffer(result_addr, "result_addr"));
  win.has_read.store(true, std::memory_order_relaxed);
  if (win.share().is_elsewhere(target_rank)) [[unlikely]] {
    win.access.remote()->compare_and_swap(
        {target_rank, target_disp, datatype, 1}, origin_addr, compare_addr, result_addr,
        TargetReason("MPI_Compare_and_swap", win, target_rank));
    return kSuccess;
  }
  if (is_queued(found)) [[unlikely]] {
    win.access.push(target_rank,
                    {.run =
                         [who = later_passage(win, target_rank), &datatype, at,
                          result_addr, origin = copy_of(origin_addr, datatype.extent()),
                          compare = copy_of(compare_addr, datatype.extent())] {
                           AccumulateGate::pass(who, [&] {
                             rma::compare_and_swap(datatype, at, origin.data(),
                                                   compare.data(), result_addr);
                           });
                         }},
                    nullptr);
    return kSuccess;
  }
  AccumulateGate::pass(win.access.passage(target_rank), [&] {
    rma::compare_and_swap(datatype, at, origin_addr, compare_addr, result_addr);
  });
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi
