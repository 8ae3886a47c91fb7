#pragma once
// Cases: a random call of a collective on all ranks, with what must come out.
//
// Role:      one description for the verifier (symbols) and for the engine tests (bytes):
//            where each rank's data lie, and which rank's bytes must end up where.
// Users:     tests/unit/nbc.
// Threads:   one.
// See also:  nbc/schedule/verify.h.

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nbc/algorithms/collectives.h"
#include "nbc/algorithms/nest.h"
#include "nbc/schedule/verify.h"

namespace mpc::nbc::test {

// The types that cases choose from. Sizes divide 2, so that ranks may describe the same bytes
// by different types.
struct CaseType {
  VerifyType verify;
  TypeShape shape;
};
inline constexpr int kCaseTypes = 4;
const CaseType& case_type(int index);  // 0 byte, 1 pair, 2 with gaps, 3 negative extent

struct Block {
  int64_t offset = 0;  // bytes from the slot's address
  Count count = 0;
  int type = 0;  // of case_type
};

// What a byte must be afterwards: the operation over the contributions of these ranks, in
// order; one rank for data that are only moved. `index`: which byte of that rank's input.
struct Want {
  std::vector<int> ranks;
  int64_t index = 0;
};

struct RankCase {
  Shape shape;
  std::vector<Block> send, recv;  // the user's blocks by slot, without overlap
  std::vector<int> type_indices;  // of case_type, by BufferRef::type
  bool input_in_recv = false;     // MPI_IN_PLACE: the input lies in `recv`
  int64_t input_offset = 0;       // where the input begins in the packed bytes of it
  int64_t input_bytes = 0;
  std::vector<Want> want;  // by packed byte of `recv`; no ranks: unchanged
  // What the shape's spans point to.
  std::vector<Count> send_counts, send_displs, recv_counts, recv_displs;
  std::vector<TypeShape> send_types, recv_types;
  std::vector<int> sources, destinations;
};

struct Case {
  Coll coll;
  int size;
  bool is_commutative;
  std::vector<int> places;
  std::shared_ptr<const Homes> homes;    // null: one process
  std::shared_ptr<const Homes> workers;  // of one process: by `places`; null: not known
  std::deque<RankCase> ranks;
  std::string text() const;
};

// `unit`: blocks have up to 2 * unit bytes.
Case random_case(Coll coll, int size, std::mt19937& random, int unit = 2);

// Lowest byte and the end of all bytes of the blocks (0, 0 if there is none).
std::pair<int64_t, int64_t> bounds(const std::vector<Block>& blocks);
// Offsets of the data bytes in packed order.
std::vector<int64_t> packed_offsets(const std::vector<Block>& blocks);

}  // namespace mpc::nbc::test
