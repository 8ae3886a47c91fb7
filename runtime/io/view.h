#pragma once
// View: which bytes of a file a rank sees, as one stream of data.
//
// Role:      from a byte of the stream to its place in the file and back; moves parts of the stream
//            between the user's order and an image of a part of the file.
// Users:     runtime/io, mpi/objects/file.h, mpi/io.
// Threads:   immutable.
// See also:  MPI-4.1 section 14.3; runtime/io/layout_search.h.
//
//   file     |displacement ..|XX..X.|XX..X.|XX..X.|     X: data of the filetype, . gaps
//   stream                    01  2  34  5  67  8       tiles of 3 bytes, an extent of 6

#include <optional>

#include "runtime/datatype/cursor.h"
#include "runtime/datatype/datatype.h"
#include "runtime/io/outcome.h"

namespace mpc::io {

class View {
 public:
  // `filetype` is what it is in the file, that is in the file's data representation; the same for the
  // size of an etype. filetype.extent() > 0 if it has data.
  View(Count displacement, Count etype_bytes, dt::TypeRef filetype);

  Count displacement() const noexcept { return displacement_; }
  Count etype_bytes() const noexcept { return etype_bytes_; }
  // The stream has no gaps.
  bool is_contiguous() const noexcept { return is_contiguous_; }
  // The stream only goes up in the file, so that stream_before() has a meaning.
  bool is_ordered() const noexcept { return is_ordered_; }
  // The same of one tile. The next may begin before it ends: of a filetype's extent MPI says nothing.
  bool has_ordered_tiles() const noexcept { return has_ordered_tiles_; }
  bool is_empty() const noexcept { return size_ == 0; }  // a filetype without data

  // Where the byte lies; where the one before it ends. Cost: O(depth * log(entries)), as the next.
  Count offset_of(Count byte) const noexcept;
  Count end_of(Count byte) const noexcept {
    return byte == 0 ? displacement_ : offset_of(byte - 1) + 1;
  }
  // Bytes of the stream that lie before this offset of the file. Needs: is_ordered().
  Count stream_before(Count offset) const noexcept;
  // Mean length of what lies without a gap; an estimate.
  Count mean_run() const noexcept { return mean_run_; }

  // Bytes [begin, end) of the stream, between `data` and an image of the file whose first byte is at
  // `image_at` of it.
  void to_image(const char* data, Count begin, Count end, char* image,
                Count image_at) const noexcept;
  void from_image(char* data, Count begin, Count end, const char* image,
                  Count image_at) const noexcept;

 private:
  friend class FileRuns;
  struct Tile {
    Count at;     // of the file
    Count first;  // byte of the stream
  };
  Tile tile_of(Count byte) const noexcept {
    const Count i = byte / size_;
    return {displacement_ + i * extent_, i * size_};
  }

  Count displacement_, etype_bytes_;
  dt::TypeRef filetype_;
  Count size_, extent_;
  Count first_ = 0;  // of a tile's data, relative to the tile
  Count mean_run_ = 1;
  bool is_contiguous_, is_ordered_ = true, has_ordered_tiles_ = true;
};

// The stretches of the file that hold bytes [begin, end) of the stream, in its order.
class FileRuns {
 public:
  FileRuns(const View& view, Count begin, Count end);

  struct Run {
    Count offset, bytes;
  };
  // False at the end. What touches is one run.
  bool next(Run* run);

 private:
  Run piece();

  Count left_;
  std::optional<dt::Cursor> cursor_;
  Run ahead_{0, 0};
};

}  // namespace mpc::io
