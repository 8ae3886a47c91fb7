#include "nbc/direct/direct.h"

#include <memory>
#include <type_traits>

#include "base/trace.h"
#include "nbc/direct/at_place.h"
#include "nbc/direct/blocks.h"
#include "nbc/direct/fold.h"
#include "nbc/direct/steps.h"
#include "nbc/schedule/limits.h"

namespace mpc::nbc::direct {

// ---- members that each have a worker of their own ---------------------------------------------
//
// A small collective of such members, in one function: nobody has to arrive, to act for others or to
// be released, and all data lie in posts. Members that take this way and members that go by
// run_at_place() may meet: their posts are alike.
//
//   fill   this member's data go into its post; if they do not fit, it goes by run_at_place()
//   show   the post is complete; see all others'
//   take   what concerns this member

namespace {

// A limit of the settings may say that all members of the team do without posts.
bool fits(size_t bytes, Limit which) noexcept {
  return bytes <= Post::kInlineBytes &&
         bytes <= static_cast<size_t>(limit(which, true));
}

[[gnu::always_inline]] inline bool fill_plain(Post& post, const Call& call,
                                              size_t bytes, Limit which) noexcept {
  if (!fits(bytes, which)) return false;
  copy_bytes(post.data, call.send, bytes);
  return true;
}

// As pack_uneven().
bool fill_uneven(Post& post, const Call& call, int blocks) {
  size_t at = static_cast<size_t>(blocks) * sizeof(BlockLength);
  for (int b = 0; b < blocks; ++b) {
    const Block block = call.block_to(call, b);
    const size_t bytes = block.bytes();
    if (bytes > Post::kInlineBytes || at + bytes > Post::kInlineBytes) return false;
    const auto length = static_cast<BlockLength>(bytes);
    std::memcpy(post.data + static_cast<size_t>(b) * sizeof length, &length,
                sizeof length);
    if (length != 0) pack(block, post.data + at);
    at += bytes;
  }
  return true;
}

// Writes what this member shows. False: it does not fit into the post.
[[gnu::always_inline]] inline bool fill(Post& post, const Team& team,
                                        const Call& call) {
  const auto members = static_cast<size_t>(team.size());
  switch (call.coll) {
    case Coll::kBarrier:
      return true;
    case Coll::kAllreduce:
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      return fill_plain(post, call, call.bytes(), Limit::kDirectReduce);
    case Coll::kAllgather:
    case Coll::kAlltoall:
      return call.is_send_plain && call.is_recv_plain && call.send_block != 0 &&
             call.send_block <= call.recv_block &&
             fill_plain(post, call,
                        call.coll == Coll::kAlltoall ? call.send_block * members
                                                     : call.send_block,
                        Limit::kDirectRows);
    case Coll::kAllgatherv:
    case Coll::kAlltoallv: {
      const int blocks = sent_blocks(team, call);
      return static_cast<size_t>(blocks) * sizeof(BlockLength) <= Post::kInlineBytes &&
             fill_uneven(post, call, blocks);
    }
    default:
      return false;
  }
}

// The posts of one exchange. Passed by value, in two registers: whoever has its address keeps it in memory.
class Posts {
 public:
  Posts(const Team& team, uint64_t exchange) noexcept
      : places_(team.places()),
        count_(team.size()),
        turn_(static_cast<int>(exchange & 1)) {}
  int count() const noexcept { return count_; }
  Post& operator[](int member) const noexcept { return place(member).posts[turn_]; }
  const unsigned char* data(int member) const noexcept {
    return static_cast<const unsigned char*>((*this)[member].source);
  }
  bool is_shown(int member, uint64_t round) const noexcept {
    return (*this)[member].round.load(std::memory_order_seq_cst) >= round;
  }
  Sleeper& sleeper(int member) const noexcept { return place(member).sleeper; }

 private:
  Place& place(int member) const noexcept { return *places_[member]; }

