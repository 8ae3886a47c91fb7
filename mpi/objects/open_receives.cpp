#include "mpi/objects/open_receives.h"

#include <limits>
#include <utility>

#include "mpi/objects/request.h"

namespace mpc::mpi {
namespace {

void store_end(Receive& receive, const msg::Status& status) {
  receive.has_ended = true;
  receive.request = nullptr;
  receive.was_cancelled = status.cancelled;
  receive.has_failed = status.failed;
  receive.source = status.source;
  receive.tag = status.tag;
  receive.bytes = status.bytes;
}

// The operation may have ended though the program has not asked yet.
bool has_ended(const Receive& receive) {
  return receive.request != nullptr && receive.request->is_done();
}

}  // namespace

Receive::Receive(Comm& its_comm, int its_source, int its_tag) noexcept
    : comm(its_comm), source(its_source), tag(its_tag) {
  comm.retain();
}
Receive::~Receive() { comm.drop(); }

void OpenReceives::post(const ReceiveRef& receive) {
  receive->order = ++last_order_;
  receive->is_open = true;
  buckets_[key_of(*receive)].receives.emplace(receive->order, receive);
}

void OpenReceives::end(Receive& receive, const msg::Status& status) {
  if (receive.has_ended) return;
  const Key from = key_of(receive);
  store_end(receive, status);
  if (!receive.is_open) return;
  move(from, receive);
  sift();
}

ReceiveRef OpenReceives::next() {
  if (certain_.empty()) return nullptr;
  ReceiveRef out = std::move(certain_.front());
  certain_.pop_front();
  return out;
}

void OpenReceives::clear() {
  for (auto& [key, bucket] : buckets_)
    for (auto& [order, receive] : bucket.receives) receive->is_open = false;
  buckets_.clear();
  candidates_.clear();
  certain_.clear();
}

// The receive has ended: moves it to the bucket of its message's source and tag.
void OpenReceives::move(Key from, Receive& receive) {
  const Key to = key_of(receive);
  const bool is_over = receive.was_cancelled || to.is_wild();  // it has taken nothing
  ReceiveRef ref;
  if (is_over || from != to) {
    ref = leave(from, receive.order);
    if (is_over) {
      ref->is_open = false;
      return;
    }
    buckets_[to].receives.emplace(receive.order, ref);
  } else {
    ref = buckets_.at(from).receives.at(receive.order);
  }
  candidates_.push_back(std::move(ref));
}

// The receives that it has held up become candidates: the next one of its bucket, and those
// waiting for it.
ReceiveRef OpenReceives::leave(Key key, uint64_t order) {
  const auto at = buckets_.find(key);
  Bucket& bucket = at->second;
  ReceiveRef out = std::move(bucket.receives.extract(order).mapped());
  const bool is_empty = bucket.receives.empty();
  const uint64_t first =
      is_empty ? std::numeric_limits<uint64_t>::max() : bucket.receives.begin()->first;
  while (!bucket.waiting.empty() && bucket.waiting.begin()->first < first) {
    candidates_.push_back(std::move(bucket.waiting.begin()->second));
    bucket.waiting.erase(bucket.waiting.begin());
  }
  if (is_empty)
    buckets_.erase(at);
  else if (bucket.receives.begin()->second->has_ended)
    candidates_.push_back(bucket.receives.begin()->second);
  return out;
}

bool OpenReceives::is_first(const Receive& receive) const {
  return buckets_.at(key_of(receive)).receives.begin()->first == receive.order;
}

// True if every receive that was posted earlier and may have taken its message has ended. In its
// own bucket only the first receive is asked; in the three wildcard buckets the first one there
// holds it up.
bool OpenReceives::is_certain(const ReceiveRef& receive) {
  if (!is_first(*receive)) return false;  // asked again when it is
  const Key wild[] = {{receive->source, msg::kAnyTag},
                      {msg::kAnySource, receive->tag},
                      {msg::kAnySource, msg::kAnyTag}};
  for (const Key& key : wild) {
    for (;;) {
      const auto at = buckets_.find(key);
      if (at == buckets_.end()) break;
      Receive& first = *at->second.receives.begin()->second;
      if (first.order > receive->order) break;
      if (!has_ended(first)) {
        at->second.waiting.emplace(receive->order, receive);
        return false;
      }
      store_end(first, first.request->result());
      move(key, first);
    }
  }
  return is_first(*receive);
}

void OpenReceives::sift() {
  while (!candidates_.empty()) {
    const ReceiveRef one = std::move(candidates_.back());
    candidates_.pop_back();
    if (!one->is_open || !is_certain(one)) continue;
    one->is_open = false;
    leave(key_of(*one), one->order);
    certain_.push_back(one);
  }
}

}  // namespace mpc::mpi
