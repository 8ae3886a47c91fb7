#include "nbc/direct/team.h"

#include <algorithm>

#include "base/settings.h"
#include "runtime/message/message.h"
#include "scheduler/execution.h"
#include "scheduler/origin.h"

namespace mpc::nbc::direct {

namespace {

IntSetting group_setting{"nbc.meeting_group",
                         0,
                         "cores",
                         "Cores of a blocking collective without messages that look at "
                         "the memory of each other; more meet in "
                         "stages, in groups of at most so many, then groups of groups; "
                         "0: what the model of lines says",
                         0,
                         1024};

}  // namespace

// ---- Team --------------------------------------------------------------------------------

Team::Team(std::span<const int> place_of_member, std::span<const int> domain_of_member)
    : members_(place_of_member.size()) {
  std::vector<int> numbers;  // place numbers, in the order of their first members
  std::vector<int> domains;
  for (size_t m = 0; m < members_.size(); ++m) {
    const auto found = std::find(numbers.begin(), numbers.end(), place_of_member[m]);
    const auto p = static_cast<size_t>(found - numbers.begin());
    if (found == numbers.end()) {
      numbers.push_back(place_of_member[m]);
      places_.push_back(std::make_unique<Place>());
      if (!domain_of_member.empty()) domains.push_back(domain_of_member[m]);
    }
    if (p + 1 != places_.size()) is_in_rank_order_ = false;
    members_[m].place = static_cast<int>(p);
    place_of_.push_back(static_cast<int>(p));
    places_[p]->members.push_back(static_cast<int>(m));
    largest_place_ =
        std::max(largest_place_, static_cast<int>(places_[p]->members.size()));
  }
  for (const auto& place : places_) place->receivers.resize(place->members.size());
  plan(domains);
}

void Team::plan(std::span<const int> domains) {
  const auto wish = static_cast<int>(group_setting.get());
  largest_group_ = wish != 0 ? std::max(2, wish) : best_radix(place_count());
  if (place_count() <= largest_group_) return;
  std::vector<Stages> stages = plan_stages(place_count(), largest_group_, domains);
  stage_count_ = stages.front().size();
  for (int p = 0; p < place_count(); ++p) {
    place(p).stages = std::move(stages[static_cast<size_t>(p)]);
    place(p).later_posts = std::make_unique<Place::Apart[]>(2 * stage_count_ - 2);
  }
}

int Team::arrived(uint64_t exchange) const noexcept {
  uint64_t count = 0;
  for (const auto& place : places_) {
    if (place->members.size() == 1) {  // it does not count arrivals; see arrive()
      const uint64_t round = exchange * kRounds;
      if (place->posts[0].round.load(std::memory_order_relaxed) >= round ||
          place->posts[1].round.load(std::memory_order_relaxed) >= round ||
          place->round.load(std::memory_order_relaxed) >= round)
        ++count;
      continue;
    }
    const uint64_t before = (exchange - 1) * place->members.size();
    const uint64_t arrivals = place->arrived.load(std::memory_order_relaxed);
    if (arrivals > before) count += std::min(arrivals - before, place->members.size());
  }
  return static_cast<int>(count);
}

Track* Team::make_tracks() {
  std::call_once(making_tracks_, [this] {
    owned_tracks_ = std::make_unique<Track[]>(members_.size());
    tracks_.store(owned_tracks_.get(), std::memory_order_release);
  });
  return owned_tracks_.get();
}

Trail* Team::make_trails() {
  std::call_once(making_trails_, [this] {
    owned_trails_ = std::make_unique<Trail[]>(members_.size());
    trails_.store(owned_trails_.get(), std::memory_order_release);
  });
  return owned_trails_.get();
}

Later& Team::make_later() {
  std::call_once(making_later_, [this] {
    owned_later_ = std::make_unique<Later>(place_of_);
    later_.store(owned_later_.get(), std::memory_order_release);
  });
  return *owned_later_;
}

// ---- waiting -----------------------------------------------------------------------------

namespace {

// Waits for a flag to reach a number.
struct FlagWait {
  const std::atomic<uint64_t>& flag;
  uint64_t number;
  Sleeper& sleeper;

  // seq_cst: see Sleeper::arm(); acquire for what was written before the flag.
  bool holds() const noexcept { return flag.load(std::memory_order_seq_cst) >= number; }

