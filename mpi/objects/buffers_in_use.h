#pragma once
// BuffersInUse: the buffers of a rank's operations that are under way (mpi.check=full).
//
// Role:      finds operations that use the same bytes at once, at least one of them to write; and
//            finds that a program has written to a buffer that it is sending.
// Users:     mpi/objects/watch, mpi/check.
// Threads:   any execution of the rank.
// See also:  docs/checking.md; MPI-4.1 sections 3.7.2 and 6.12.

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mpi/objects/fault.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

// One buffer of one call. It keeps its type alive.
struct BufferUse {
  BufferUse(const void* its_base, dt::Count its_count, const dt::Datatype& its_type,
            bool does_write, CallSite its_site) noexcept;

  const void* base;
  dt::Count count;
  dt::TypeRef type;
  bool writes;
  CallSite site;
  uintptr_t begin, end;  // of all its bytes, with the gaps between them
  bool is_plain;         // no gaps

  bool is_empty() const noexcept { return begin == end; }
};

// Exact for any layout, except very long ones with gaps, which pass.
bool do_overlap(const BufferUse& a, const BufferUse& b);
// A checksum of the bytes without the gaps.
uint64_t checksum_of(const BufferUse& use) noexcept;

class BuffersInUse {
 public:
  // The buffers of `operation` are in use until end(). Reports overlaps with others, those of the
  // same call included.
  void begin(const void* operation, std::vector<BufferUse> uses);
  // The same for a call that is over when it returns: compares, and stores nothing.
  void look(const std::vector<BufferUse>& uses);
  // `is_certain`: the operation has ended as the program sees it, so the data that it sent must be
  // unchanged.
  void end(const void* operation, bool is_certain);

 private:
  struct Where;
  struct Kept {
    BufferUse use;
    uint64_t checksum;
    bool is_suspect;  // it overlaps another one: its bytes may change
    Where* where;     // of_operation_ has it
  };
  using ByBegin = std::multimap<uintptr_t, Kept>;
  struct Where {
    ByBegin::iterator kept;
  };
  // Class k: end - begin is below 2^k and not below half of that. So a use that may overlap a given
  // one begins not far before it, whatever else is stored.
  static constexpr int kClasses = 65;
  using Shelf = ByBegin[kClasses];
  static int class_of(const BufferUse& use) noexcept;
  // Calls look_at(iterator) for each use whose range touches this one's; ends early if that returns false.
  template <class LookAt>
  static void for_each_near(Shelf& shelf, const BufferUse& use, LookAt look_at);

  bool meets(const BufferUse& use);
  bool meets_any(Shelf& innocent, Shelf& suspect, const BufferUse& use);

  std::mutex mutex_;
  // [does it write?][is it suspect?]. Operations that only read are not compared with each other, and an operation
  // becomes suspect once; so thousands of operations on the same bytes cost a search each, be they right or wrong.
  Shelf shelves_[2][2];
  std::unordered_multimap<const void*, Where> of_operation_;
};

}  // namespace mpc::mpi
