#include "runtime/io/windows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/io/scratch.h"

namespace mpc::io {
namespace {

// Writes bytes [from, to) of an image that begins at `first` of the file.
WindowOutcome put(const Target& target, const char* image, Count first, Count from,
                  Count to) {
  const Outcome done = target.file.write_at(image + from, to - from, first + from);
  if (done.error == 0) return {};
  return {done.error, first + from + done.bytes};
}

}  // namespace

WindowOutcome write_marked(const Target& target, const char* image, const char* marks,
                           Count span, Count first) {
  const FileLocked lock(target.lock, true);
  const char* const end = marks + span;
  for (const char* at = marks; at < end;) {
    const void* const begin = std::memchr(at, 1, static_cast<size_t>(end - at));
    if (begin == nullptr) break;
    at = static_cast<const char*>(begin);
    const void* const gap = std::memchr(at, 0, static_cast<size_t>(end - at));
    const char* const stop = gap != nullptr ? static_cast<const char*>(gap) : end;
    const WindowOutcome outcome = put(target, image, first, at - marks, stop - marks);
    if (outcome.error != 0) return outcome;
    at = stop;
  }
  return {};
}

namespace {

// Gaps of up to this length are moved with the data; longer ones cost more than the system calls
// saved.
constexpr Count kLongestGap = 3000;

// The data of a part in a window: bytes [begin, end) of its stream.
struct Piece {
  const Part* part;
  Count begin, end;
  Count bytes() const noexcept { return end - begin; }
};

struct Contents {
  std::vector<Piece> pieces;
  Count bytes = 0;
  Count first = kNotStopped, last = 0;  // in the file
  Count runs = 0;                       // an estimate

  Count span() const noexcept { return last - first; }
  bool has_short_gaps() const noexcept {
    return (span() - bytes) / std::max<Count>(runs, 1) <= kLongestGap;
  }
};

Contents contents_of(std::span<const Part> parts, Count begin, Count end) {
  Contents all;
  for (const Part& part : parts) {
    if (part.bytes == 0 || part.first >= end || part.last <= begin) continue;
    const Count from = std::max(part.view->stream_before(begin), part.begin);
    const Count to = std::min(part.view->stream_before(end), part.begin + part.bytes);
    if (from >= to) continue;
    all.pieces.push_back({&part, from, to});
    all.bytes += to - from;
    all.first = std::min(all.first, part.view->offset_of(from));
    all.last = std::max(all.last, part.view->end_of(to));
    all.runs += std::max<Count>((to - from) / part.view->mean_run(), 1);
  }
  return all;
}

// A piece of the user's data without gaps: in the user's memory, or copied to memory of its own.
class PieceData {
 public:
  explicit PieceData(const Piece& piece)
      : piece_(piece),
        copy_(piece.part->buffer.is_contiguous() ? 0
                                                 : static_cast<size_t>(piece.bytes())) {
    const Buffer& buffer = piece.part->buffer;
    data_ = buffer.is_contiguous() ? buffer.data() + at() : copy_.data();
  }
  char* data() const noexcept { return data_; }
  bool is_there() const noexcept { return data_ != nullptr; }
  void load() noexcept {
    const Buffer& b = piece_.part->buffer;
    if (b.is_contiguous()) return;
    dt::pack(b.base, *b.type, b.count, static_cast<size_t>(at()), data_,
             static_cast<size_t>(piece_.bytes()));
  }
  void store(Count bytes) noexcept {
    const Buffer& b = piece_.part->buffer;
    if (b.is_contiguous()) return;
    dt::unpack(b.base, *b.type, b.count, static_cast<size_t>(at()), data_,
               static_cast<size_t>(bytes));
  }

