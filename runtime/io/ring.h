#pragma once
// Ring: reads and writes that threads of the kernel make, given and taken back through io_uring.
//
// Role:      what of io_uring is needed; the kernel need not have it, nor allow it.
// Users:     runtime/io/ring_transfers.h; tests give it a ring of their own.
// Threads:   has_news() any; of the others one at a time.
// See also:  docs/design/0045-io-uring.md; io_uring(7).

#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/io/outcome.h"

namespace mpc::io {

class Ring {
 public:
  struct Piece {
    int fd;
    bool is_write;
    char* data;
    Count bytes;  // less than 2 GiB
    Count offset;
    void* tag;
  };
  struct End {
    void* tag;
    int result;  // bytes, or -errno
  };

  // For so many pieces at a time. Errors: kUnsupported, with what the kernel says.
  static Result<std::unique_ptr<Ring>> open(int most_pieces);
  virtual ~Ring() = default;

  // Readable while there is news.
  virtual int descriptor() const noexcept = 0;
  virtual bool has_news() const noexcept = 0;  // a hint
  // Waits for submit(). Caller: no more than `most_pieces` have been pushed and not reaped.
  virtual void push(const Piece& piece) noexcept = 0;
  // To the kernel with what waits; it is not done before this returns. errno: what it has not taken
  // still waits.
  virtual int submit() noexcept = 0;
  // What has ended, as far as there is room; how many.
  virtual int reap(std::span<End> ends) noexcept = 0;
};

}  // namespace mpc::io
