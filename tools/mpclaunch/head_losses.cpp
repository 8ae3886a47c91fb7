// What a Head does where the job goes on when a process dies (mpcrun --on-fail notify): who is lost is
// told to all others in one order, and who lives meets at gates.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/console.h"
#include "tools/mpclaunch/head.h"

namespace mpc::launch {
namespace {

using wireup::Gate;
using wireup::Order;

// Where the job goes on: so long until the end of a process explains a network that is broken.
constexpr uint64_t kLongBrokenNs = 8000 * kMs;

unsigned bit_of(int gate) noexcept { return 1u << gate; }

// "...; the job is ended" is said by who does not know better.
std::string without_end_of_job(std::string text) {
  constexpr std::string_view kEnd = "; the job is ended";
  if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
  return text;
}

}  // namespace

// Before all are there a death ends the job: the others wait for all in MPI_Init.
bool Head::survives(const Process& process) const {
  return launch_.goes_on && !verdict_.is_ending() && !process.has_finished &&
         (open_gates_ & bit_of(static_cast<int>(Gate::kInit))) != 0;
}

// It says that it is about to end. It is lost when it has ended: until then it may still write. Its
// command may have more to do; but its rank has gone.
bool Head::take_death(Process& process, int, std::string text) {
  if (!survives(process)) return false;
  process.death = without_end_of_job(std::move(text));
  order(process, Order::kEndSoon);
  return true;
}

void Head::lose(Process& process, int status, const std::string& how) {
  process.is_lost = true;
  const std::string what =
      !process.death.empty()
          ? process.death
          : fmt::format("mpcrun: {} {}", process.name(), without_end_of_job(how));
  // Now, since the job may go on for long. At its end there is nothing more to say of it.
  job::console::say(what + "; the others go on\n");
  verdict_.note_failure(std::max(status, 1), "");
  if (broken_peer_ < 0 || broken_peer_ == process.index) broken_ns_ = 0;  // explained
  for (const Process& other : processes_) order(other, Order::kLost, process.index);
  open_gates();
}

// Somebody cannot reach a process any more. A death explains it, the one that is known or one that is
// about to be; without one those that live cannot reach each other.
void Head::take_broken(int peer, std::string text) {
  const bool is_lost = peer < 0
                           ? std::any_of(processes_.begin(), processes_.end(),
                                         [](const Process& p) { return p.is_lost; })
                           : static_cast<size_t>(peer) < processes_.size() &&
                                 processes_[static_cast<size_t>(peer)].is_lost;
  if (broken_ns_ != 0 || is_lost) return;
  broken_ = std::move(text);
  broken_peer_ = peer;
  broken_ns_ =
      now_ns() + (launch_.goes_on ? kLongBrokenNs : wireup::Verdict::kBrokenNs);
}

void Head::arrive(Process& process, int gate) {
  if (gate < 0 || gate >= wireup::kGates) return;
  process.gates |= bit_of(gate);
  open_gates();
}

// Those that live have arrived; who has ended regularly has passed them all.
void Head::open_gates() {
  for (int gate = 0; gate < wireup::kGates; ++gate) {
    if ((open_gates_ & bit_of(gate)) != 0) continue;
    const bool is_reached =
        std::any_of(processes_.begin(), processes_.end(), [&](const Process& p) {
          return p.is_running && (p.gates & bit_of(gate)) != 0;
        });
    const bool is_waited_for =
        std::any_of(processes_.begin(), processes_.end(), [&](const Process& p) {
          return p.is_running && !p.has_finished && (p.gates & bit_of(gate)) == 0;
        });
    if (!is_reached || is_waited_for) continue;
    open_gates_ |= bit_of(gate);
    for (const Process& process : processes_) order(process, Order::kPass, gate);
  }
}

}  // namespace mpc::launch
