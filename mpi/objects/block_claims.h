#pragma once
// BlockClaims: the blocks that one member of a collective sends and receives, as its own call says.
//
// Role:      in collectives whose members have counts of their own, and in neighbourhoods, a block
//            that one member sends must be the block that the other one receives (MPI-4.1 sections
//            6.5 to 6.8, 8.6). In other collectives only the block that a member sends itself is
//            listed.
// Users:     mpi/objects/check.cpp (mpi.check=full).
// Threads:   values.
// See also:  docs/checking.md, docs/design/0043-more-checking.md.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/objects/byte_stream.h"
#include "nbc/algorithms/collectives.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

// One block, as its sender or its receiver describes it. Travels as bytes.
struct BlockClaim {
  int peer = 0;     // rank in the communicator
  int channel = 0;  // number of the block, where there are several between the same two
  dt::SignatureHash hash;
  dt::Count count = 0, type_elements = 0;
  uint32_t type_code = 0, uniform_code = 0;

  bool is_empty() const noexcept { return count == 0 || type_elements == 0; }
  std::string text() const;  // "4 MPI_INT"
};
// May a block sent as `sent` be received as `received`? The rules are those of messages, and the
// lengths are equal.
bool fits(const BlockClaim& sent, const BlockClaim& received) noexcept;

struct BlockClaims {
  std::vector<BlockClaim> in, out;  // by peer, then channel
  std::optional<BlockClaim> out_to_all;

  bool is_empty() const noexcept { return in.empty() && out.empty() && !out_to_all; }
  std::span<const BlockClaim> all_from(int peer) const noexcept;
  const BlockClaim* to(int peer, int channel) const noexcept;  // null: there is none
};
// `pair`: the types of send and receive side, `many_types`: those of w forms, as the schedule
// binds them. Not for intercommunicators.
BlockClaims blocks_of(const nbc::Shape& shape,
                      std::span<const dt::Datatype* const> pair,
                      std::span<const dt::Datatype* const> many_types);

void put_blocks(ByteWriter& out, const BlockClaims& blocks);
BlockClaims get_blocks(ByteReader& in);

}  // namespace mpc::mpi
