#pragma once
// Collectives: from the shape of a call to this rank's schedule.
//
// Role:      one pure builder per collective and algorithm; a table that says what each
//            algorithm demands; a selection that every rank makes alike.
// Users:     mpi (through ScheduleCache), tests, later the simulator.
// Threads:   pure functions.
// See also:  docs/collectives.md (table, restrictions), nbc/schedule/schedule.h,
//            nbc/algorithms/cache.h, docs/design/0004-schedules.md.
//
// A call is described by one Shape: counts, displacements and the shape of the types, never an
// address. What the schedule's BufferRefs name, and what a Binding must therefore give:
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
// A type that the rank does not use (send type with MPI_IN_PLACE, recv type of a rank that is
// not the root) may be null, as may the buffer. Slot kScratch and type kByteType belong to the
// engine.

#include <memory>
#include <span>
#include <string_view>

#include "nbc/schedule/coll.h"
#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

class Homes;  // nbc/algorithms/nest.h

// What a builder must know of a datatype.
struct TypeShape {
  int64_t size = 0;  // bytes of data in one element
  int64_t extent = 0;
  int64_t true_lb = 0;
  int64_t true_extent = 0;
  bool is_contiguous =
      false;  // n elements are n * size bytes from the buffer's address on
  TypeShape() = default;
  explicit TypeShape(const dt::Datatype& type)
      : size(type.size()),
        extent(type.extent()),
        true_lb(type.true_lb()),
        true_extent(type.true_extent()),
        is_contiguous(type.is_contiguous()) {}
  bool operator==(const TypeShape&) const = default;
};

// The call, as its arguments are at this rank. Fields that the collective does not have are
// left alone; the spans must live as long as the call of build().
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
  // v and w forms. Displacements in extents of the type; alltoallw: in bytes.
  // reduce_scatter: recv_counts. gatherv: recv_* at the root; scatterv: send_* at the root.
  std::span<const Count> send_counts, send_displs, recv_counts, recv_displs;
  std::span<const TypeShape> send_types, recv_types;  // w forms
  // Neighbourhood forms: ranks in the order of the buffers; -1 is MPI_PROC_NULL. The array
  // forms have send_* by destination and recv_* by source.
  std::span<const int> sources, destinations;
  // The neighbours are those of a Cartesian topology: what goes in the negative direction of a
  // dimension arrives from the positive one, also where both are the same rank (MPI-4.1 8.7).
  bool is_cartesian = false;
  // Optional: where each rank of the communicator lives (any number per place, e.g. its
  // worker), the same at all ranks and in all calls on it. Trees then cross between places as rarely as they can.
  std::span<const int> place_of_rank;
  // Of a communicator of several processes, if some of its ranks share one or a host: trees then
  // cross between hosts and processes as rarely as they can, and the places above count only
  // within a process. Null: no such thing. The same in all calls on the communicator.
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
  // Alike at all ranks, as they change messages:
  bool is_nonblocking = false;  // the start is to be short: no rank with many children
  const char* algorithm =
      nullptr;                // of the table's names; null, or not applicable: select()
  int arity = 0;              // k of k-nomial trees, 2 or more; 0: setting nbc.arity
  int64_t segment_bytes = 0;  // of pipelines; 0: setting nbc.segment_bytes
};

// What an algorithm demands, and what its name is in `nbc.algorithm`.
enum Restriction : uint8_t {
  kNoRestriction = 0,
  kCommutativeOnly = 1,
  kPowerOfTwoOnly = 2,
  kContiguousPlaces = 4,  // if rank order matters, ranks of a place must be neighbours
};

struct Algorithm {
  Coll coll;
  const char* name;      // "binomial"
  uint8_t restrictions;  // of Restriction
  const char* what;      // one line for docs/collectives.md and `mpcinfo`
  void (*build)(ScheduleBuilder& builder, const Shape& shape);
};
// All algorithms, those of a collective side by side; the first one of each has no
// restriction.
std::span<const Algorithm> algorithms() noexcept;
std::span<const Algorithm> algorithms(Coll coll) noexcept;
const Algorithm* find_algorithm(Coll coll, std::string_view name) noexcept;
bool is_applicable(const Algorithm& algorithm, const Shape& shape) noexcept;

// The algorithm that all ranks take, from what all of them know alike. The setting
// nbc.algorithm ("allreduce:ring,bcast:chain") overrides it where the restrictions allow.
const Algorithm& select(const Shape& shape);
// What that setting names for this collective, if it can be used; null: nothing.
const Algorithm* wanted_algorithm(const Shape& shape);

// What the shape says, or the settings where it says nothing.
int arity_of(const Shape& shape);
int64_t segment_bytes_of(const Shape& shape);

// Errors: kNoMem (scratch larger than the address space), kInternal.
Result<std::shared_ptr<const Schedule>> build(const Shape& shape);
Result<std::shared_ptr<const Schedule>> build(const Shape& shape,
                                              const Algorithm& algorithm);

// Tags of one collective: pass as Binding::tag_base. `sequence` counts the collectives of the
// communicator, alike at all members; persistent ones draw theirs from a count of their own at
// the init call and keep it for all starts.
constexpr int tag_base(uint32_t sequence, bool is_persistent = false) noexcept {
  const uint32_t half = is_persistent ? 1u << 30 : 0;
  return static_cast<int>(half | (sequence & 0xfffff) * kTagsPerCollective);
}

}  // namespace mpc::nbc
