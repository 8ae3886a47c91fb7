// Reductions of nbc/direct.
//
// Small: each place reduces its members' values to one, in its post (or in its scratch memory).
// Then each place reduces the places' values for itself, all in the same order, so all get the same
// bits. One exchange.
//
// Large: each place reduces to the receive buffer of its last member. Then each place reduces its
// share of the elements of all places, writes it to all places' buffers, and copies to its other
// members. A share is read and written by one actor only, so send and receive buffers may be the
// same. User data cross between cores once in each direction.
//
// Parts (reduce_scatter): small ones as above, after which each member gets its own.
//
// In stages (many places; small): a place reduces its group's values, in the order of the places,
// and shows the result to the other groups. All places of a group get the same bits, so all get the
// same in the end.
//
// Order: `inout = in op inout` with the lower ranks in `in`, so from the last rank down.
#include <algorithm>
#include <array>
#include <cstring>

#include "nbc/direct/fold.h"
#include "nbc/direct/steps.h"
#include "nbc/schedule/limits.h"

namespace mpc::nbc::direct {
namespace {

constexpr size_t kChunkBytes = 8192;  // a running result stays in the first-level cache

const unsigned char* at(const void* base, size_t offset) noexcept {
  return static_cast<const unsigned char*>(base) + offset;
}
unsigned char* at(void* base, size_t offset) noexcept {
  return static_cast<unsigned char*>(base) + offset;
}

void contribute_small(Actor& actor) {
  const Call& call = actor.call();
  const Place& place = actor.place();
  unsigned char* const out = actor.room_for(call.bytes());
  fold(
      call.op, static_cast<int>(place.members.size()),
      [&](int i) { return actor.call_of(place.members[static_cast<size_t>(i)]).send; },
      out, call.count, call.element_bytes);
  actor.mine().source = out;
}

void conclude_small(Actor& actor) {
  const Call& call = actor.call();
  fold(
      call.op, actor.team().place_count(),
      [&](int p) { return actor.post_of(p).source; }, call.recv, call.count,
      call.element_bytes);
  for (const int m : actor.place().members) {
    void* recv = actor.call_of(m).recv;
    if (recv != call.recv) std::memcpy(recv, call.recv, call.bytes());
  }
}

// Calls visit(first element, elements) for chunks of [begin, end).
template <class Visit>
void for_each_chunk(const Call& call, Count begin, Count end, Visit visit) {
  const Count step =
      std::max<Count>(1, static_cast<Count>(kChunkBytes / call.element_bytes));
  for (Count at = begin; at < end; at += step) visit(at, std::min(step, end - at));
}

void contribute_large(Actor& actor) {
  const Call& call = actor.call();
  const auto& members = actor.place().members;
  const Call& last = actor.call_of(members.back());
  Post& post = actor.mine();
  post.target = last.recv;
  post.source = last.send;
  if (members.size() == 1) return;
  for_each_chunk(call, 0, call.count, [&](Count first, Count n) {
    const size_t offset = static_cast<size_t>(first) * call.element_bytes;
    fold(
        call.op, static_cast<int>(members.size()),
        [&](int i) {
          return at(actor.call_of(members[static_cast<size_t>(i)]).send, offset);
        },
        at(last.recv, offset), n, call.element_bytes);
  });
  post.source = post.target;
}

// Reduces this place's share of the elements of all places, and writes it to all places.
void reduce_share(Actor& actor) {
  const Call& call = actor.call();
  const int places = actor.team().place_count();
  const Count share = (call.count + places - 1) / places;
  const Count begin = std::min(call.count, share * actor.place_number());
  const Count end = std::min(call.count, begin + share);
  alignas(64) unsigned char result[kChunkBytes];
  for_each_chunk(call, begin, end, [&](Count first, Count n) {
    const size_t offset = static_cast<size_t>(first) * call.element_bytes;
    fold(
        call.op, places, [&](int p) { return at(actor.post_of(p).source, offset); },
        result, n, call.element_bytes);
    for (int p = 0; p < places; ++p) {
      std::memcpy(at(actor.post_of(p).target, offset), result,
                  static_cast<size_t>(n) * call.element_bytes);
    }
  });
}

void conclude_large(Actor& actor) {
  const Call& call = actor.call();
  const Post& post = actor.mine();
  const auto& members = actor.place().members;
  if (actor.team().place_count() > 1) {
    reduce_share(actor);
    actor.meet();
  }
  if (members.size() == 1) {
    if (post.source != call.recv && actor.team().place_count() == 1)  // a team of one
      std::memcpy(call.recv, post.source, call.bytes());
    return;
  }
  for_each_chunk(call, 0, call.count, [&](Count first, Count n) {
    const size_t offset = static_cast<size_t>(first) * call.element_bytes;
    for (const int m : members) {
      void* recv = actor.call_of(m).recv;
      if (recv == post.target) continue;
      std::memcpy(at(recv, offset), at(post.target, offset),
                  static_cast<size_t>(n) * call.element_bytes);
    }
  });
}

// Reduces elements [first, first + n) of all members into `member`'s receive buffer.
void reduce_part(Actor& actor, int member, Count first, Count n) {
  const Call& call = actor.call();
  void* recv = actor.call_of(member).recv;
  for_each_chunk(call, 0, n, [&](Count from, Count elements) {
    const size_t offset = static_cast<size_t>(first + from) * call.element_bytes;
    fold(
        call.op, actor.team().size(),
        [&](int m) { return at(actor.call_of(m).send, offset); },
        at(recv, static_cast<size_t>(from) * call.element_bytes), elements,
        call.element_bytes);
  });
}

// The same from the values that the places have shown.
void reduce_shown_part(Actor& actor, int member, Count first, Count n) {
  const Call& call = actor.call();
  const size_t offset = static_cast<size_t>(first) * call.element_bytes;
  fold(
      call.op, actor.team().place_count(),
      [&](int p) { return at(actor.post_of(p).source, offset); },
      actor.call_of(member).recv, n, call.element_bytes);
}

}  // namespace

// True: each place reduces everything for itself, since half the work is cheaper than a second
// meeting. bench/mpi/collectives; see docs/design/0007.
bool is_small(const Call& call) noexcept {
  return call.bytes() <= static_cast<size_t>(limit(Limit::kDirectReduce, true));
}

namespace {

// Calls visit(member, first element, elements) for the parts of this place's members.
template <class Visit>
void for_each_part(Actor& actor, Visit visit) {
  const Call& call = actor.call();
  const Team& team = actor.team();
  Count first = 0;
  for (int m = 0; m < team.size(); ++m) {
    const Count n =
        call.part != nullptr ? call.part(call, m) : call.count / team.size();
    if (n != 0 && team.place_of(m) == actor.place_number()) visit(m, first, n);
    first += n;
  }
}

}  // namespace

void contribute_parts(Actor& actor) {
  if (is_small(actor.call())) contribute_small(actor);
}

namespace {

// Small parts of members that follow each other, which are reduced in one go: then each line of
// the values is read once, not once for each part.
class Together {
 public:
  explicit Together(Actor& actor) : actor_(actor), call_(actor.call()) {}
  ~Together() { reduce(); }
  Together(const Together&) = delete;

