// MPI-4.1 section 12.3 with mpi.check=full: the types of both sides of an operation on a window, and the
// memory that it uses here.

#include <fmt/format.h>

#include "mpi/check/origin_buffers.h"
#include "mpi/checked/rma.h"
#include "mpi/impl/rma.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/fault.h"
#include "mpi/objects/op.h"
#include "mpi/objects/win.h"

namespace mpc::mpi::checked {
namespace {

using dt::Count;

struct Side {
  Count count;
  const dt::Datatype& type;

  std::string text() const { return elements_text(count, type); }
  bool is_packed() const noexcept { return type.uniform_code() == dt::abi::kPacked; }
  bool is_empty() const noexcept { return count == 0 || type.size() == 0; }
};

void compare(const Side& origin, const Side& target, int target_rank, Win& win) {
  if (target_rank == MPI_PROC_NULL || (origin.is_empty() && target.is_empty())) return;
  if (origin.is_packed() || target.is_packed()) return;
  if (dt::hash_repeat(origin.type.signature_hash(), origin.count) ==
      dt::hash_repeat(target.type.signature_hash(), target.count))
    return;
  const CallSite site = this_call();
  const CodePlace place = place_of(site.address);
  report_fault("types differ", place, place, [&] {
    return fmt::format(
        "origin and target of a one-sided operation have different types\n"
        "  {} of rank {}: {} here, {} at rank {} of the window",
        call_at(site), win.comm().self().world_rank, origin.text(), target.text(),
        target_rank);
  });
}

// MPI_NO_OP has no operand.
std::vector<BufferUse> operand_and_result(const void* operand, Count count,
                                          const dt::Datatype* type,
                                          const Buffer& result, const Op& op) {
  std::vector<BufferUse> uses{result.written()};
  if (op.code() != dt::abi::kNoOp && type != nullptr)
    uses.push_back(Buffer{operand, count, *type}.read());
  return uses;
}

}  // namespace

Err put(const void* origin_addr, Count origin_count, const dt::Datatype& origin_type,
        int target_rank, Count target_disp, Count target_count,
        const dt::Datatype& target_type, Win& win) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.read()});
  return buffers.end(impl::put(origin_addr, origin_count, origin_type, target_rank,
                               target_disp, target_count, target_type, win));
}
Err rput(const void* origin_addr, Count origin_count, const dt::Datatype& origin_type,
         int target_rank, Count target_disp, Count target_count,
         const dt::Datatype& target_type, Win& win, Request** request) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.read()});
  return buffers.end(impl::rput(origin_addr, origin_count, origin_type, target_rank,
                                target_disp, target_count, target_type, win, request),
                     request);
}
Err get(void* origin_addr, Count origin_count, const dt::Datatype& origin_type,
        int target_rank, Count target_disp, Count target_count,
        const dt::Datatype& target_type, Win& win) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.written()});
  return buffers.end(impl::get(origin_addr, origin_count, origin_type, target_rank,
                               target_disp, target_count, target_type, win));
}
Err rget(void* origin_addr, Count origin_count, const dt::Datatype& origin_type,
         int target_rank, Count target_disp, Count target_count,
         const dt::Datatype& target_type, Win& win, Request** request) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.written()});
  return buffers.end(impl::rget(origin_addr, origin_count, origin_type, target_rank,
                                target_disp, target_count, target_type, win, request),
                     request);
}
Err accumulate(const void* origin_addr, Count origin_count,
               const dt::Datatype& origin_type, int target_rank, Count target_disp,
               Count target_count, const dt::Datatype& target_type, Op& op, Win& win) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.read()});
  return buffers.end(impl::accumulate(origin_addr, origin_count, origin_type,
                                      target_rank, target_disp, target_count,
                                      target_type, op, win));
}
Err raccumulate(const void* origin_addr, Count origin_count,
                const dt::Datatype& origin_type, int target_rank, Count target_disp,
                Count target_count, const dt::Datatype& target_type, Op& op, Win& win,
                Request** request) {
  compare({origin_count, origin_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(win, target_rank,
                        {Buffer{origin_addr, origin_count, origin_type}.read()});
  return buffers.end(
      impl::raccumulate(origin_addr, origin_count, origin_type, target_rank,
                        target_disp, target_count, target_type, op, win, request),
      request);
}
// The result has the types of the target. The operand is not checked, because MPI_NO_OP has none.
Err get_accumulate(const void* origin_addr, Count origin_count,
                   const dt::Datatype* origin_type, void* result_addr,
                   Count result_count, const dt::Datatype& result_type, int target_rank,
                   Count target_disp, Count target_count,
                   const dt::Datatype& target_type, Op& op, Win& win) {
  compare({result_count, result_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(
      win, target_rank,
      operand_and_result(origin_addr, origin_count, origin_type,
                         {result_addr, result_count, result_type}, op));
  return buffers.end(impl::get_accumulate(
      origin_addr, origin_count, origin_type, result_addr, result_count, result_type,
      target_rank, target_disp, target_count, target_type, op, win));
}
Err rget_accumulate(const void* origin_addr, Count origin_count,
                    const dt::Datatype* origin_type, void* result_addr,
                    Count result_count, const dt::Datatype& result_type,
                    int target_rank, Count target_disp, Count target_count,
                    const dt::Datatype& target_type, Op& op, Win& win,
                    Request** request) {
  compare({result_count, result_type}, {target_count, target_type}, target_rank, win);
  OriginBuffers buffers(
      win, target_rank,
      operand_and_result(origin_addr, origin_count, origin_type,
                         {result_addr, result_count, result_type}, op));
  return buffers.end(
      impl::rget_accumulate(origin_addr, origin_count, origin_type, result_addr,
                            result_count, result_type, target_rank, target_disp,
                            target_count, target_type, op, win, request),
      request);
}

Err fetch_and_op(const void* origin_addr, void* result_addr, const dt::Datatype& type,
                 int target_rank, Count target_disp, Op& op, Win& win) {
  OriginBuffers buffers(
      win, target_rank,
      operand_and_result(origin_addr, 1, &type, {result_addr, 1, type}, op));
  return buffers.end(impl::fetch_and_op(origin_addr, result_addr, type, target_rank,
                                        target_disp, op, win));
}
Err compare_and_swap(const void* origin_addr, const void* compare_addr,
                     void* result_addr, const dt::Datatype& type, int target_rank,
                     Count target_disp, Win& win) {
  OriginBuffers buffers(
      win, target_rank,
      {Buffer{result_addr, 1, type}.written(), Buffer{origin_addr, 1, type}.read(),
       Buffer{compare_addr, 1, type}.read()});
  return buffers.end(impl::compare_and_swap(origin_addr, compare_addr, result_addr,
                                            type, target_rank, target_disp, win));
}

}  // namespace mpc::mpi::checked
