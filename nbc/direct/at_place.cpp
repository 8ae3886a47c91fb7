#include "nbc/direct/at_place.h"

#include "base/trace.h"
#include "nbc/direct/key.h"
#include "nbc/direct/steps.h"

namespace mpc::nbc::direct {
namespace {

// The work of a place's actor for its members, including waits for other places.
constexpr trace::Site kAct{"direct", "act", {"collective", "bytes"}, true, true};

constexpr uint64_t kMixed = ~uint64_t{0};

uint64_t key_of_place(const Actor& actor) noexcept {
  const uint64_t key = key_of(actor.call());
  for (const int m : actor.place().members) {
    if (key_of(actor.call_of(m)) != key) return kMixed;
  }
  return key;
}

// Every place's actor finds the same mismatch; no member leaves before they all have read the
// calls.
[[gnu::cold]] void complain(Actor& actor) {
  const Team& team = actor.team();
  const uint64_t first = key_of(actor.call_of(0));
  int other = 0;
  while (other + 1 < team.size() && key_of(actor.call_of(other)) == first) ++other;
  const uint64_t key = key_of(actor.call_of(other));
  actor.place().complaint = difference(other, key, 0, first);
  actor.place().calls_differ = !is_same_call(key, first);
  actor.meet();  // before any member leaves
  for (const int m : actor.place().members) actor.team().member(m).has_mismatch = true;
}

bool all_say_the_same(Actor& actor) noexcept {
  const uint64_t key = actor.mine().key;
  if (key == kMixed) return false;
  for (int p = 0; p < actor.team().place_count(); ++p) {
    if (actor.post_of(p).key != key) return false;
  }
  return true;
}

// Place 0's actor calls decide(), the others wait for it.
[[gnu::noinline]] void decide(Actor& actor) {
  if (actor.place_number() == 0) actor.call().decide(actor.team());
  actor.meet();
}

// Meets in stages, whatever the collective, so that members notice that they call different ones. All
// places that know the same after a stage compare the same keys in the next one, so all find the
// same. After that all posts can be read without a wait. True: the calls agree.
bool meet_in_stages(Actor& actor) {
  uint64_t key = actor.mine().key;
  const bool takes_data_along = key != kMixed && goes_in_stages(actor.call());
  for (size_t s = 0; s < actor.team().stage_count(); ++s) {
    actor.staged_post(actor.place_number(), s).key = key;
    actor.exchange_stage(s);
    for (const int p : actor.stage(s).from) {
      if (actor.staged_post(p, s).key != key) key = kMixed;
    }
    if (takes_data_along && key != kMixed) combine_stage(actor, s);
  }
  return key != kMixed;
}

void move_data(Actor& actor) {
  if (actor.call().decide != nullptr) [[unlikely]]
    return decide(actor);
  switch (actor.call().coll) {
    case Coll::kBarrier:
      return;
    case Coll::kAllreduce:
      return conclude(actor);
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      return scatter_reduced(actor);
    case Coll::kAllgatherv:
    case Coll::kAlltoallv:
      return move_uneven(actor);
    default:
      return is_packed(actor.team(), actor.call()) ? unpack_blocks(actor)
                                                   : copy_blocks(actor);
  }
}

void prepare_data(Actor& actor) {
  if (actor.call().decide != nullptr) [[unlikely]]
    return;
  switch (actor.call().coll) {
    case Coll::kBarrier:
      return;
    case Coll::kAllreduce:
      return contribute(actor);
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      return contribute_parts(actor);
    case Coll::kAllgatherv:
    case Coll::kAlltoallv:
      return pack_uneven(actor);
    default:
      if (is_packed(actor.team(), actor.call())) pack_blocks(actor);
  }
}

void act(Actor& actor) {
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]] {
    trace::begin(kAct, {trace::text(name_of(actor.call().coll)), actor.call().bytes()});
  }
  const uint64_t key = key_of_place(actor);
  actor.mine().key = key;
  if (key != kMixed) prepare_data(actor);
  const bool has_stages = actor.team().has_stages();
  bool is_agreed;
  if (has_stages) {
    is_agreed = meet_in_stages(actor);
  } else {
    actor.exchange_posts();
    is_agreed = all_say_the_same(actor);
  }
  if (!is_agreed) [[unlikely]] {
    complain(actor);
  } else if (!has_stages || !goes_in_stages(actor.call())) {
    move_data(actor);
  }
  if (is_traced) [[unlikely]]
    trace::end(kAct);
}

// A step of the member, and what came of the whole collective.
template <class Step>
Outcome finish_with(Member& me, Team& team, Step step) {
  me.has_mismatch = false;
  me.truncated_by = -1;
  step();
  me.done_by_all = me.epoch - 1;  // all members have arrived at this one
  const Place& place = team.place(me.place);
  if (me.has_mismatch) [[unlikely]]
    return {&place.complaint, place.calls_differ, me.truncated_by, -1};
  return {nullptr, false, me.truncated_by, -1};
}

// A member that is alone at its place acts for it from here on.
Outcome act_alone(Team& team, int member, job::Rank& self, const sched::WaitReason& why,
                  void (*step)(Actor&)) {
  return finish_with(team.member(member), team, [&] {
    Actor actor(team, member, self, why);
    step(actor);
  });
}

}  // namespace

Outcome run_at_place(Team& team, int member, job::Rank& self,
                     const sched::WaitReason& why) {
  return finish_with(team.member(member), team, [&] {
    if (!arrive(team, member, self, why)) return;
    Actor actor(team, member, self, why);
    act(actor);
    actor.release_place();
  });
}

Outcome complain_alone(Team& team, int member, job::Rank& self,
                       const sched::WaitReason& why) {
  return act_alone(team, member, self, why, complain);
}

Outcome copy_alone(Team& team, int member, job::Rank& self,
                   const sched::WaitReason& why) {
  return act_alone(team, member, self, why, copy_blocks);
}

}  // namespace mpc::nbc::direct
