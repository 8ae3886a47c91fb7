#pragma once
// SocketBridge: the bridge's connections, and the operations that are under way on them.
//
// Role:      resolves the handles of offers and fetches, queues packets for which a socket had no
//            room, and has the thread that sends them later.
// Users:     runtime/transport/bridge.
// Threads:   the functions of Net, connect(): any; those marked as the thread's own: the thread.
// See also:  runtime/transport/bridge/bridge.h.
//
// Only the thread reads and writes memory of ranks. It does so without the lock, while `in_use_`
// names the operation that the memory belongs to: forget() waits for that. No other thread removes
// an operation from a table in between.

#include <pthread.h>

#include <atomic>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/acceptor.h"
#include "base/mutex.h"
#include "runtime/transport/bridge/bridge.h"
#include "runtime/transport/bridge/wire.h"

namespace mpc::transport::bridge {

class SocketBridge final : public Bridge, public Net {
 public:
  explicit SocketBridge(const BridgeConfig& config);
  ~SocketBridge() override;

  // --- Bridge ---
  Net& net() noexcept override { return *this; }
  Result<> start(Receiver& receiver, BridgeEvents& events, int listener) override;
  Result<> connect(int peer, int fd) override;
  void say_ending(int peer) noexcept override;
  void leave(uint64_t most_ns) noexcept override;

  // --- Net ---
  Limits limits(int) const noexcept override { return {config_.eager_bytes}; }
  void post(int peer, const Envelope& envelope, const Source& source) noexcept override;
  void offer(int peer, const Envelope& envelope, const Source& source,
             Completion& completion) noexcept override;
  void fetch(int peer, Bulk bulk, const Target& target,
             Completion& completion) noexcept override;
  void refuse(int peer, Bulk bulk) noexcept override;
  void forget(Completion& completion) noexcept override;

 private:
  using Packet = std::vector<char>;
  struct Offer {
    Source source;
    Completion* completion;
    int peer;
  };
  struct Fetch {
    Target target;
    Completion* completion;
    int peer;
    size_t received;
  };
  // Data of an offer that are being sent to the peer that has fetched it.
  struct Stream {
    uint64_t fetch;
    Offer offer;
    size_t sent;
  };
  struct Connection {
    int fd = -1;          // -1: none
    int process_fd = -1;  // readable when the process at the other end has ended
    bool is_stream = false;
    bool has_left = false;
    bool is_waiting = false;   // epoll tells when there is room
    std::deque<Packet> queue;  // packets for which the socket had no room
    size_t sent = 0;           // so many bytes of the first one are sent: of a stream
    std::deque<Stream> streams;
  };
  struct Kept {
    int peer;
    Envelope envelope;
    std::vector<char> data;
    Bulk bulk;
  };

  // --- any thread ---
  void send(int peer, Packet packet) noexcept;
  void send_locked(Connection& to, int peer, Packet packet) MPC_REQUIRES(lock_);
  void wait_for_room(Connection& at, int peer) MPC_REQUIRES(lock_);
  bool watch(int fd, uint64_t tag, uint32_t events) noexcept;
  void wake() noexcept;

  // --- the thread's own: socket_thread.cpp, socket_end.cpp ---
  static void* thread_main(void* self);
  void run() noexcept;
  void handle(uint64_t tag, uint32_t events) noexcept;
  void accept_all() noexcept;
  void end_rest() noexcept;
  void hear_stranger(int fd) noexcept;
  bool read_some(int peer) noexcept;
  bool read_packets(int peer, int fd) noexcept;
  bool read_stream(int peer, int fd) noexcept;
  bool take(int peer, const char* packet, size_t bytes) noexcept;
  void give(int peer, Envelope envelope, const char* data, size_t bytes, Bulk bulk);
  void retry_kept() noexcept;
  void write_some(int peer) noexcept;
  bool flush_queue(Connection& to) MPC_REQUIRES(lock_);
  bool send_piece(int peer) noexcept;
  void answer(int peer, const Head& request) noexcept;
  void fill(int peer, const Head& head, const char* data, size_t bytes) noexcept;
  void refused(const Head& head) noexcept;
  void end_connection(int peer) noexcept;
  void deliver_kept(int peer) noexcept;
  void end_fetches(int peer) noexcept;
  Completion* take_offer(int peer) noexcept MPC_REQUIRES(lock_);
  void end_offers(int peer) noexcept;
  bool has_all_written() noexcept;
  void end_use() noexcept;

  const BridgeConfig config_;
  Receiver* receiver_ = nullptr;
  BridgeEvents* events_ = nullptr;
  int listener_ = -1;
  int epoll_ = -1, wake_ = -1;
  pthread_t thread_{};
  bool is_started_ = false;
  std::atomic<bool> is_ending_{false};

  Mutex lock_;
  std::vector<Connection> connections_ MPC_GUARDED_BY(lock_);
  uint64_t last_number_ MPC_GUARDED_BY(lock_) = 0;
  std::unordered_map<uint64_t, Offer> offers_ MPC_GUARDED_BY(lock_);
  std::unordered_map<uint64_t, Fetch> fetches_ MPC_GUARDED_BY(lock_);
  // The operation whose memory the thread reads or writes now, or whose end it reports.
  Completion* in_use_ MPC_GUARDED_BY(lock_) = nullptr;

  // Only for the thread.
  Acceptor acceptor_{"another job"};
  std::vector<char> buffer_;
  std::unordered_map<int, std::string> arrived_;  // of streams: incomplete packets
  std::deque<Kept> kept_;                         // not accepted by the receiver yet
  bool is_unfinished_ = false;
};

// What an epoll event means: a kind in the upper half, a peer or a descriptor in the lower one.
enum class Tag : uint32_t { kWake, kListener, kStranger, kPeer, kProcess };
inline uint64_t tag_of(Tag kind, int what = 0) noexcept {
  return static_cast<uint64_t>(kind) << 32 | static_cast<uint32_t>(what);
}

std::vector<char> make_packet(const Head& head);
// Copies bytes [offset, offset + n) of a source.
void read_source(const Source& source, size_t offset, char* out, size_t n) noexcept;

}  // namespace mpc::transport::bridge
