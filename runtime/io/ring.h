#pragma once
// Ring: reads and writes that threads of the kernel carry out, by io_uring.
//
// Role:      the part of io_uring that is needed here. The kernel may lack it, or not allow it.
// Users:     runtime/io/ring_transfers.h; tests give it a ring of their own.
// Threads:   has_news() any; the others one thread at a time.
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

  // Room for `most_pieces` pieces at a time. Errors: kUnsupported, with the kernel's reason.
  static Result<std::unique_ptr<Ring>> open(int most_pieces);
  virtual ~Ring() = default;

  // Readable while has_news().
  virtual int descriptor() const noexcept = 0;
  virtual bool has_news() const noexcept = 0;  // a hint
  // Queues a piece until submit(). Caller: at most `most_pieces` have been pushed and not reaped.
  virtual void push(const Piece& piece) noexcept = 0;
  // Gives the queued pieces to the kernel, and does not carry them out itself. errno: those that
  // the kernel has not accepted stay queued.
  virtual int submit() noexcept = 0;
  // Fetches the ends of pieces, as many as there is room for; returns how many.
  virtual int reap(std::span<End> ends) noexcept = 0;
};

}  // namespace mpc::io