 private:
  Count at() const noexcept { return piece_.begin - piece_.part->begin; }
  const Piece& piece_;
  const Scratch copy_;
  char* data_;
};

// Writes each piece by itself.
WindowOutcome write_pieces(const Target& target, const Contents& all) {
  WindowOutcome outcome;
  for (const Piece& piece : all.pieces) {
    PieceData data(piece);
    if (!data.is_there()) return {ENOMEM, all.first};
    data.load();
    const Outcome done =
        write_part(target, *piece.part->view, piece.begin, piece.end, data.data());
    if (done.error == 0) continue;
    outcome.error = done.error;
    outcome.stopped_at = std::min(
        outcome.stopped_at, piece.part->view->offset_of(piece.begin + done.bytes));
  }
  return outcome;
}

bool fill(const Contents& all, char* image) {
  for (const Piece& piece : all.pieces) {
    PieceData data(piece);
    if (!data.is_there()) return false;
    data.load();
    piece.part->view->to_image(data.data(), piece.begin, piece.end, image, all.first);
  }
  return true;
}

// Pieces may overlap, so the sum of their lengths does not tell whether there are gaps. Marks the
// bytes that they cover, and writes only those.
WindowOutcome write_covered(const Target& target, const Contents& all,
                            const char* image) {
  const auto span = static_cast<size_t>(all.span());
  const Scratch marks(span), ones(span);
  if (marks.data() == nullptr || ones.data() == nullptr) return {ENOMEM, all.first};
  std::memset(marks.data(), 0, span);
  std::memset(ones.data(), 1, span);
  for (const Piece& piece : all.pieces)
    for (Count at = piece.begin; at < piece.end;) {
      const Count end = std::min(piece.end, at + all.span());
      piece.part->view->to_image(ones.data(), at, end, marks.data(), all.first);
      at = end;
    }
  return write_marked(target, image, marks.data(), all.span(), all.first);
}

// The data in the gaps are read first and written back.
WindowOutcome rewrite(const Target& target, const Contents& all, char* image) {
  const FileLocked lock(target.lock, false);
  const RangeLocked range(target, all.first, all.last);
  const Outcome got = target.file.read_at(image, all.span(), all.first);
  if (got.error != 0) return {got.error, all.first};
  std::memset(image + got.bytes, 0, static_cast<size_t>(all.span() - got.bytes));
  if (!fill(all, image)) return {ENOMEM, all.first};
  return put(target, image, all.first, 0, all.span());
}

}  // namespace

WindowOutcome write_window(const Target& target, std::span<const Part> parts,
                           Count begin, Count end) {
  const Contents all = contents_of(parts, begin, end);
  if (all.pieces.empty()) return {};
  if (all.pieces.size() == 1 || !all.has_short_gaps()) return write_pieces(target, all);
  const Scratch image(static_cast<size_t>(all.span()));
  if (image.data() == nullptr) return write_pieces(target, all);
  if (all.bytes < all.span() && target.may_rewrite &&
      target.tuning.sieve_writes != Switch::kDisable)
    return rewrite(target, all, image.data());
  if (!fill(all, image.data())) return {ENOMEM, all.first};
  return write_covered(target, all, image.data());
}

namespace {

WindowOutcome read_pieces(const Target& target, const Contents& all) {
  WindowOutcome outcome;
  for (const Piece& piece : all.pieces) {
    PieceData data(piece);
    if (!data.is_there()) return {ENOMEM, all.first};
    const Outcome done =
        read_part(target, *piece.part->view, piece.begin, piece.end, data.data());
    data.store(done.bytes);
    if (done.bytes == piece.bytes()) continue;
    if (done.error != 0) outcome.error = done.error;
    outcome.stopped_at = std::min(
        outcome.stopped_at, piece.part->view->offset_of(piece.begin + done.bytes));
  }
  return outcome;
}

}  // namespace

WindowOutcome read_window(const Target& target, std::span<const Part> parts,
                          Count begin, Count end) {
  const Contents all = contents_of(parts, begin, end);
  if (all.pieces.empty()) return {};
  if (!all.has_short_gaps()) return read_pieces(target, all);
  const Scratch image(static_cast<size_t>(all.span()));
  if (image.data() == nullptr) return read_pieces(target, all);
  const Outcome got = target.file.read_at(image.data(), all.span(), all.first);
  const Count stop = all.first + got.bytes;
  for (const Piece& piece : all.pieces) {
    const View& view = *piece.part->view;
    const Count there = std::clamp(view.stream_before(stop), piece.begin, piece.end);
    PieceData data(piece);
    if (!data.is_there()) return {ENOMEM, all.first};
    view.from_image(data.data(), piece.begin, there, image.data(), all.first);
    data.store(there - piece.begin);
  }
  if (got.error != 0) return {got.error, stop};
  return {0, got.bytes < all.span() ? stop : kNotStopped};
}

}  // namespace mpc::io
