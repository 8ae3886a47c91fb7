#pragma once
// OpenReceives: which receives of one communicator have certainly taken which messages (mpi.check=full).
//
// Role:      receives take messages of one source with one tag in the order in which the receives
//            are posted. So a receive that has ended is certain when no earlier one may have taken
//            a message
//            with the same source and tag.
// Users:     mpi/objects/watch.
// Threads:   one at a time (Watch::mutex).
// See also:  docs/design/0034-checking.md (the argument), docs/design/0043-more-checking.md (the index).

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/objects/comm.h"
#include "mpi/objects/note.h"

namespace mpc::mpi {

class Request;

// One receive, or a message that a matched probe has taken: from its posting until its note is there.
struct Receive {
  explicit Receive(Comm& its_comm, int its_source, int its_tag) noexcept;
  ~Receive();
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;

  // Its call: known from the start, for a matched probe later.
  void set_call(dt::Count its_count, const dt::Datatype& its_type, CallSite its_site) {
    count = its_count;
    type = dt::TypeRef(&its_type);
    site = its_site;
  }

  Comm& comm;
  int source, tag;       // as posted, then those of the message
  uint64_t order = 0;    // of posting
  bool is_open = false;  // OpenReceives has it
  // While the program has not completed it: asked whether it has ended.
  const Request* request = nullptr;
  bool has_ended = false, was_cancelled = false, has_failed = false;
  int64_t bytes = 0;
  dt::Count count = 0;
  dt::TypeRef type;
  CallSite site;
  std::optional<Note> note;
};
using ReceiveRef = std::shared_ptr<Receive>;

class OpenReceives {
 public:
  // Needs: `receive` was posted after all others.
  void post(const ReceiveRef& receive);
  // The receive has ended with this status. A second call has no effect. Cost: logarithmic in the
  // open ones.
  void end(Receive& receive, const msg::Status& status);
  // Removes and returns a receive whose message is certain; null: there is none.
  ReceiveRef next();
  void clear();

 private:
  struct Key {
    int source, tag;
    auto operator<=>(const Key&) const =
        default;  // NOLINT(modernize-use-nullptr): its 0
    bool is_wild() const noexcept {
      return source == msg::kAnySource || tag == msg::kAnyTag;
    }
  };
  // The receives that name the same source and tag, or have taken a message with them.
  struct Bucket {
    std::map<uint64_t, ReceiveRef> receives;
    // Receives of other buckets that have ended, but whose message an earlier one here may have
    // taken.
    std::map<uint64_t, ReceiveRef> waiting;
  };
  static Key key_of(const Receive& receive) noexcept {
    return {receive.source, receive.tag};
  }

  bool is_certain(const ReceiveRef& receive);
  bool is_first(const Receive& receive) const;
  ReceiveRef leave(Key key, uint64_t order);
  void move(Key from, Receive& receive);
  void sift();

  uint64_t last_order_ = 0;
  std::map<Key, Bucket> buckets_;
  std::vector<ReceiveRef> candidates_;  // have ended; to be checked
  std::deque<ReceiveRef> certain_;
};

}  // namespace mpc::mpi
