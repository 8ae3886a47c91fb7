// The Head's work in a job that goes on when a process dies (mpcrun --on-fail notify): it tells
// all others which processes are lost, in one order, and lets the survivors meet at gates.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "tools/mpclaunch/head.h"

namespace mpc::launch {
namespace {

using wireup::Gate;
using wireup::Order;
using wireup::Verdict;

// If the job goes on: how long to wait for the end of a process that explains a broken network.
constexpr uint64_t kLongBrokenNs = 8000 * kMs;

unsigned bit_of(int gate) noexcept { return 1u << gate; }

// Removes "...; the job is ended", which a sender writes that does not know that the job goes on.
std::string without_end_of_job(std::string text) {
  constexpr std::string_view kEnd = "; the job is ended";
  if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
  return text;
}

// "ranks 2-3, 6 are"; the ranks of a host are in order.
std::string ranks_of(const std::vector<Process*>& processes) {
  std::string text;
  for (size_t i = 0; i < processes.size();) {
    const int first = processes[i]->first_rank;
    int last = processes[i]->last_rank;
    for (++i; i < processes.size() && processes[i]->first_rank == last + 1; ++i)
      last = processes[i]->last_rank;
    if (!text.empty()) text += ", ";
    text +=
        first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  const bool is_one =
      processes.size() == 1 && processes[0]->first_rank == processes[0]->last_rank;
  return (is_one ? "rank " : "ranks ") + text + (is_one ? " is" : " are");
}

}  // namespace

// A death before all have come ends the job, because the others wait for all in MPI_Init.
bool Head::survives_losses() const {
  return launch_.goes_on && !verdict_.is_ending() &&
         (open_gates_ & bit_of(static_cast<int>(Gate::kInit))) != 0;
}

// A process says that it is about to end. It counts as lost when it has ended: until then it may
// still write. Its command may have more to do, but its rank has ended.
bool Head::take_death(Process& process, int, std::string text) {
  if (!survives_losses()) return false;
  process.death = without_end_of_job(std::move(text));
  order(process, Order::kEndSoon);
  // A shim ends what is left of its command itself.
  if (!process.has_joined) process.kill_ns = now_ns() + Verdict::kPatienceWithReportNs;
  return true;
}

// The process prints the report.
bool Head::take_crash(Process& process) {
  if (!survives_losses()) return false;
  process.has_crashed = true;
  process.kill_ns = now_ns() + Verdict::kPatienceWithReportNs;
  return true;
}

void Head::kill(const Process& process) {
  if (!process.is_running) return;
  if (process.host == here_) return children_.kill(process.index);
  hosts_.send(process.host, Frame::kKill, Packer().number(process.index));
}

// 0: none.
Deadline Head::first_kill_ns() const {
  Deadline first = 0;
  for (const Process& process : processes_)
    if (process.kill_ns != 0 && (first == 0 || process.kill_ns < first))
      first = process.kill_ns;
  return first;
}

// A process whose rank had ended by itself has passed all gates: no other needs it, and none is told.
void Head::lose(Process& process, int status, const std::string& how) {
  process.is_lost = !process.has_finished;
  process.kill_ns = 0;
  std::string what = process.death;
  if (what.empty())
    what = fmt::format("mpcrun: {} {}", process.name(),
                       process.has_crashed ? "has crashed" : without_end_of_job(how));
  else if (!process.is_one_rank())
    what += fmt::format("; with it end ranks {}-{}, its process", process.first_rank,
                        process.last_rank);
  // Printed now, since the job may go on for long. At the end of the job it is not mentioned again.
  job::console::say(what + "; the others go on\n");
  verdict_.note_failure(std::max(status, 1), "");
  if (process.is_lost) announce(process);
  open_gates();
}

// A host's processes are lost all at once, including those whose ranks had ended: others may need
// them.
void Head::lose(const std::vector<Process*>& of_host, const std::string& problem) {
  for (Process* const process : of_host) {
    process->is_lost = true;
    if (!process->death.empty())
      job::console::say(process->death + "; the others go on\n");
  }
  job::console::say(
      fmt::format("{}: {} lost; the others go on\n", problem, ranks_of(of_host)));
  verdict_.note_failure(job::kExitLaunch, "");
  for (const Process* const process : of_host) announce(*process);
  open_gates();
}

void Head::announce(const Process& lost) {
  if (broken_peer_ < 0 || broken_peer_ == lost.index) broken_ns_ = 0;  // explained
  for (const Process& other : processes_) order(other, Order::kLost, lost.index);
}

// Some process cannot reach another one any more. A death explains that, either a known one or one
// that will be known soon. Without a death the survivors cannot reach each other.
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
  // For the second time, as MPI_Finalize does with mpi.check=full.
  if ((open_gates_ & bit_of(gate)) != 0) return order(process, Order::kPass, gate);
  open_gates();
}

// Opens gates at which all survivors have arrived; a process that has ended regularly has passed
// all gates.
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
