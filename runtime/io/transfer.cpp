#include "runtime/io/transfer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/io/scratch.h"

namespace mpc::io {
namespace {

// The buffer for data that have gaps in memory.
constexpr Count kBounceBytes = Count{1} << 20;
// Up to this length a gap costs less to move than a system call for the piece behind it, which takes
// 0.4 us to read, 1.2 to write. Longer gaps could be written back with profit, but each would add
// pages to those that the system has to bring to the device; shorter ones do not (0028, "Measured").
constexpr Count kReadGap = 8192, kWriteGap = 4096;

// A part of the stream that lies in a window of the file.
struct Window {
  Count begin, end;    // of the stream
  Count offset, span;  // of the file
  Count bytes() const noexcept { return end - begin; }
  bool has_gaps() const noexcept { return span != bytes(); }
};

Window window_at(const View& view, Count begin, Count end, Count limit) noexcept {
  const Count offset = view.offset_of(begin);
  const Count stop = std::clamp(view.stream_before(offset + limit), begin + 1, end);
  return {begin, stop, offset, view.end_of(stop) - offset};
}

bool sieving_pays(const View& view, const Window& window, Switch hint,
                  Count gap) noexcept {
  if (hint != Switch::kAutomatic) return hint == Switch::kEnable;
  const Count pieces = std::max<Count>(window.bytes() / view.mean_run(), 1);
  return pieces > 1 && (window.span - window.bytes()) / pieces <= gap;
}

// Ends where the file ends.
Outcome read_runs(const Target& target, const View& view, Count begin, Count end,
                  char* to) {
  Outcome done;
  FileRuns runs(view, begin, end);
  for (FileRuns::Run run; runs.next(&run);) {
    const Outcome part = target.file.read_at(to + done.bytes, run.bytes, run.offset);
    done.bytes += part.bytes;
    done.error = part.error;
    if (part.bytes < run.bytes) break;
  }
  return done;
}

Outcome write_runs(const Target& target, const View& view, Count begin, Count end,
                   const char* from) {
  const FileLocked lock(target.lock, true);
  Outcome done;
  FileRuns runs(view, begin, end);
  for (FileRuns::Run run; runs.next(&run);) {
    const Outcome part = target.file.write_at(from + done.bytes, run.bytes, run.offset);
    done.bytes += part.bytes;
    done.error = part.error;
    if (part.error != 0) break;
  }
  return done;
}

Outcome read_window(const Target& target, const View& view, const Window& window,
                    char* to) {
  const Scratch image(static_cast<size_t>(window.span));
  if (image.data() == nullptr) return {0, ENOMEM};
  const Outcome got = target.file.read_at(image.data(), window.span, window.offset);
  const Count stop = got.bytes == window.span
                         ? window.end
                         : std::clamp(view.stream_before(window.offset + got.bytes),
                                      window.begin, window.end);
  view.from_image(to, window.begin, stop, image.data(), window.offset);
  return {stop - window.begin, got.error};
}

// The data in the gaps are read and written back, so no other access may write there meanwhile.
Outcome rewrite_window(const Target& target, const View& view, const Window& window,
                       const char* from) {
  const Scratch image(static_cast<size_t>(window.span));
  if (image.data() == nullptr) return {0, ENOMEM};
  const FileLocked lock(target.lock, false);
  const RangeLocked range(target, window.offset, window.offset + window.span);
  const Outcome got = target.file.read_at(image.data(), window.span, window.offset);
  if (got.error != 0) return {0, got.error};
  std::memset(image.data() + got.bytes, 0,
              static_cast<size_t>(window.span - got.bytes));
  view.to_image(from, window.begin, window.end, image.data(), window.offset);
  const Outcome put = target.file.write_at(image.data(), window.span, window.offset);
  if (put.error == 0) return {window.bytes(), 0};
  return {
      std::max<Count>(view.stream_before(window.offset + put.bytes) - window.begin, 0),
      put.error};
}

}  // namespace

Outcome read_part(const Target& target, const View& view, Count begin, Count end,
                  char* to) {
  const Switch hint = target.tuning.sieve_reads;
  if (view.is_contiguous() || !view.is_ordered() || hint == Switch::kDisable)
    return read_runs(target, view, begin, end, to);
  Outcome done;
  for (Count at = begin; at < end && done.error == 0;) {
    const Window window = window_at(view, at, end, target.tuning.read_window_bytes);
    char* const here = to + (at - begin);
    const Outcome part = window.has_gaps() && sieving_pays(view, window, hint, kReadGap)
                             ? read_window(target, view, window, here)
                             : read_runs(target, view, at, window.end, here);
    done.bytes += part.bytes;
    done.error = part.error;
    if (part.bytes < window.bytes()) break;
    at = window.end;
  }
  return done;
}

Outcome write_part(const Target& target, const View& view, Count begin, Count end,
                   const char* from) {
  const Switch hint = target.tuning.sieve_writes;
  if (view.is_contiguous() || !view.is_ordered() || hint == Switch::kDisable ||
      !target.may_rewrite)
    return write_runs(target, view, begin, end, from);
  Outcome done;
  for (Count at = begin; at < end && done.error == 0;) {
    const Window window = window_at(view, at, end, target.tuning.write_window_bytes);
    const char* const here = from + (at - begin);
    const Outcome part =
        window.has_gaps() && sieving_pays(view, window, hint, kWriteGap)
            ? rewrite_window(target, view, window, here)
            : write_runs(target, view, at, window.end, here);
    done.bytes += part.bytes;
    done.error = part.error;
    at = window.end;
  }
  return done;
}

namespace {

// Moves data with gaps in memory by pieces without gaps: move(done, bytes, piece, offset in the
// file).
template <class Move>
Outcome move_by_pieces(Count begin, Count total, Move&& move) {
  const Scratch bounce(static_cast<size_t>(std::min(total, kBounceBytes)));
  if (bounce.data() == nullptr) return {0, ENOMEM};
  Outcome done;
  while (done.bytes < total && done.error == 0) {
    const Count bytes = std::min(total - done.bytes, kBounceBytes);
    const Outcome part = move(done.bytes, bytes, bounce.data(), begin + done.bytes);
    done.bytes += part.bytes;
    done.error = part.error;
    if (part.bytes < bytes) break;
  }
  return done;
}

}  // namespace

Outcome read(const Target& target, const View& view, Count begin, const Buffer& to) {
  const Count total = to.bytes();
  if (total == 0) return {};
  if (to.is_contiguous())
    return read_part(target, view, begin, begin + total, to.data());
  return move_by_pieces(
      begin, total, [&](Count done, Count bytes, char* piece, Count at) {
        const Outcome part = read_part(target, view, at, at + bytes, piece);
        dt::unpack(to.base, *to.type, to.count, static_cast<size_t>(done), piece,
                   static_cast<size_t>(part.bytes));
        return part;
      });
}

Outcome write(const Target& target, const View& view, Count begin, const Buffer& from) {
  const Count total = from.bytes();
  if (total == 0) return {};
  if (from.is_contiguous())
    return write_part(target, view, begin, begin + total, from.data());
  return move_by_pieces(
      begin, total, [&](Count done, Count bytes, char* piece, Count at) {
        dt::pack(from.base, *from.type, from.count, static_cast<size_t>(done), piece,
                 static_cast<size_t>(bytes));
        return write_part(target, view, at, at + bytes, piece);
      });
}

}  // namespace mpc::io