  void wait(job::Rank& self, const sched::WaitReason& why) {
    if (holds()) return;
    msg::wait_for(
        self,
        {[](void* w) { return static_cast<FlagWait*>(w)->holds(); },
         [](void* w, sched::Execution& waiter) {
           static_cast<FlagWait*>(w)->sleeper.arm(waiter);
         },
         [](void* w) { static_cast<FlagWait*>(w)->sleeper.disarm(); }, this, true},
        why);
  }
};

}  // namespace

void wait_for_flag(const std::atomic<uint64_t>& flag, uint64_t number, Sleeper& sleeper,
                   job::Rank& self, const sched::WaitReason& why) {
  FlagWait{flag, number, sleeper}.wait(self, why);
}

bool arrive(Team& team, int member, job::Rank& self, const sched::WaitReason& why) {
  Member& me = team.member(member);
  Place& place = team.place(me.place);
  const uint64_t exchange = me.exchanges;
  const uint64_t all = place.members.size();
  // acq_rel: the last one sees what the others have written; release for the one after us.
  if (all == 1) return true;
  if (place.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == exchange * all)
    return true;
  FlagWait{place.released, exchange, me.sleeper}.wait(self, why);
  return false;
}

// ---- Actor -------------------------------------------------------------------------------

Actor::Actor(Team& team, int member, job::Rank& self,
             const sched::WaitReason& why) noexcept
    : team_(team),
      me_(team.member(member)),
      place_(team.place(me_.place)),
      self_(self),
      why_(why),
      place_number_(me_.place),
      exchange_(me_.exchanges),
      round_(exchange_ * kRounds) {}

// Waits for the others' flags, after setting its own. A member that sees all flags set wakes those
// that sleep. The last one in the single order of the seq_cst stores does see them all, and a
// sleeper that arms after that load sees all flags itself.
template <class FlagOf>
void Actor::await_others(FlagOf flag_of) {
  const int places = team_.place_count();
  bool all_there = true;
  for (int p = 0; p < places && all_there; ++p)
    all_there = flag_of(p).load(std::memory_order_seq_cst) >= round_;
  for (int p = 0; p < places; ++p) {
    if (p == place_number_) continue;
    if (all_there) {
      team_.place(p).sleeper.wake();
    } else {
      FlagWait{flag_of(p), round_, place_.sleeper}.wait(self_, why_);
    }
  }
}

void Actor::exchange_posts() {
  if (team_.place_count() == 1) return;
  mine().round.store(round_, std::memory_order_seq_cst);
  await_others([&](int p) -> std::atomic<uint64_t>& { return post_of(p).round; });
}

// Whether all that this place reads in the stage is there.
bool Actor::has_stage(int place, size_t s) noexcept {
  for (const int p : team_.place(place).stages[s].from) {
    if (staged_post(p, s).round.load(std::memory_order_seq_cst) < round_) return false;
  }
  return true;
}

// The same protocol as in await_others() for each reader: of the places that a reader waits for, the
// last one in the order of the seq_cst stores sees all of their posts, and wakes it.
void Actor::exchange_stage(size_t s) {
  if (stage(s).from.size() == 1) return;
  staged_post(place_number_, s).round.store(round_, std::memory_order_seq_cst);
  for (const int reader : stage(s).readers) {
    if (has_stage(reader, s)) team_.place(reader).sleeper.wake();
  }
  if (has_stage(place_number_, s)) return;
  struct Wait {
    Actor& actor;
    size_t stage;
  } wait{*this, s};
  msg::wait_for(self_,
                {[](void* w) {
                   const auto& [actor, number] = *static_cast<Wait*>(w);
                   return actor.has_stage(actor.place_number_, number);
                 },
                 [](void* w, sched::Execution& waiter) {
                   static_cast<Wait*>(w)->actor.place_.sleeper.arm(waiter);
                 },
                 [](void* w) { static_cast<Wait*>(w)->actor.place_.sleeper.disarm(); },
                 &wait, true},
                why_);
}

void Actor::meet() {
  ++round_;
  if (team_.place_count() == 1) return;
  if (team_.has_stages()) {
    for (size_t s = 0; s < team_.stage_count(); ++s) exchange_stage(s);
    return;
  }
  place_.round.store(round_, std::memory_order_seq_cst);
  await_others([&](int p) -> std::atomic<uint64_t>& { return team_.place(p).round; });
}

unsigned char* Actor::room_for(size_t bytes, size_t stage) {
  if (bytes <= Post::kInlineBytes) return staged_post(place_number_, stage).data;
  if (place_.scratch == nullptr)
    place_.scratch.reset(new unsigned char[2 * kScratchBytes *
                                           std::max<size_t>(1, team_.stage_count())]);
  return place_.scratch.get() + (2 * stage + (exchange_ & 1)) * kScratchBytes;
}

void Actor::release_place() noexcept {
  if (place_.members.size() == 1) return;
  place_.released.store(exchange_, std::memory_order_seq_cst);
  for (const int m : place_.members) {
    if (&team_.member(m) != &me_) team_.member(m).sleeper.wake();
  }
  sched::return_to_origin();
}

}  // namespace mpc::nbc::direct
