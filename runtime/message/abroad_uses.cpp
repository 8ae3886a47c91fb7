// The users of a connection with another job, and how it ends.
#include "runtime/message/abroad_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "runtime/job/losses.h"
#include "runtime/message/abroad.h"
#include "runtime/message/losses.h"
#include "runtime/message/message.h"
#include "runtime/wireup/door.h"
#include "scheduler/outside_work.h"

namespace mpc::msg::abroad {
namespace {

namespace neighbours = job::neighbours;
constexpr uint64_t kLeaveNs = 5'000 * kMs;  // the last messages may take this long

class ChildrenReason final : public sched::WaitReason {
 public:
  std::string text() const override {
    return "MPI_Finalize: waits for jobs that this one has spawned, and is connected "
           "with";
  }
};

std::string describe(const Neighbour& other) {
  return fmt::format("{}, process {}{}", other.program, other.pid,
                     other.host.empty() ? "" : " on host " + other.host);
}

}  // namespace

uint64_t Abroad::begin_use(int slot) {
  const Locked lock(lock_);
  Neighbour& other = at(slot);
  if (other.number == 0) return 0;
  ++other.uses;
  if (!other.is_ending) sched::begin_outside_work();
  return other.connection;
}

void Abroad::end_use(int slot, uint64_t connection, bool is_weak) noexcept {
  const Locked lock(lock_);
  Neighbour& other = at(slot);
  if (other.number == 0 || other.connection != connection) return;
  --(is_weak ? other.weak_uses : other.uses);
  if (!other.is_ending) sched::end_outside_work();
  tell_waiting();
}

void Abroad::weaken_use(int slot, uint64_t connection) noexcept {
  const Locked lock(lock_);
  Neighbour& other = at(slot);
  if (other.number == 0 || other.connection != connection) return;
  --other.uses;
  ++other.weak_uses;
  tell_waiting();
}

// --- jobs that this one has spawned -------------------------------------------------------------

void Abroad::note_child(int slot) noexcept {
  const Locked lock(lock_);
  Neighbour& other = at(slot);
  if (other.number != 0) other.is_child = true;
}

bool Abroad::has_child() {
  const Locked lock(lock_);
  return std::ranges::any_of(neighbours_, [](const Neighbour& each) {
    return each.is_child && each.uses > 0;
  });
}

void Abroad::tell_waiting() {
  for (job::Rank* const each : waiting_) notify(*each);
}

void Abroad::wait_for_children(job::Rank& self) {
  if (!has_child()) return;
  {
    const Locked lock(lock_);
    waiting_.push_back(&self);
    for (int slot = 1; slot <= neighbours::kMostSlots; ++slot)
      if (at(slot).is_child) bridge_->say_ending(slot);
  }
  const auto is_over = [](void* abroad) noexcept {
    return !static_cast<Abroad*>(abroad)->has_child();
  };
  wait_until(self, nullptr, 0, is_over, this, ChildrenReason());
  const Locked lock(lock_);
  std::erase(waiting_, &self);
}

// A rank here that waits for that job now waits forever, unless another job wakes it: from now on
// this can be a deadlock.
void Abroad::ending(int slot) noexcept {
  const Locked lock(lock_);
  Neighbour& other = at(slot);
  if (other.number == 0 || other.is_ending) return;
  other.is_ending = true;
  sched::end_outside_work(other.uses + other.weak_uses);
}

// --- its end ------------------------------------------------------------------------------------

void Abroad::gone(int slot, bool has_left) noexcept {
  Neighbour last;
  bool ends_this_job = false;
  {
    const Locked lock(lock_);
    if (is_leaving_) return;
    last = std::move(at(slot));
    at(slot) = Neighbour{};
    at(slot).is_calling = last.is_calling;
    ends_this_job = !has_left && last.uses != 0;
    // Not if this job ends: ranks that wait in MPI_Finalize would return as if nothing were wrong.
    if (!ends_this_job) tell_waiting();
  }
  neighbours::remove(slot);
  if (job::losses::are_neighbours_survived() && !ends_this_job) lose(slot, last);
  is_gone_(slot);
  if (!last.is_ending) sched::end_outside_work(last.uses + last.weak_uses);
  if (!ends_this_job) return;
  // Ranks of that job are members of communicators here: what ranks wait for can never come.
  job_.abort(1,
             fmt::format("mpc: a job that this one is connected with has ended without "
                         "MPI_Finalize or MPI_Comm_disconnect ({}); this job is ended, "
                         "too",
                         describe(last)));
}

// Its messages have all been delivered: what ranks still expect from it does not come.
void Abroad::lose(int slot, const Neighbour& last) {
  if (last.uses + last.weak_uses != 0) {
    const Locked lock(lock_);
    last_gone_ = fmt::format("{} has ended regularly, without MPI_Comm_disconnect",
                             describe(last));
  }
  const int process = neighbours::far_process(slot);
  note_broken(process);
  job::losses::announce(process);
}

std::string Abroad::last_gone() {
  const Locked lock(lock_);
  return last_gone_;
}

void Abroad::leave() noexcept {
  {
    const Locked lock(lock_);
    is_leaving_ = true;
  }
  lobby_->stop_listening();
  if (wireup::Door* const door = wireup::Door::existing()) door->on_talk(nullptr);
  bridge_->leave(kLeaveNs);
  const Locked lock(lock_);
  for (Neighbour& each : neighbours_) {
    if (each.number != 0 && !each.is_ending)
      sched::end_outside_work(each.uses + each.weak_uses);
    each = Neighbour{};
  }
}

std::string last_gone() {
  Abroad* const abroad = g_abroad.load(std::memory_order_acquire);
  return abroad != nullptr ? abroad->last_gone() : "";
}

uint64_t begin_use(int slot) {
  return g_abroad.load(std::memory_order_acquire)->begin_use(slot);
}

void end_use(int slot, uint64_t connection) noexcept {
  g_abroad.load(std::memory_order_acquire)->end_use(slot, connection, false);
}

void weaken_use(int slot, uint64_t connection) noexcept {
  g_abroad.load(std::memory_order_acquire)->weaken_use(slot, connection);
}

void note_child(int slot) noexcept {
  g_abroad.load(std::memory_order_acquire)->note_child(slot);
}

void wait_for_children(job::Rank& self) {
  if (Abroad* const abroad = g_abroad.load(std::memory_order_acquire))
    abroad->wait_for_children(self);
}

void end_weak_use(int slot, uint64_t connection) noexcept {
  g_abroad.load(std::memory_order_acquire)->end_use(slot, connection, true);
}

}  // namespace mpc::msg::abroad
