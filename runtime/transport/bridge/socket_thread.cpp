// The bridge's thread: reads packets, and writes those that had to wait.
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "runtime/transport/bridge/socket_bridge.h"

namespace mpc::transport::bridge {

void* SocketBridge::thread_main(void* self) {
  static_cast<SocketBridge*>(self)->run();
  return nullptr;
}

void SocketBridge::run() noexcept {
  if (config_.prepare != nullptr) config_.prepare();
  epoll_event events[32];
  // relaxed suffices: leave() joins the thread, and the lock orders the packets that it has queued.
  while (!is_ending_.load(std::memory_order_relaxed)) {
    const bool is_behind = !kept_.empty() || is_unfinished_;
    const int rest_ms = ms_to_first({acceptor_.rests_until_ns()});
    const int n = ::epoll_wait(epoll_, events, 32, is_behind ? 0 : rest_ms);
    if (rest_ms >= 0) end_rest();
    for (int i = 0; i < n; ++i) handle(events[i].data.u64, events[i].events);
    if (is_behind) {
      sched_yield();  // another thread holds a mailbox for some instructions
      retry_kept();
    }
  }
}

void SocketBridge::handle(uint64_t tag, uint32_t events) noexcept {
  const int what = static_cast<int>(static_cast<uint32_t>(tag));
  switch (static_cast<Tag>(tag >> 32)) {
    case Tag::kWake: {
      uint64_t count;
      (void)!::read(wake_, &count, sizeof count);
      return;
    }
    case Tag::kListener:
      return accept_all();
    case Tag::kStranger:
      return hear_stranger(what);
    case Tag::kPeer:
      if ((events & EPOLLOUT) != 0) write_some(what);
      if ((events & ~static_cast<uint32_t>(EPOLLOUT)) != 0 && !read_some(what))
        end_connection(what);
      return;
    case Tag::kProcess:
      // What the process has written before its end can still be read.
      while (read_some(what)) {
        int fd = -1;
        {
          const Locked lock(lock_);
          fd = connections_[static_cast<size_t>(what)].fd;
        }
        pollfd more{fd, POLLIN, 0};
        if (fd < 0 || ::poll(&more, 1, 0) <= 0) break;
      }
      return end_connection(what);
  }
}

// --- connections that are opened --------------------------------------------------------------

void SocketBridge::accept_all() noexcept {
  for (;;) {
    const int fd = acceptor_.accept(listener_, SOCK_NONBLOCK);
    if (fd < 0) break;
    if (!watch(fd, tag_of(Tag::kStranger, fd), EPOLLIN)) ::close(fd);
  }
  if (acceptor_.rests_until_ns() != 0) watch(listener_, tag_of(Tag::kListener), 0);
}

void SocketBridge::end_rest() noexcept {
  if (acceptor_.has_rested(now_ns())) watch(listener_, tag_of(Tag::kListener), EPOLLIN);
}

void SocketBridge::hear_stranger(int fd) noexcept {
  const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  const auto* const first = reinterpret_cast<const std::byte*>(buffer_.data());
  // greet() may call connect() with the descriptor itself; from then on other threads may use it.
  if (n <= 0 || events_->greet(fd, {first, static_cast<size_t>(n)}) < 0) ::close(fd);
}

// --- packets that arrive ------------------------------------------------------------------------

// False: nothing more comes. Reads a limited number of packets, because other peers wait as well.
bool SocketBridge::read_some(int peer) noexcept {
  int fd = -1;
  bool is_stream = false;
  {
    const Locked lock(lock_);
    fd = connections_[static_cast<size_t>(peer)].fd;
    is_stream = connections_[static_cast<size_t>(peer)].is_stream;
  }
  if (fd < 0) return true;  // the connection has ended in this turn
  const bool is_open = is_stream ? read_stream(peer, fd) : read_packets(peer, fd);
  is_unfinished_ = !receiver_->finish();
  return is_open;
}

bool SocketBridge::read_packets(int peer, int fd) noexcept {
  bool is_open = true;
  for (int i = 0; i < 64 && is_open; ++i) {
    const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    // ECONNRESET: it has ended with packets of ours that it has not read. Linux tells this once, before
    // the packets that it had sent.
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (n < 0 && errno == EAGAIN) break;
    is_open = n >= static_cast<ssize_t>(sizeof(Head));
    if (is_open) is_open = take(peer, buffer_.data(), static_cast<size_t>(n));
  }
  return is_open;
}

bool SocketBridge::read_stream(int peer, int fd) noexcept {
  std::string& arrived = arrived_[peer];
  for (int i = 0; i < 8; ++i) {
    const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    arrived.append(buffer_.data(), static_cast<size_t>(n));
    size_t used = 0;
    for (uint32_t length; arrived.size() - used >= sizeof length;
         used += sizeof length + length) {
      std::memcpy(&length, arrived.data() + used, sizeof length);
      if (length < sizeof(Head) || length > kMostPacketBytes) return false;
      if (arrived.size() - used - sizeof length < length) break;
      if (!take(peer, arrived.data() + used + sizeof length, length)) return false;
    }
    arrived.erase(0, used);
  }
  return true;
}

// False: it was the last packet.
bool SocketBridge::take(int peer, const char* packet, size_t bytes) noexcept {
  Head head;
  std::memcpy(&head, packet, sizeof head);
  const char* const rest = packet + sizeof head;
  const size_t rest_bytes = bytes - sizeof head;
  switch (head.wire) {
    case Wire::kMessage:
    case Wire::kOffer: {
      Envelope envelope;
      if (!decode(rest, rest_bytes, &envelope)) break;
      if (config_.coming != nullptr && !config_.coming(peer, envelope)) break;
      give(peer, envelope, rest + kEnvelopeBytes, rest_bytes - kEnvelopeBytes,
           head.wire == Wire::kOffer ? head.handle : 0);
      break;
    }
    case Wire::kFetch:
      answer(peer, head);
      break;
    case Wire::kData:
    case Wire::kNoData:
      fill(peer, head, rest, rest_bytes);
      break;
    case Wire::kRefuse:
      refused(head);
      break;
    case Wire::kEnding:
      events_->ending(peer);
      break;
    case Wire::kLeave: {
      const Locked lock(lock_);
      connections_[static_cast<size_t>(peer)].has_left = true;
      return false;
    }
  }
  return true;
}

void SocketBridge::give(int peer, Envelope envelope, const char* data, size_t bytes,
                        Bulk bulk) {
  const int from = peer + config_.first_number;
  if (receiver_->take(from, envelope, data, bytes, bulk)) return;
  kept_.push_back({peer, envelope, {data, data + bytes}, bulk});
}

void SocketBridge::retry_kept() noexcept {
  is_unfinished_ = !receiver_->finish();
  std::deque<Kept> again;
  again.swap(kept_);
  for (Kept& each : again)
    if (!receiver_->take(each.peer + config_.first_number, each.envelope,
                         each.data.data(), each.data.size(), each.bulk))
      kept_.push_back(std::move(each));
  is_unfinished_ = !receiver_->finish() || is_unfinished_;
}

// --- offers and fetches -------------------------------------------------------------------------

void SocketBridge::end_use() noexcept {
  const Locked lock(lock_);
  in_use_ = nullptr;
}

void SocketBridge::answer(int peer, const Head& request) noexcept {
  const Locked lock(lock_);
  Connection& to = connections_[static_cast<size_t>(peer)];
  const auto offer = offers_.find(request.handle);
  if (offer == offers_.end() || offer->second.peer != peer) {
    Head head{Wire::kNoData};
    head.fetch = request.fetch;
    return send_locked(to, peer, make_packet(head));
  }
  to.streams.push_back({request.fetch, offer->second, 0});
  offers_.erase(offer);
  wait_for_room(to, peer);
}

void SocketBridge::refused(const Head& head) noexcept {
  Completion* completion = nullptr;
  {
    const Locked lock(lock_);
    const auto offer = offers_.find(head.handle);
    if (offer == offers_.end()) return;
    in_use_ = completion = offer->second.completion;
    offers_.erase(offer);
  }
  completion->done(*completion, Outcome::kRefused);
  end_use();
}

void SocketBridge::fill(int peer, const Head& head, const char* data,
                        size_t bytes) noexcept {
  Completion* completion = nullptr;
  Target target;
  bool is_over = head.wire == Wire::kNoData;
  {
    const Locked lock(lock_);
    const auto found = fetches_.find(head.fetch);
    if (found == fetches_.end() || found->second.peer != peer) return;
    Fetch& fetch = found->second;
    target = fetch.target;
    in_use_ = completion = fetch.completion;
    fetch.received += bytes;
    is_over = is_over || fetch.received >= target.bytes;
    if (is_over) fetches_.erase(found);
  }
  const size_t room = head.offset < target.bytes ? target.bytes - head.offset : 0;
  const size_t n = std::min(bytes, room);
  if (n != 0 && target.unpack != nullptr)
    target.unpack(target.data, head.offset, data, n);
  else if (n != 0)
    std::memcpy(static_cast<char*>(target.data) + head.offset, data, n);
  if (is_over)
    completion->done(*completion,
                     head.wire == Wire::kData ? Outcome::kDone : Outcome::kGone);
  end_use();
}

// --- packets that had to wait -------------------------------------------------------------------

// True: the queue is empty.
bool SocketBridge::flush_queue(Connection& to) {
  while (!to.queue.empty()) {
    const Packet& first = to.queue.front();
    const ssize_t n = ::send(to.fd, first.data() + to.sent, first.size() - to.sent,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) return false;
    if (n > 0) to.sent += static_cast<size_t>(n);
    if (n >= 0 && to.sent < first.size()) continue;
    to.queue.pop_front();  // sent, or the peer is gone: read_some() reports that
    to.sent = 0;
  }
  return true;
}

// Sends the next piece of a stream; streams take turns. False: there is no stream.
bool SocketBridge::send_piece(int peer) noexcept {
  Stream stream;
  size_t n = 0;
  {
    const Locked lock(lock_);
    Connection& to = connections_[static_cast<size_t>(peer)];
    if (to.fd < 0 || to.streams.empty()) return false;
    Stream& first = to.streams.front();
    stream = first;
    n = std::min(kPieceBytes, stream.offer.source.bytes - stream.sent);
    first.sent += n;
    in_use_ = stream.offer.completion;
    const bool is_last = first.sent == stream.offer.source.bytes;
    if (!is_last) to.streams.push_back(first);
    to.streams.pop_front();
  }
  Head head{Wire::kData};
  head.fetch = stream.fetch;
  head.offset = stream.sent;
  Packet packet(sizeof head + n);
  std::memcpy(packet.data(), &head, sizeof head);
  read_source(stream.offer.source, stream.sent, packet.data() + sizeof head, n);
  send(peer, std::move(packet));
  if (stream.sent + n == stream.offer.source.bytes)
    stream.offer.completion->done(*stream.offer.completion, Outcome::kDone);
  end_use();
  return true;
}

void SocketBridge::write_some(int peer) noexcept {
  for (int i = 0; i < 16; ++i) {
    {
      const Locked lock(lock_);
      Connection& to = connections_[static_cast<size_t>(peer)];
      if (to.fd < 0 || !flush_queue(to)) return;
      if (to.streams.empty()) {
        to.is_waiting = false;
        watch(to.fd, tag_of(Tag::kPeer, peer), EPOLLIN);
        return;
      }
    }
    if (!send_piece(peer)) return;
  }
}

}  // namespace mpc::transport::bridge
