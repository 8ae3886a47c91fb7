#pragma once
// Call: the arguments of one member in a direct collective.
//
// Role:      buffers, counts, types and the operation; posted by address, read by the member that
//            acts for the place or for all.
// Users:     mpi makes it on the stack of the call; nbc/direct reads it.
// Threads:   constant from the member's arrival to its release, during which others read it.
// See also:  nbc/direct/direct.h.

#include <cstdint>
#include <string>

#include "nbc/schedule/coll.h"
#include "runtime/datatype/datatype.h"
#include "runtime/datatype/reduce.h"

namespace mpc::nbc::direct {

using dt::Count;

// inout = in op inout over `n` elements: a predefined kernel, or a user's function (then `kernel`
// is null). Belongs to the member: the acting member uses the one of its own call.
struct Operation {
  dt::ReduceFn kernel = nullptr;
  dt::Reduce3Fn kernel3 =
      nullptr;  // out = left op right; only beside `kernel`, may be null
  void (*apply)(void* context, const void* in, void* inout, Count n) = nullptr;
  void* context = nullptr;

  void operator()(const void* in, void* inout, Count n) const {
    if (kernel != nullptr) {
      kernel(in, inout, n);
    } else {
      apply(context, in, inout, n);
    }
  }
};

// One block of the send side or the receive side of an exchange.
struct Block {
  void* data = nullptr;  // a send block is only read
  Count count = 0;
  const dt::Datatype* type = nullptr;
  size_t bytes() const noexcept {
    return static_cast<size_t>(count) * static_cast<size_t>(type->size());
  }
};

class Team;

struct Call {
  Coll coll = Coll::kBarrier;
  uint8_t op_code = 0;         // dt::abi::Op; 0: the user's, or none
  const void* send = nullptr;  // in place: = recv
  void* recv = nullptr;
  // Reductions: contiguous elements of one type.
  Count count = 0;
  size_t element_bytes = 0;
  Operation op;
  // Reduce_scatter: the elements of each member, which add up to `count`. Null: each member gets an
  // equal part of `count`.
  Count (*part)(const Call& call, int member) = nullptr;

  // Null, or called instead of moving data: by one execution, after all members have arrived and
  // before any leaves. What it writes into other members' calls these read after their release.
  void (*decide)(Team& team) = nullptr;

  // Exchanges (alltoall, allgather and their forms). Plain: blocks without gaps, at equal
  // distances. Block i of `send_block` or `recv_block` bytes starts `step` bytes after block i - 1.
  bool is_send_plain = false, is_recv_plain = false;
  size_t send_block = 0, recv_block = 0;
  Count send_step = 0, recv_step = 0;  // an allgather sends the same block to all: 0
  // If not plain. Both functions are always set in an exchange.
  Block (*block_to)(const Call& call, int member) = nullptr;
  Block (*block_from)(const Call& call, int member) = nullptr;

  // A length that must be equal for all members: the data of a reduction, one block of an even
  // exchange.
  size_t bytes() const noexcept {
    return element_bytes != 0 ? static_cast<size_t>(count) * element_bytes : send_block;
  }
};

// The same for a one-way collective, and for one that does not block.
struct OneWayCall {
  Coll coll = Coll::kBcast;
  uint8_t op_code = 0;  // dt::abi::Op; 0: the user's, or none
  int root = 0;
  // One block. For the root of a gather or scatter it is the first one; the others follow in steps
  // of its extent. No type: the member sends or receives nothing, or its own part is in place
  // already. For a reduction in place both name the same memory.
  Block send, recv;
  Operation op;
};

struct Outcome {  // what the collective came to, for this member
  const std::string* mismatch =
      nullptr;                // what members did not do alike; nothing was moved
  bool calls_differ = false;  // more differs than the amount of data
  int truncated_by = -1;  // this member's buffer was too short for data of that rank
  int short_from = -1;  // that rank sent less than the others, which must send the same
};

}  // namespace mpc::nbc::direct
