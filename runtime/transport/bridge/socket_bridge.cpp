// The bridge's side for callers: each post becomes a packet, sent at once if the socket has room.
#include "runtime/transport/bridge/socket_bridge.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/service_thread.h"

namespace mpc::transport {

bool is_stream(int fd) noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

std::unique_ptr<Bridge> Bridge::make(const BridgeConfig& config) {
  return std::make_unique<bridge::SocketBridge>(config);
}

namespace bridge {
namespace {

Error system_error(const char* what) {
  return {Errc::kSystem, fmt::format("{}: {}", what, std::strerror(errno))};
}

// A descriptor of the peer's process. The socket alone does not tell of its end: a child of that
// process may have inherited it, and keep it open.
int process_descriptor(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  return static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0));
}

}  // namespace

std::vector<char> make_packet(const Head& head) {
  std::vector<char> packet(sizeof head);
  std::memcpy(packet.data(), &head, sizeof head);
  return packet;
}

void read_source(const Source& source, size_t offset, char* out, size_t n) noexcept {
  if (n == 0) return;
  if (source.pack != nullptr) {
    source.pack(source.data, offset, out, n);
  } else {
    std::memcpy(out, static_cast<const char*>(source.data) + offset, n);
  }
}

SocketBridge::SocketBridge(const BridgeConfig& config)
    : config_(config), connections_(static_cast<size_t>(config.peers)) {}

SocketBridge::~SocketBridge() {
  if (is_started_) leave(0);
  const Locked lock(lock_);
  for (Connection& each : connections_) {
    if (each.fd >= 0) ::close(each.fd);
    if (each.process_fd >= 0) ::close(each.process_fd);
  }
  if (epoll_ >= 0) ::close(epoll_);
  if (wake_ >= 0) ::close(wake_);
}

Result<> SocketBridge::start(Receiver& receiver, BridgeEvents& events, int listener) {
  receiver_ = &receiver;
  events_ = &events;
  listener_ = listener;
  buffer_.resize(kMostPacketBytes);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_ < 0 || wake_ < 0) return system_error("a descriptor for connections");
  watch(wake_, tag_of(Tag::kWake), EPOLLIN);
  if (listener >= 0) watch(listener, tag_of(Tag::kListener), EPOLLIN);
  const Result<pthread_t> thread =
      start_service_thread("connections with other jobs", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  return {};
}

