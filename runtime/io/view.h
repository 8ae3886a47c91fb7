#pragma once
// View: the bytes of a file that a rank sees, as one stream of data.
//
// Role:      maps bytes of the stream to offsets in the file and back; moves parts of the stream
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
  // `filetype` is as stored in the file, that is in the file's data representation; so is the size
  // of an etype. filetype.extent() > 0 if it has data.
  View(Count displacement, Count etype_bytes, dt::TypeRef filetype);

  Count displacement() const noexcept { return displacement_; }
  Count etype_bytes() const noexcept { return etype_bytes_; }
  // The stream has no gaps.
  bool is_contiguous() const noexcept { return is_contiguous_; }
  // The stream never goes back in the file, so that stream_before() has a meaning.
  bool is_ordered() const noexcept { return is_ordered_; }
  // The same within one tile. The next tile may begin before it ends: MPI does not restrict a
  // filetype's extent.
  bool has_ordered_tiles() const noexcept { return has_ordered_tiles_; }
  bool is_empty() const noexcept { return size_ == 0; }  // a filetype without data

  // The offset of a byte in the file; where the byte before it ends. Cost: O(depth * log(entries)),
  // also of the next.
  Count offset_of(Count byte) const noexcept;
  Count end_of(Count byte) const noexcept {
    return byte == 0 ? displacement_ : offset_of(byte - 1) + 1;
  }
  // Bytes of the stream that lie before this offset of the file. Needs: is_ordered().
  Count stream_before(Count offset) const noexcept;
  // Mean length of the stretches without a gap; an estimate.
  Count mean_run() const noexcept { return mean_run_; }

  // Moves bytes [begin, end) of the stream between `data` and an image of the file, whose first
  // byte is at offset `image_at` of the file.
  void to_image(const char* data, Count begin, Count end, char* image,
                Count image_at) const noexcept;
  void from_image(char* data, Count begin, Count end, const char* image,
                  Count image_at) const noexcept;

 private:
  friend class FileRuns;
  struct Tile {
    Count at;     // in the file
    Count first;  // byte of the stream
  };
  Tile tile_of(Count byte) const noexcept {
    const Count i = byte / size_;
    return {displacement_ + i * extent_, i * size_};
  }

  Count displacement_, etype_bytes_;
  dt::TypeRef filetype_;
  Count size_, extent_;
  Count first_ = 0;  // of the data in a tile, relative to the tile
  Count mean_run_ = 1;
  bool is_contiguous_, is_ordered_ = true, has_ordered_tiles_ = true;
};

// The stretches of the file that hold bytes [begin, end) of the stream, in the order of the stream.
class FileRuns {
 public:
  FileRuns(const View& view, Count begin, Count end);

  struct Run {
    Count offset, bytes;
  };
  // False: there are no more. Adjacent stretches are one run.
  bool next(Run* run);

 private:
  Run piece();

  Count left_;
  std::optional<dt::Cursor> cursor_;
  Run ahead_{0, 0};
};

}  // namespace mpc::io
