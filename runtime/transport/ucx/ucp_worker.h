#pragma once
// UcpWorker: UCX as this module uses it, without its types.
//
// Role:      one context, one worker and an endpoint for each peer: active messages that are short,
//            eager or rendezvous, and their events on the other side. Knows bytes, not messages.
// Users:     runtime/transport/ucx; the only place that knows UCX.
// Threads:   one call at a time, by any thread (UCX's SERIALIZED mode): the caller has a lock. Nothing
//            switches or parks meanwhile: UCX's own locks are those of a kernel thread.
// See also:  docs/design/0021-ucx.md; UCX's ucp.h, version 1.13.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/transport/net_module.h"

namespace mpc::transport::ucx {

// The data of a message while UCX may read or fill them. The code that passes it to the worker
// keeps it, and the data, until ended().
class UcpEvents;
struct Transfer {
  void* data = nullptr;  // contiguous, or an object that pack or unpack know
  size_t bytes = 0;
  void (*pack)(const void* data, size_t offset, void* out, size_t n) noexcept = nullptr;
  void (*unpack)(void* data, size_t offset, const void* in,
                 size_t n) noexcept = nullptr;
  UcpEvents* events = nullptr;  // set by the worker
};

enum class Progress : unsigned char {
  kDone,      // the transfer is the caller's again
  kUnderWay,  // ended() will be called
  kFailed,    // the peer cannot be reached; the transfer is the caller's again
};

// Events of progress(), under the caller's lock. They may call nothing
// of the worker but release() of earlier offers.
class UcpEvents {
 public:
  // Header and data are invalid afterwards. No header: it was sent without one.
  virtual void came(const void* header, size_t header_bytes, const void* data,
                    size_t bytes) noexcept = 0;
  // True: `descriptor` must be given to receive() or release(), one of them, once, and not from
  // here. False: as if it had been released.
  virtual bool offered(const void* header, size_t header_bytes, void* descriptor,
                       size_t bytes) noexcept = 0;
  virtual void ended(Transfer& transfer, bool is_ok) noexcept = 0;
  // Also from a send that establishes the connection. peer -1: not known.
  virtual void failed(int peer, const std::string& why) noexcept = 0;
  // A flush that flush_peers() began has ended; also from within it.
  virtual void flushed() noexcept = 0;

 protected:
  ~UcpEvents() = default;
};

class UcpWorker {
 public:
  // Errors: kSystem, with UCX's message.
  static Result<std::unique_ptr<UcpWorker>> open(UcpEvents& events, int processes);
  virtual ~UcpWorker() = default;

  virtual const NetAddress& address() const noexcept = 0;
  // The longest header and data together that are one piece on every network in use.
  virtual size_t piece_bytes() const noexcept = 0;
  // Connections are established at the first send.
  virtual void set_peers(std::vector<NetPeer> peers) = 0;

  // False: too long for a short message, or no room; nothing has happened. Header and data are the
  // caller's again.
  virtual bool send_short(int peer, const void* header, size_t header_bytes,
                          const void* data, size_t bytes) noexcept = 0;
  // `header` lives as long as the transfer.
  virtual Progress send_eager(int peer, const void* header, size_t header_bytes,
                              Transfer& transfer) noexcept = 0;
  // At least one byte. Arrives as offered(); ends when it has been received or released there.
  virtual Progress send_rendezvous(int peer, const void* header, size_t header_bytes,
                                   Transfer& transfer) noexcept = 0;
  // `transfer` has the length that was offered: UCX does not check.
  virtual Progress receive(void* descriptor, Transfer& transfer) noexcept = 0;
  virtual void release(void* descriptor) noexcept = 0;

  // True: something has happened. Never call it from within an event.
  virtual bool progress() noexcept = 0;
  virtual int descriptor() const noexcept = 0;
  // False: there is news already.
  virtual bool arm() noexcept = 0;
  // Makes the descriptor readable.
  virtual void signal() noexcept = 0;
  // Calls flushed() when each connection that was begun is complete, and
  // everything has left that was to be sent over it, including UCX's own messages
  // to establish it. A lost connection counts as flushed.
  virtual void flush_peers() noexcept = 0;
  // The peer has ended, which the network may not notice: operations under way with it end with an
  // error. failed() is not called.
  virtual void lose(int peer) noexcept = 0;
  virtual bool is_lost(int peer) const noexcept = 0;
  // Waits until everything sent has left, or for this long.
  virtual void flush(uint64_t longest_ns) noexcept = 0;
};

}  // namespace mpc::transport::ucx
