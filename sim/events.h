#pragma once
// Events: what will happen on the simulated machine, in order of time.
//
// Role:      the queue of the discrete-event simulation. Events at the same time come in the order
//            in which they were pushed: the same input gives the same order.
// Users:     sim/player.cpp.
// Threads:   one.
// See also:  sim/traffic.h (Time).

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/traffic.h"

namespace mpc::sim {

enum class EventKind : uint8_t {
  kActs,        // a node's overhead is over: it does its work
  kPosted,      // a start has posted its receives
  kCopyBegins,  // the latency of a copy is over
  kCopyEnds,    // maybe: see Traffic
  kArrives,     // a message from another host has arrived
  kWorkEnds,    // a reduction is done
  kOffered,     // the progress thread of a rank has noticed that a node is ready
  kComputed,    // a rank reaches its wait
};

struct Event {
  Time at;
  uint64_t order;
  EventKind kind;
  uint32_t core, node, copy, version;
  bool operator>(const Event& other) const {
    return std::tie(at, order) > std::tie(other.at, other.order);
  }
};

class Events {
 public:
  void push(Time at, EventKind kind, uint32_t core, uint32_t node, uint32_t copy = 0,
            uint32_t version = 0) {
    queue_.push({at, order_++, kind, core, node, copy, version});
  }
  bool is_empty() const { return queue_.empty(); }
  // Requires: not is_empty().
  Time next_time() const { return queue_.top().at; }
  Event pop() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  uint64_t order_ = 0;
};

}  // namespace mpc::sim