// False: the kernel has no room for it.
bool SocketBridge::watch(int fd, uint64_t tag, uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0 ||
         (errno == ENOENT && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
}

Result<> SocketBridge::connect(int peer, int fd) {
  const Locked lock(lock_);
  Connection& at = connections_[static_cast<size_t>(peer)];
  if (at.fd >= 0) {
    ::close(fd);
    return {Errc::kSystem, "there is a connection with that job already"};
  }
  at = Connection{};
  at.fd = fd;
  at.is_stream = is_stream(fd);
  // A stream comes from another host, whose kernel tells of the process's end.
  if (!at.is_stream) at.process_fd = process_descriptor(fd);
  // Room for several pieces in each direction, as far as the kernel allows.
  const int room = 1 << 20;
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  if (!watch(fd, tag_of(Tag::kPeer, peer), EPOLLIN)) {
    const Error error = system_error("a connection with another job");
    ::close(fd);
    if (at.process_fd >= 0) ::close(at.process_fd);
    at = Connection{};
    return error;
  }
  if (at.process_fd >= 0) watch(at.process_fd, tag_of(Tag::kProcess, peer), EPOLLIN);
  return {};
}

void SocketBridge::wake() noexcept {
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void SocketBridge::say_ending(int peer) noexcept {
  send(peer, make_packet({Wire::kEnding}));
}

void SocketBridge::leave(uint64_t most_ns) noexcept {
  if (!is_started_) return;
  const uint64_t end_ns = now_ns() + most_ns;
  {
    const Locked lock(lock_);
    for (size_t peer = 0; peer < connections_.size(); ++peer) {
      Connection& at = connections_[peer];
      if (at.fd < 0) continue;
      if (most_ns != 0)
        send_locked(at, static_cast<int>(peer), make_packet({Wire::kLeave}));
    }
  }
  while (now_ns() < end_ns && !has_all_written()) ::usleep(1000);
  is_ending_.store(true, std::memory_order_relaxed);
  wake();
  pthread_join(thread_, nullptr);
  is_started_ = false;
}

// True: nothing is left to write, except to peers that no longer read.
bool SocketBridge::has_all_written() noexcept {
  const Locked lock(lock_);
  return std::ranges::all_of(connections_, [](const Connection& each) {
    return each.fd < 0 || (each.queue.empty() && each.streams.empty());
  });
}

// --- packets ------------------------------------------------------------------------------------

void SocketBridge::send(int peer, Packet packet) noexcept {
  const Locked lock(lock_);
  Connection& to = connections_[static_cast<size_t>(peer)];
  // No connection: the job has ended, and none of its ranks waits for this.
  if (to.fd >= 0) send_locked(to, peer, std::move(packet));
}

// A packet is sent whole or not at all, but for a stream. If one has to wait, those behind it wait as
// well.
void SocketBridge::send_locked(Connection& to, int peer, Packet packet) {
  if (to.is_stream) {
    const auto length = static_cast<uint32_t>(packet.size());
    const auto* const first = reinterpret_cast<const char*>(&length);
    packet.insert(packet.begin(), first, first + sizeof length);
  }
  to.queue.push_back(std::move(packet));
  if (to.queue.size() > 1) return;
  if (!flush_queue(to)) wait_for_room(to, peer);
}

void SocketBridge::wait_for_room(Connection& at, int peer) {
  if (at.is_waiting) return;
  at.is_waiting = true;
  watch(at.fd, tag_of(Tag::kPeer, peer), EPOLLIN | EPOLLOUT);
}

void SocketBridge::post(int peer, const Envelope& envelope,
                        const Source& source) noexcept {
  peer -= config_.first_number;
  Envelope told = envelope;
  if (config_.going != nullptr) config_.going(told);
  Packet packet(sizeof(Head) + kEnvelopeBytes + source.bytes);
  const Head head{Wire::kMessage};
  std::memcpy(packet.data(), &head, sizeof head);
  encode(told, packet.data() + sizeof head);
  read_source(source, 0, packet.data() + sizeof head + kEnvelopeBytes, source.bytes);
  send(peer, std::move(packet));
}

void SocketBridge::offer(int peer, const Envelope& envelope, const Source& source,
                         Completion& completion) noexcept {
  peer -= config_.first_number;
  Envelope told = envelope;
  if (config_.going != nullptr) config_.going(told);
  Packet packet(sizeof(Head) + kEnvelopeBytes);
  Head head{Wire::kOffer};
  encode(told, packet.data() + sizeof head);
  {
    const Locked lock(lock_);
    Connection& to = connections_[static_cast<size_t>(peer)];
    if (to.fd >= 0 || !config_.ends_offers) {
      head.handle = ++last_number_;
      std::memcpy(packet.data(), &head, sizeof head);
      offers_[head.handle] = {source, &completion, peer};
      if (to.fd >= 0) send_locked(to, peer, std::move(packet));
      return;
    }
  }
  completion.done(completion, Outcome::kGone);
}

void SocketBridge::fetch(int peer, Bulk bulk, const Target& target,
                         Completion& completion) noexcept {
  peer -= config_.first_number;
  {
    const Locked lock(lock_);
    Connection& to = connections_[static_cast<size_t>(peer)];
    if (to.fd >= 0 && !to.has_left) {
      Head head{Wire::kFetch};
      head.handle = bulk;
      head.fetch = ++last_number_;
      fetches_[head.fetch] = {target, &completion, peer, 0};
      return send_locked(to, peer, make_packet(head));
    }
  }
  completion.done(completion, Outcome::kGone);
}

void SocketBridge::refuse(int peer, Bulk bulk) noexcept {
  peer -= config_.first_number;
  Head head{Wire::kRefuse};
  head.handle = bulk;
  send(peer, make_packet(head));
}

void SocketBridge::forget(Completion& completion) noexcept {
  const auto is_its = [&](const auto& entry) {
    return entry.second.completion == &completion;
  };
  for (;;) {
    {
      const Locked lock(lock_);
      std::erase_if(offers_, is_its);
      std::erase_if(fetches_, is_its);
      for (size_t peer = 0; peer < connections_.size(); ++peer) {
        Connection& at = connections_[peer];
        std::erase_if(at.streams, [&](const Stream& stream) MPC_REQUIRES(lock_) {
          if (stream.offer.completion != &completion) return false;
          Head head{Wire::kNoData};
          head.fetch = stream.fetch;
          send_locked(at, static_cast<int>(peer), make_packet(head));
          return true;
        });
      }
      if (in_use_ != &completion) return;
    }
    sched_yield();
  }
}

}  // namespace bridge
}  // namespace mpc::transport