  void add(int member, Count first, Count n) {
    const Count most = static_cast<Count>(kChunkBytes / call_.element_bytes);
    if (n > most) return reduce_part(actor_, member, first, n);
    if (count_ == kMost || n_ + n > most || first != first_ + n_) reduce();
    if (count_ == 0) first_ = first;
    parts_[count_++] = {member, n};
    n_ += n;
  }

 private:
  void reduce() {
    if (count_ == 0) return;
    alignas(64) unsigned char result[kChunkBytes];
    const size_t offset = static_cast<size_t>(first_) * call_.element_bytes;
    fold(
        call_.op, actor_.team().size(),
        [&](int m) { return at(actor_.call_of(m).send, offset); }, result, n_,
        call_.element_bytes);
    const unsigned char* from = result;
    for (size_t i = 0; i < count_; ++i) {
      const size_t bytes = static_cast<size_t>(parts_[i].n) * call_.element_bytes;
      std::memcpy(actor_.call_of(parts_[i].member).recv, from, bytes);
      from += bytes;
    }
    count_ = 0;
    n_ = 0;
  }

  static constexpr size_t kMost = 512;
  struct Part {
    int member;
    Count n;
  };
  Actor& actor_;
  const Call& call_;
  size_t count_ = 0;
  Count first_ = 0, n_ = 0;
  std::array<Part, kMost> parts_;
};

}  // namespace

void scatter_reduced(Actor& actor) {
  if (is_small(actor.call())) {
    for_each_part(actor, [&](int m, Count first, Count n) {
      reduce_shown_part(actor, m, first, n);
    });
    return;
  }
  {
    Together together(actor);
    for_each_part(actor,
                  [&](int m, Count first, Count n) { together.add(m, first, n); });
  }
  actor.meet();
}

void contribute(Actor& actor) {
  is_small(actor.call()) ? contribute_small(actor) : contribute_large(actor);
}

void conclude(Actor& actor) {
  is_small(actor.call()) ? conclude_small(actor) : conclude_large(actor);
}

bool goes_in_stages(const Call& call) noexcept {
  return is_small(call) &&
         (call.coll == Coll::kAllreduce || call.coll == Coll::kReduceScatter ||
          call.coll == Coll::kReduceScatterBlock);
}

void combine_stage(Actor& actor, size_t s) {
  const Call& call = actor.call();
  const auto& from = actor.stage(s).from;
  const bool is_last = s + 1 == actor.team().stage_count();
  const bool is_whole = is_last && call.coll == Coll::kAllreduce;
  alignas(64) unsigned char whole[kScratchBytes];  // of which each member gets a part
  unsigned char* const out = is_whole  ? static_cast<unsigned char*>(call.recv)
                             : is_last ? whole
                                       : actor.room_for(call.bytes(), s + 1);
  fold(
      call.op, static_cast<int>(from.size()),
      [&](int i) { return actor.staged_post(from[static_cast<size_t>(i)], s).source; },
      out, call.count, call.element_bytes);
  if (!is_last) {
    actor.staged_post(actor.place_number(), s + 1).source = out;
  } else if (is_whole) {
    for (const int m : actor.place().members) {
      void* recv = actor.call_of(m).recv;
      if (recv != call.recv) std::memcpy(recv, call.recv, call.bytes());
    }
  } else {
    for_each_part(actor, [&](int m, Count first, Count n) {
      std::memcpy(actor.call_of(m).recv,
                  whole + static_cast<size_t>(first) * call.element_bytes,
                  static_cast<size_t>(n) * call.element_bytes);
    });
  }
}

}  // namespace mpc::nbc::direct
