#include "nbc/direct/pending.h"

#include <new>

#include "base/trace.h"
#include "nbc/direct/blocks.h"
#include "nbc/direct/key.h"
#include "nbc/direct/later.h"
#include "nbc/direct/partners.h"
#include "nbc/direct/trail.h"
#include "runtime/message/message.h"

namespace mpc::nbc::direct {
namespace {

constexpr trace::Site kAct{
    "direct", "act", {"collective", "bytes", "one_way"}, true, true};

constexpr bool is_exchange(Coll coll) noexcept {
  return coll == Coll::kBarrier || coll == Coll::kAllgather ||
         coll == Coll::kAlltoall || coll == Coll::kAllreduce;
}

// What a member needs; it may be among them itself.
Range needed_by(const OneWayCall& call, int me, int size) noexcept {
  if (is_exchange(call.coll)) return {0, size};
  if (call.coll == Coll::kScan) return {0, me + 1};
  return sources_of(call.coll, call.root, me, size);
}

// Who needs what a member gives; the member itself, if it is among them, is not told.
Range told_by(const OneWayCall& call, int me, int size) noexcept {
  return is_exchange(call.coll) ? Range{0, size}
                                : readers_of(call.coll, call.root, me, size);
}

constexpr bool is_reduction(Coll coll) noexcept {
  return coll == Coll::kAllreduce || coll == Coll::kReduce || coll == Coll::kScan ||
         coll == Coll::kExscan;
}

// Each receiver gets a block of its own.
constexpr bool has_rows(Coll coll) noexcept {
  return coll == Coll::kScatter || coll == Coll::kAlltoall;
}

// Each sender's block has a place of its own.
constexpr bool has_places(Coll coll) noexcept {
  return coll == Coll::kGather || coll == Coll::kAllgather || coll == Coll::kAlltoall;
}

// ---- what a member shows -----------------------------------------------------------------

int blocks_sent(const OneWayCall& call, int size) noexcept {
  if (call.send.type == nullptr) return 0;  // a barrier, or a member that gives nothing
  return has_rows(call.coll) ? size : 1;
}

// ---- what it receives --------------------------------------------------------------------

void combine(Pending& p, const unsigned char* lower, size_t bytes) {
  if (p.has_value) return p.call.op(lower, p.value, p.call.send.count);
  copy_bytes(p.value, lower, bytes);
  p.has_value = true;
}

void take_block(Pending& p, int source, const unsigned char* data, size_t bytes) {
  const Block to =
      has_places(p.call.coll) ? block_at(p.call.recv, source) : p.call.recv;
  const size_t room = to.bytes();
  if (bytes > room) {
    p.truncated_by = source;
    return;
  }
  unpack(data, bytes, to);
  if (bytes < room && p.call.coll == Coll::kBcast) p.short_from = source;
}

void take(Pending& p, int source, const Post& post) {
  const bool reduces = is_reduction(p.call.coll);
  if (post.key != p.key && (reduces || !is_same_call(post.key, p.key))) [[unlikely]] {
    p.wrong_member = source;
    p.wrong_key = post.key;
    return;
  }
  const size_t bytes = bytes_of(post.key);
  if (p.wrong_member >= 0 || p.call.coll == Coll::kBarrier) return;
  if (reduces) return combine(p, post.data, bytes);
  const size_t row = has_rows(p.call.coll) ? static_cast<size_t>(p.member) : 0;
  take_block(p, source, post.data + row * bytes, bytes);
}

// The member's own part.
void take_own(Pending& p) {
  if (is_reduction(p.call.coll) && p.wrong_member < 0)
    combine(p, p.own, bytes_of(p.key));
}

void copy_own(Pending& p, int me) {
  const OneWayCall& call = p.call;
  const bool has_root = call.coll == Coll::kGather || call.coll == Coll::kScatter;
  if (has_root ? me != call.root : !has_places(call.coll)) return;
  if (call.send.type == nullptr || call.recv.type == nullptr) return;  // in place
  const Block from = has_rows(call.coll) ? block_at(call.send, me) : call.send;
  const Block to = has_places(call.coll) ? block_at(call.recv, me) : call.recv;
  if (from.bytes() > to.bytes())
    p.truncated_by = me;
  else if (from.data != to.data)
    dt::copy(to.data, *to.type, to.count, from.data, *from.type, from.count);
}

// ---- begin, advance, wait -----------------------------------------------------------------

void end_reading(Pending& p, Trail& own) {
  if (p.has_value && p.wrong_member < 0)
    copy_bytes(p.call.recv.data, p.value, bytes_of(p.key));
  const TrailLock lock(own, p.is_shared);
  unlink(own, p.reader);
  tell_done(own);
}

void make(Pending& p, Team& team, int me, job::Rank& self, const OneWayCall& call,
          size_t bytes, bool is_shared) noexcept {
  const Range sources = needed_by(call, me, team.size());
  ::new (&p) Pending{.team = &team,
                     .self = &self,
                     .reader = {nullptr, nullptr, 0},
                     .key = make_key(call.coll, call.op_code, bytes),
                     .call = call,
                     .wrong_key = 0,
                     .member = me,
                     .next = sources.last - 1,
                     .end = sources.first,
                     .blocks = blocks_sent(call, team.size()),
                     .wrong_member = -1,
                     .truncated_by = -1,
                     .short_from = -1,
                     .meeting = 0,
                     .reads = sources.first < sources.last,
                     .is_over = false,
                     .is_shared = is_shared,
                     .has_value = false,
                     .own = {},
                     .value = {}};
}

size_t bytes_given(const OneWayCall& call) noexcept {
  return call.send.type != nullptr   ? call.send.bytes()
         : call.recv.type != nullptr ? call.recv.bytes()
                                     : 0;
}

// A start by a post.
bool show(Pending& p, Team& team, int me, job::Rank& self, const OneWayCall& call,
          bool is_shared) noexcept {
  Trail* const trails = team.trails();
  Trail& own = trails[me];
  const int size = team.size();
  const uint64_t epoch = own.begun + 1;
  const size_t bytes = bytes_given(call);
  const Range readers = told_by(call, me, size);
  Post* post = nullptr;
  if (readers.first < readers.last) {
    post = claim(trails, size, me, epoch);
    if (post == nullptr) return false;
  }
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace::begin(kAct, {trace::text(name_of(call.coll)), bytes, 1});
  make(p, team, me, self, call, bytes, is_shared);
  p.reader.epoch = epoch;
  if (own.rank.load(std::memory_order_relaxed) != &self)
    own.rank.store(&self, std::memory_order_relaxed);  // before watch()
  if (p.reads && is_reduction(call.coll) && call.send.type != nullptr)
    pack(call.send, p.own);
  if (post != nullptr) {
    pack_sent(p, post->data);
    post->key = p.key;
    // seq_cst: before the loads of tell_watchers(). Release pairs with look().
    post->round.store(epoch, std::memory_order_seq_cst);
  }
  {
    const TrailLock lock(own, is_shared);
    own.begun = epoch;
    if (p.reads)
      link(own, p.reader);
    else
      tell_done(own);
  }
  for (int m = readers.first; m < readers.last; ++m)
    if (m != me) tell_watchers(trails[m]);
  if (epoch % kTellEvery == 0) [[unlikely]]
    tell_come(trails, size, me, epoch);
  copy_own(p, me);
  if (is_traced) [[unlikely]]
    trace::end(kAct);
  return true;
}

// A start at a meeting.
bool arrive(Pending& p, Team& team, int me, job::Rank& self, const OneWayCall& call,
            bool is_shared) noexcept {
  const size_t bytes = bytes_given(call);
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace::begin(kAct, {trace::text(name_of(call.coll)), bytes, 0});
  make(p, team, me, self, call, bytes, is_shared);
  p.meeting = team.later().arrive(p);
  if (is_traced) [[unlikely]]
    trace::end(kAct);
  return p.meeting != 0;
}

bool fits_posts(const Team& team, Coll coll, size_t bytes) noexcept {
  if (team.is_spread() ? team.has_stages() : !can_go_one_way(team)) return false;
  switch (coll) {
    case Coll::kBarrier:
      return true;
    case Coll::kBcast:
    case Coll::kGather:
    case Coll::kReduce:
    case Coll::kAllgather:
    case Coll::kAllreduce:
    case Coll::kScan:
    case Coll::kExscan:
      return bytes != 0 && bytes <= Post::kInlineBytes;
    case Coll::kScatter:
    case Coll::kAlltoall:
      return bytes != 0 &&
             bytes <= Post::kInlineBytes / static_cast<size_t>(team.size());
    default:
      return false;
  }
}

// The last member to come reads what all have left, and writes what all receive.
bool fits_meeting(const Team& team, Coll coll, size_t bytes) noexcept {
  constexpr size_t kMostRead = size_t{64} << 10, kMostWritten = size_t{8} << 20;
  if (coll == Coll::kBarrier) return true;
  if (!can_go_one_way(team) || bytes == 0 || bytes > kScratchBytes) return false;
  const auto size = static_cast<size_t>(team.size());
  switch (coll) {
    case Coll::kAllreduce:
    case Coll::kScan:
    case Coll::kExscan:
      return bytes * size <= kMostRead;
    case Coll::kAllgather:
      return bytes * size <= kMostRead && bytes * size * size <= kMostWritten;
    case Coll::kAlltoall:
      return bytes * size * size <= kMostRead;
    default:
      return false;
  }
}

}  // namespace

bool by_meeting(const Team& team, Coll coll) noexcept {
  return !team.is_spread() && !traits_of(coll).is_rooted();
}

bool fits_pending(const Team& team, Coll coll, size_t bytes) noexcept {
  return team.size() > 1 &&
         (by_meeting(team, coll) ? fits_meeting : fits_posts)(team, coll, bytes);
}

bool begin(Pending& p, Team& team, int me, job::Rank& self, const OneWayCall& call,
           bool is_shared) noexcept {
  return by_meeting(team, call.coll) ? arrive(p, team, me, self, call, is_shared)
                                     : show(p, team, me, self, call, is_shared);
}

bool advance(Pending& p) noexcept {
  if (p.is_over) return true;
  if (p.meeting != 0) return p.is_over = p.team->later().is_over(p.meeting);
  Trail* const trails = p.team->trails();
  Trail& own = trails[p.member];
  if (!p.reads) {
    // Relaxed: only a number, of which an older value does no harm.
    if (p.reader.epoch > own.come_by_all.load(std::memory_order_relaxed) + kMostAhead)
        [[unlikely]] {
      const uint64_t come = least_of(trails, p.team->size(), p.member, &Trail::come);
      own.come_by_all.store(come, std::memory_order_relaxed);
      if (p.reader.epoch > come + kMostAhead) return false;
    }
    return p.is_over = true;
  }
  for (; p.next >= p.end; --p.next) {
    if (p.next == p.member) {
      take_own(p);
      continue;
    }
    const Post* const post = look(trails[p.next], p.reader.epoch);
    if (post == nullptr) return false;
    take(p, p.next, *post);
  }
  end_reading(p, own);
  return p.is_over = true;
}

void watch(const Pending& p) noexcept {
  if (p.meeting != 0) return p.team->later().watch(p.member);
  // seq_cst: see tell_watchers().
  p.team->trails()[p.member].watchers.fetch_add(1, std::memory_order_seq_cst);
}

void unwatch(const Pending& p) noexcept {
  if (p.meeting != 0) return p.team->later().unwatch(p.member);
  p.team->trails()[p.member].watchers.fetch_sub(1, std::memory_order_relaxed);
}

void wait(Pending& p, const sched::WaitReason& why) {
  if (advance(p)) return;
  msg::wait_for(*p.self,
                {[](void* w) { return advance(*static_cast<Pending*>(w)); },
                 [](void* w, sched::Execution&) { watch(*static_cast<Pending*>(w)); },
                 [](void* w) { unwatch(*static_cast<Pending*>(w)); }, &p, true},
                why);
}

int missing_member(const Pending& p) noexcept {
  if (p.meeting != 0) return p.is_over ? -1 : p.team->later().missing(p.meeting);
  return p.is_over || p.next < p.end ? -1 : p.next;
}

Outcome outcome_of(const Pending& p, std::string& text) {
  Outcome outcome{nullptr, false, p.truncated_by, p.short_from};
  if (p.wrong_member < 0) return outcome;
  text = difference(p.wrong_member, p.wrong_key, p.member, p.key);
  outcome.mismatch = &text;
  outcome.calls_differ = !is_same_call(p.wrong_key, p.key);
  return outcome;
}

}  // namespace mpc::nbc::direct
