#pragma once
// Operations: what this module has to do or has under way, one object each.
//
// Role:      a task waits in the outbox for the holder of the lock; a posting, an offer and a fetch
//            exist while UCX has their data.
// Users:     runtime/transport/ucx.
// Threads:   see each.
// See also:  runtime/transport/ucx/ucx_net.h.

#include <cstdint>
#include <vector>

#include "runtime/transport/completion.h"
#include "runtime/transport/net.h"
#include "runtime/transport/ucx/head.h"
#include "runtime/transport/ucx/ucp_worker.h"

namespace mpc::transport::ucx {

struct Task : Transfer {
  enum class Kind : uint8_t {
    kPosting,
    kOffer,
    kFetch,
    kRefuse,
    kRecall,
    kGreet,
    kLoss
  };
  Task(Kind k, int p) : kind(k), peer(p) {}
  Task* next = nullptr;  // link of the outbox
  const Kind kind;
  int peer;
};

// A message whose data are leaving. UCX reads them through Transfer,
// so that they may be moved to a copy until they have left.
struct Posting : Task {
  Posting() : Task(Kind::kPosting, 0) {}
  void describe(int to, const Head& what, const Source& source) {
    peer = to;
    head_bytes = encode(what, head);
    data = const_cast<void*>(source.data);
    bytes = source.bytes;
    pack = source.pack;
  }
  // Copies the data, which belong to the caller again.
  void keep_data();

  char head[kMostHeadBytes];
  size_t head_bytes = 0;
  std::vector<char> copy;
};

// An operation with a waiter: its memory and completion are ours until it has ended.
struct Operation : Task {
  using Task::Task;
  Completion* completion = nullptr;  // null: forgotten. Guarded by UnderWay
  // Of the thread that has forgotten it. Guarded by UnderWay.
  bool* is_over = nullptr;
  Operation* before = nullptr;  // list of all that are under way; UnderWay's
  Operation* behind = nullptr;
  Outcome outcome = Outcome::kDone;
  Operation* next_ended = nullptr;
  char nothing = 0;  // replaces a message of no bytes: UCX has no rendezvous for those
};

struct Offer : Operation {
  explicit Offer(int to) : Operation(Kind::kOffer, to) {}
  uint64_t number = 0;
  bool is_refused = false;
  char head[kMostHeadBytes];
  size_t head_bytes = 0;
};

// An offer to this process; its address is the Bulk. Exists from
// its arrival to fetch() or the end of its refusal.
struct Arrived {
  int from = 0;
  uint64_t number = 0;
  void* descriptor = nullptr;  // null: it has been recalled
  size_t bytes = 0;
  bool is_refused = false;
};

struct Fetch : Operation {
  explicit Fetch(int from) : Operation(Kind::kFetch, from) {}
  Arrived* arrived = nullptr;
};

struct Refusal : Task {
  explicit Refusal(int from, Arrived* what)
      : Task(Kind::kRefuse, from), arrived(what) {}
  Arrived* const arrived;
};

// All connections must be established.
struct Greet : Task {
  explicit Greet(Completion& who) : Task(Kind::kGreet, -1), completion(who) {}
  Completion& completion;
};

// A peer has ended.
struct Loss : Task {
  explicit Loss(int who) : Task(Kind::kLoss, who) {}
};

struct Recall : Task {
  explicit Recall(int to, uint64_t what) : Task(Kind::kRecall, to), number(what) {}
  const uint64_t number;
};

}  // namespace mpc::transport::ucx
