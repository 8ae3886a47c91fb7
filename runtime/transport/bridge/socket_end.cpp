// Connections of the bridge that end: what is under way on them ends with them.
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/transport/bridge/socket_bridge.h"

namespace mpc::transport::bridge {

void SocketBridge::end_fetches(int peer) noexcept {
  for (;;) {
    Completion* completion = nullptr;
    {
      const Locked lock(lock_);
      const auto found = std::ranges::find_if(
          fetches_, [&](const auto& each) { return each.second.peer == peer; });
      if (found == fetches_.end()) return;
      in_use_ = completion = found->second.completion;
      fetches_.erase(found);
    }
    completion->done(*completion, Outcome::kGone);
    end_use();
  }
}

// Takes one from the tables: one that the peer was fetching, else one that it has not asked for.
Completion* SocketBridge::take_offer(int peer) noexcept {
  std::deque<Stream>& fetched = connections_[static_cast<size_t>(peer)].streams;
  if (!fetched.empty()) {
    Completion* const completion = fetched.front().offer.completion;
    fetched.pop_front();
    return completion;
  }
  const auto found = std::ranges::find_if(
      offers_, [&](const auto& each) { return each.second.peer == peer; });
  if (found == offers_.end()) return nullptr;
  Completion* const completion = found->second.completion;
  offers_.erase(found);
  return completion;
}

void SocketBridge::end_offers(int peer) noexcept {
  for (;;) {
    Completion* completion = nullptr;
    {
      const Locked lock(lock_);
      in_use_ = completion = take_offer(peer);
    }
    if (completion == nullptr) return;
    completion->done(*completion, Outcome::kGone);
    end_use();
  }
}

// What the peer had sent arrives before its end is told, even if a thread holds the mailbox now. The
// wait ends: the holder of a mailbox calls no function of a net, so it never waits for this thread.
void SocketBridge::deliver_kept(int peer) noexcept {
  const auto is_its = [peer](const Kept& each) { return each.peer == peer; };
  // relaxed: as in run(). If this process leaves none of its ranks waits for a message.
  while ((is_unfinished_ || std::ranges::any_of(kept_, is_its)) &&
         !is_ending_.load(std::memory_order_relaxed)) {
    sched_yield();
    retry_kept();
  }
}

void SocketBridge::end_connection(int peer) noexcept {
  deliver_kept(peer);
  bool has_left = false;
  {
    const Locked lock(lock_);
    Connection& at = connections_[static_cast<size_t>(peer)];
    if (at.fd < 0) return;
    // close() alone is not enough if a child has inherited the descriptors.
    for (const int fd : {at.fd, at.process_fd}) {
      if (fd < 0) continue;
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
      ::close(fd);
    }
    has_left = at.has_left;
    auto fetched = std::move(at.streams);
    at = Connection{};
    if (config_.ends_offers) at.streams = std::move(fetched);
  }
  arrived_.erase(peer);
  std::erase_if(kept_, [peer](const Kept& each) { return each.peer == peer; });
  end_fetches(peer);
  if (config_.ends_offers) end_offers(peer);
  is_unfinished_ = !receiver_->finish();
  events_->gone(peer, has_left);
}

}  // namespace mpc::transport::bridge
