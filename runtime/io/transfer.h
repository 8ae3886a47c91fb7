#pragma once
// Transfer: one rank's access through its view, independent of other ranks.
//
// Role:      moves large pieces directly between memory and file, and many small ones with small
//            gaps through a window of the file (data sieving).
// Users:     runtime/io/collective.h, mpi/io.
// Threads:   any; also threads without a rank.
// See also:  runtime/io/windows.h (many ranks together); Thakur, Gropp, Lusk, "Data Sieving and
//            Collective I/O in ROMIO" (Frontiers 1999).

#include "runtime/datatype/datatype.h"
#include "runtime/io/descriptor.h"
#include "runtime/io/file_lock.h"
#include "runtime/io/tuning.h"
#include "runtime/io/view.h"

namespace mpc::io {

// The user's side of an access.
struct Buffer {
  void* base = nullptr;
  const dt::Datatype* type = nullptr;
  Count count = 0;

  Count bytes() const noexcept { return type->size() * count; }
  bool is_contiguous() const noexcept { return type->is_contiguous(); }
  char* data() const noexcept { return static_cast<char*>(base); }
};

// How the file may be used.
struct Target {
  const Descriptor& file;
  FileLock* lock;  // null: the caller holds it, or no other access is possible
  // Gaps may be read and written back: the lock excludes others that write there. With
  // `locks_range` it excludes other processes that do the same.
  bool may_rewrite, locks_range;
  Tuning tuning;
};

// Locks a window that is read, changed and written back, against other processes that lock theirs.
class RangeLocked {
 public:
  RangeLocked(const Target& target, Count begin, Count end) noexcept
      : target_(target), begin_(begin), end_(end) {
    has_it_ = target.locks_range && target.file.lock_range(begin, end) == 0;
  }
  ~RangeLocked() {
    if (has_it_) (void)target_.file.unlock_range(begin_, end_);
  }
  RangeLocked(const RangeLocked&) = delete;
  RangeLocked& operator=(const RangeLocked&) = delete;

 private:
  const Target& target_;
  const Count begin_, end_;
  bool has_it_;
};

// From byte `begin` of the stream on. Switches: sometimes.
Outcome read(const Target& target, const View& view, Count begin, const Buffer& to);
Outcome write(const Target& target, const View& view, Count begin, const Buffer& from);

// Both: bytes [begin, end) of the stream; the data have no gaps in memory.
Outcome read_part(const Target& target, const View& view, Count begin, Count end,
                  char* to);
Outcome write_part(const Target& target, const View& view, Count begin, Count end,
                   const char* from);

}  // namespace mpc::io