  const std::unique_ptr<Place>* places_;
  int count_, turn_;
};
static_assert(std::is_trivially_copyable_v<Posts> && sizeof(Posts) == 16);

// As Actor::exchange_posts(), where the argument is.
[[gnu::always_inline]] inline void show_and_see(const Posts posts, int member,
                                                uint64_t round, job::Rank& self,
                                                const sched::WaitReason& why) {
  // What another core is about to show is mostly there within 100 ns.
  constexpr int kLooks = 40;
  posts[member].round.store(round, std::memory_order_seq_cst);
  const int count = posts.count();
  int m = 0;
  while (m < count && posts.is_shown(m, round)) ++m;
  if (m == count) {  // all are there
    for (m = 0; m < count; ++m)
      if (m != member) posts.sleeper(m).wake();
    return;
  }
  for (; m < count; ++m) {
    int looks = 0;
    while (!posts.is_shown(m, round) && ++looks < kLooks) {
    }
    if (looks == kLooks)
      wait_for_flag(posts[m].round, round, posts.sleeper(member), self, why);
  }
}

bool all_say(Posts posts, uint64_t key) noexcept {
  for (int m = 0; m < posts.count(); ++m)
    if (posts[m].key != key) return false;
  return true;
}

// Reduces elements [first, first + n) of all members.
void reduce(Posts posts, const Call& call, Count first, Count n) {
  const size_t offset = static_cast<size_t>(first) * call.element_bytes;
  fold(
      call.op, posts.count(), [&](int m) { return posts.data(m) + offset; }, call.recv,
      n, call.element_bytes);
}

// The elements that this member gets.
void reduce_part(Posts posts, const Call& call, int member) {
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a team has members
  Count first = 0, n = call.count / posts.count();
  if (call.part == nullptr) {
    first = n * member;
  } else {
    for (int m = 0; m < member; ++m) first += call.part(call, m);
    n = call.part(call, member);
  }
  if (n != 0) reduce(posts, call, first, n);
}

void take_blocks(Posts posts, const Call& call, size_t offset) {
  auto* to = static_cast<unsigned char*>(call.recv);
  for (int m = 0; m < posts.count(); ++m, to += call.recv_step)
    copy_bytes(to, posts.data(m) + offset, call.send_block);
}

// As move_uneven(). Returns the member whose data were too long, or -1.
int take_uneven(Posts posts, const Call& call, int member) {
  int truncated_by = -1;
  const bool is_gather = call.coll == Coll::kAllgatherv;
  const int blocks = is_gather ? 1 : posts.count(), mine = is_gather ? 0 : member;
  for (int m = 0; m < posts.count(); ++m) {
    const unsigned char* const row = posts.data(m);
    const unsigned char* data = row + static_cast<size_t>(blocks) * sizeof(BlockLength);
    BlockLength length;
    for (int b = 0;; ++b, data += length) {
      std::memcpy(&length, row + static_cast<size_t>(b) * sizeof length, sizeof length);
      if (b == mine) break;
    }
    const Block to = call.block_from(call, m);
    if (length > to.bytes()) {
      truncated_by = m;
    } else {
      unpack(data, length, to);
    }
  }
  return truncated_by;
}

// As above.
int take(Posts posts, const Call& call, int member) {
  switch (call.coll) {
    case Coll::kAllreduce:
      reduce(posts, call, 0, call.count);
      break;
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      reduce_part(posts, call, member);
      break;
    case Coll::kAllgather:
      take_blocks(posts, call, 0);
      break;
    case Coll::kAlltoall:
      take_blocks(posts, call, call.send_block * static_cast<size_t>(member));
      break;
    case Coll::kAllgatherv:
    case Coll::kAlltoallv:
      return take_uneven(posts, call, member);
    default:
      break;
  }
  return -1;
}

// A place that has more than fits into its room shows none of it.
bool is_anything_hidden(Posts posts, const Call& call) noexcept {
  if (call.coll != Coll::kAllgatherv && call.coll != Coll::kAlltoallv) return false;
  for (int m = 0; m < posts.count(); ++m)
    if (posts[m].source == nullptr) return true;
  return false;
}

}  // namespace

namespace {

// `me` has begun this collective.
[[gnu::noinline]] Outcome run_alone(Team& team, int member, job::Rank& self,
                                    const sched::WaitReason& why) {
  Member& me = team.member(member);
  const Call& call = *me.call;
  const Posts posts(team, me.exchanges);
  Post& mine = posts[member];
  if (!fill(mine, team, call)) return run_at_place(team, member, self, why);
  const uint64_t key = key_of(call);
  mine.key = key;
  mine.source = mine.data;
  show_and_see(posts, member, me.exchanges * kRounds, self, why);
  if (!all_say(posts, key)) [[unlikely]]
    return complain_alone(team, member, self, why);
  if (is_anything_hidden(posts, call)) [[unlikely]]
    return copy_alone(team, member, self, why);
  const int truncated_by = take(posts, call, member);
  me.done_by_all = me.epoch - 1;  // all members have arrived at this one
  return {nullptr, false, truncated_by, -1};
}

}  // namespace

// Has no frame: the stack of a rank that waits among hundreds is in no cache when it goes on.
Outcome run(Team& team, int member, job::Rank& self, const Call& call,
            const sched::WaitReason& why) {
  Member& me = team.member(member);
  me.call = &call;
  ++me.epoch;
  ++me.exchanges;
  me.way = Member::kBothWays;
  if (!team.is_spread() || team.has_stages() || call.decide != nullptr ||
      trace::enabled())
    return run_at_place(team, member, self, why);
  return run_alone(team, member, self, why);
}

const char* describe(const Team& team, const Call& call) noexcept {
  switch (call.coll) {
    case Coll::kBarrier:
      return team.has_stages() ? "no data, in stages" : "no data";
    case Coll::kAllreduce:
      if (is_small(call) && team.has_stages()) return "workers reduce in stages";
      return is_small(call) ? "each worker reduces all" : "workers reduce shares";
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      if (is_small(call) && team.has_stages()) return "workers reduce in stages";
      return is_small(call) ? "each worker reduces all" : "each part once";
    case Coll::kAllgatherv:
    case Coll::kAlltoallv:
      return "shown if small or else copied once";
    default:
      return is_packed(team, call) ? "shown in one piece" : "copied once";
  }
}

}  // namespace mpc::nbc::direct
