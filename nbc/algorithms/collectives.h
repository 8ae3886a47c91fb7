#pragma once
// Collectives: build this rank's schedule from the shape of a call.
//
// Role:      one pure builder per collective and algorithm; a table that says what each
//            algorithm requires; a selection that gives the same result on every rank.
// Users:     mpi (through ScheduleCache), tests, later the simulator.
// Threads:   pure functions.
// See also:  docs/collectives.md (table, restrictions), nbc/schedule/schedule.h,
//            nbc/algorithms/cache.h, docs/design/0004-schedules.md.
//
// A call is described by one Shape: counts, displacements and the shape of the types, never an
// address. What the schedule's BufferRefs name, and what a Binding must therefore provide:
//
//   collective            slot 0 (send)  slot 1 (recv)   types bound, in this order
//   barrier               -              -               none
//   bcast                 -              the buffer      { any, buffer type }
//   reductions, scans     sendbuf        recvbuf         { type, type }
//   gather(v) scatter(v)  sendbuf        recvbuf         { send type, recv type }
//   allgather(v) alltoall(v), their neighbourhood forms  { send type, recv type }
//   alltoallw             sendbuf        recvbuf         n send types, then n recv types
//   neighbor_alltoallw    sendbuf        recvbuf         destinations' types, then sources'
//
// A type that the rank does not use (the send type with MPI_IN_PLACE, the recv type of a rank that
// is not the root) may be null, as may the buffer. Slot kScratch and type kByteType belong to the
// engine.

#include <memory>
#include <span>
#include <string_view>

#include "nbc/schedule/coll.h"
#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

class Homes;  // nbc/algorithms/nest.h

// What a builder must know about a datatype.
struct TypeShape {
  int64_t size = 0;  // bytes of data in one element
  int64_t extent = 0;
  int64_t true_lb = 0;
  int64_t true_extent = 0;
  bool is_contiguous =
      false;  // n elements are exactly the n * size bytes from the buffer's address on
  TypeShape() = default;
  explicit TypeShape(const dt::Datatype& type)
      : size(type.size()),
        extent(type.extent()),
        true_lb(type.true_lb()),
        true_extent(type.true_extent()),
        is_contiguous(type.is_contiguous()) {}
  bool operator==(const TypeShape&) const = default;
};

// The call, with its arguments at this rank. Fields that the collective does not have are not
// read; the spans must live as long as the call of build().
struct Shape {
  Coll coll = Coll::kBarrier;
  int rank = 0, size = 1;  // in the communicator
  int root = 0;
  bool is_in_place = false;    // MPI_IN_PLACE was given at this rank
  bool is_commutative = true;  // of the operation
  // bcast, reductions, scans: recv_count and recv_type, the same at all ranks (bcast: the same
  // bytes). reduce_scatter_block: recv_count is that of one block. gather and alltoall:
  // recv_count per rank, as in MPI. With MPI_IN_PLACE in alltoall(v,w) only the recv side.
  Count send_count = 0, recv_count = 0;
  TypeShape send_type, recv_type;
  // For v and w forms. Displacements in extents of the type; alltoallw: in bytes.
  // reduce_scatter: recv_counts. gatherv: recv_* at the root; scatterv: send_* at the root.
  std::span<const Count> send_counts, send_displs, recv_counts, recv_displs;
  std::span<const TypeShape> send_types, recv_types;  // w forms
  // For neighbourhood forms: ranks in the order of the buffers; -1 is MPI_PROC_NULL. The array
  // forms have send_* by destination and recv_* by source.
  std::span<const int> sources, destinations;
  // The neighbours are those of a Cartesian topology: data sent in the negative direction of a
  // dimension arrives from the positive one, also where both are the same rank (MPI-4.1 8.7).
  bool is_cartesian = false;
  // Optional: where each rank of the communicator lives (any number per place,
  // e.g. its worker), the same at all ranks and in all calls on the communicator.
  // Trees then cross between places as rarely as possible.
  std::span<const int> place_of_rank;
  // For a communicator of several processes, if some of its ranks share a process or a host: trees
  // then cross between hosts and processes as rarely as possible, and the places above count only
  // within a process. Null: not so. The same in all calls on the communicator.
  const Homes* homes = nullptr;
  // Limits that were measured on this machine hold (nbc/schedule/limits.h).
  bool is_in_one_process = false;
  // Of a communicator of one process whose ranks share workers: those workers as if they were processes. Null:
  // no such thing, or not known. The same in all calls on the communicator.
  const Homes* workers = nullptr;
  // The split of trees (Denis et al. 2018): nodes of the `split` levels next to the leaves get
  // Where::kApplication, in bcast, scatter(v), reduce, gather(v) and the trees of allreduce.
  // May differ between ranks: it changes marks, never messages.
  int split = 0;
  // The same at all ranks, because they change messages:
  bool is_nonblocking = false;  // the start must be short: no rank with many children
  const char* algorithm =
      nullptr;                // of the table's names; null, or not applicable: select()
  int arity = 0;              // k of k-nomial trees, 2 or more; 0: setting nbc.arity
  int64_t segment_bytes = 0;  // of pipelines; 0: setting nbc.segment_bytes
};

// What an algorithm requires, and its name in `nbc.algorithm`.
enum Restriction : uint8_t {
  kNoRestriction = 0,
  kCommutativeOnly = 1,
  kPowerOfTwoOnly = 2,
  // If rank order matters, the ranks of a place must be neighbours.
  kContiguousPlaces = 4,
};

struct Algorithm {
  Coll coll;
  const char* name;      // "binomial"
  uint8_t restrictions;  // of Restriction
  const char* what;      // one line for docs/collectives.md and `mpcinfo`
  void (*build)(ScheduleBuilder& builder, const Shape& shape);
};
// All algorithms, those of a collective next to each other; the first one of each has no
// restriction.
std::span<const Algorithm> algorithms() noexcept;
std::span<const Algorithm> algorithms(Coll coll) noexcept;
const Algorithm* find_algorithm(Coll coll, std::string_view name) noexcept;
bool is_applicable(const Algorithm& algorithm, const Shape& shape) noexcept;

// The algorithm that all ranks use, chosen from what all of them know and agree on. The setting
// nbc.algorithm ("allreduce:ring,bcast:chain") overrides it where the restrictions allow.
const Algorithm& select(const Shape& shape);
// The algorithm that the setting names for this collective, if it can be used; null: none.
const Algorithm* wanted_algorithm(const Shape& shape);

// The value of the shape, or of the settings if the shape has none.
int arity_of(const Shape& shape);
int64_t segment_bytes_of(const Shape& shape);

// Errors: kNoMem (scratch larger than the address space), kInternal.
Result<std::shared_ptr<const Schedule>> build(const Shape& shape);
Result<std::shared_ptr<const Schedule>> build(const Shape& shape,
                                              const Algorithm& algorithm);

// Tags of one collective: pass as Binding::tag_base. `sequence` counts the collectives of the
// communicator, the same at all members; persistent ones draw theirs from a separate count at
// the init call and use it for all starts.
constexpr int tag_base(uint32_t sequence, bool is_persistent = false) noexcept {
  const uint32_t half = is_persistent ? 1u << 30 : 0;
  return static_cast<int>(half | (sequence & 0xfffff) * kTagsPerCollective);
}

}  // namespace mpc::nbc
