#include "tools/mpclaunch/head.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "runtime/wireup/handler_grace.h"

namespace mpc::launch {
namespace {

using wireup::Order;
using wireup::Report;
using wireup::TableQuestion;
using wireup::Verdict;

// How often a job in the background of its terminal checks whether it is in the foreground again.
constexpr uint64_t kLookAtTerminalNs = 500 * kMs;
// After this time processes that were killed on other hosts count as ended, whatever is heard of
// them.
constexpr uint64_t kAbandonNs = 1000 * kMs;

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("died of signal {} ({})", WTERMSIG(wait_status),
                       ::strsignal(WTERMSIG(wait_status)));
  return fmt::format("ended with status {} before its ranks had ended",
                     WEXITSTATUS(wait_status));
}

// Adds the host to the text, because the reason why a program cannot start may hold on one host
// only.
std::string with_host(const Process& process, int status, std::string text) {
  constexpr std::string_view kBegin = "mpcrun: ", kOfRank = "mpcrun: rank";
  const bool is_of_start = status == job::kExitNotFound || status == job::kExitLaunch ||
                           status == job::kExitNotExecutable ||
                           status == job::kExitUsage;
  if (!is_of_start || process.host_name.empty() || !text.starts_with(kBegin) ||
      text.starts_with(kOfRank))
    return text;
  return text.insert(kBegin.size(), "host " + process.host_name + ": ");
}

int here_in(const Plan& plan) {
  for (size_t host = 0; host < plan.hosts.size(); ++host)
    if (plan.hosts[host].is_here) return static_cast<int>(host);
  return -1;
}

}  // namespace

Head::Head(Launch launch, const sigset_t& signals, const sigset_t& before)
    : launch_(std::move(launch)),
      plan_(launch_.plan),
      here_(here_in(plan_)),
      before_(before),
      processes_(processes_of(plan_)),
      table_(
          processes_.size(),
          [this](size_t index) {
            order(processes_[index], Order::kAskTable);
            return processes_[index].is_running;
          },
          [this](TableQuestion::Why why, const std::string& table) {
            take_table(why, table);
          }),
      children_(
          loop_,
          [this](int process, const wireup::RecordHead& head, std::string text) {
            take_record(process, head, std::move(text));
          },
          [this](int process, int wait_status) { judge(process, wait_status); }),
      hosts_(
          loop_, plan_,
          [this](int host, Frame kind, std::string_view payload) {
            take_frame(host, kind, payload);
          },
          [this](int host, const std::string& problem) { lose_host(host, problem); }),
      exchange_(loop_, plan_, here_,
                [this](int host, Frame kind, const Packer& payload) {
                  hosts_.send(host, kind, payload);
                }),
      output_(
          loop_,
          [this](int host, size_t bytes) {
            hosts_.send(host, Frame::kOutputTaken,
                        Packer().number(static_cast<int64_t>(bytes)));
          },
          [this](int fd, int error) { lose_output(fd, error); }),
      input_(loop_,
             [this](std::string_view text) {
               hosts_.send(plan_.host_of(0), Frame::kInput, Packer().text(text));
             }),
      signals_(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC)) {
  // Watched last: a report of a process counts before its end.
  loop_.watch_last(signals_, [this] { take_signals(); });
}

Head::~Head() { ::close(signals_); }

int Head::run() {
  if (auto started = start_all(); !started) {
    verdict_.end(job::kExitLaunch, "mpcrun: " + started.error().message);
    kill_all(true);
  }
  while (has_running()) turn();
  // The processes' output is written before the report; a reader that has stopped reading does not
  // hold up a job that failed.
  const uint64_t end_ns = now_ns() + Verdict::kPatienceNs;
  while (has_reader_ && !output_.is_drained() &&
         !(verdict_.is_ending() && now_ns() >= end_ns))
    loop_.turn(verdict_.is_ending() ? 100 : -1);
  job::console::be_alone();
  job::console::say(verdict_.messages());
  return verdict_.status();
}

bool Head::has_running() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return process.is_running; });
}

// --- events -------------------------------------------------------------------------------------

void Head::turn() {
  loop_.turn(ms_to_next_deadline());
  keep_deadlines();
}

void Head::take_record(int index, const wireup::RecordHead& head, std::string text) {
  Process& process = processes_[static_cast<size_t>(index)];
  switch (static_cast<Report>(head.kind)) {
    case Report::kDeath:
      if (take_death(process, head.status, text)) break;
      [[fallthrough]];
    case Report::kEnding:
      if (verdict_.end(head.status, with_host(process, head.status, std::move(text))))
        end_all(Order::kEndSoon);
      break;
    case Report::kCrash:
      if (take_crash(process) || !verdict_.end_by_crash(index)) break;
      kill_reporter_ns_ = now_ns() + Verdict::kPatienceWithReportNs;
      end_all(Order::kEndSoon);
      break;
    case Report::kFailure:
      verdict_.note_failure(head.status, std::move(text));
      break;
    case Report::kRefusal:
      verdict_.note_refusal(head.status, std::move(text));
      break;
    case Report::kBroken:
      take_broken(head.status - 1, std::move(text));
      break;
    case Report::kTable:
      table_.take(static_cast<size_t>(index), text);
      break;
    case Report::kFinished:
      process.has_finished = true;
      break;
    case Report::kJoined:
      process.has_joined = true;
      look_for_missing();
      break;
    case Report::kStayedOut:
      process.has_finished = true;
      process.stayed_out = std::move(text);
      look_for_missing();
      break;
    case Report::kGate:
      arrive(process, head.status);
      break;
    case Report::kFinalized:  // for a shim
    case Report::kWritten:    // for a process that stands in for a launcher
    case Report::kAskTables:
      break;
  }
}

// Ranks that call MPI_Init wait for all ranks. If one has ended without calling it, they would
// wait for ever.
void Head::look_for_missing() {
  const auto missing =
      std::find_if(processes_.begin(), processes_.end(),
                   [](const Process& process) { return !process.stayed_out.empty(); });
  const auto joined =
      std::find_if(processes_.begin(), processes_.end(),
                   [](const Process& process) { return process.has_joined; });
  if (missing == processes_.end() || joined == processes_.end()) return;
  if (verdict_.end(1, fmt::format("{}, and rank {} waits for it; the job is ended",
                                  missing->stayed_out, joined->first_rank)))
    end_all(Order::kEndSoon);
}

void Head::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info)
    take_signal(static_cast<int>(info.ssi_signo));
}

void Head::take_signal(int signal) {
  if (signal == SIGCHLD)
    return children_.reap(
        [this](pid_t pid, int wait_status) { hosts_.agent_ended(pid, wait_status); });
  if (signal == SIGQUIT) return ask_table(TableQuestion::Why::kUser);
  if (signal == SIGUSR1 || signal == SIGUSR2) return give_to_all(signal);
  if (is_interrupted_) {  // the second one: at once
    kill_all(true);
    ::_exit(job::kExitSignal + signal);
  }
  is_interrupted_ = true;
  verdict_.end(job::kExitSignal + signal,
               fmt::format("mpcrun: {}: the job is ended", ::strsignal(signal)));
  end_all(Order::kEndNow, signal);
}

// What a signal of the user's means only the ranks know.
void Head::give_to_all(int signal) {
  for (const Process& process : processes_) {
    if (!process.is_running) continue;
    if (process.host == here_)
      children_.signal(process.index, signal);
    else
      hosts_.send(process.host, Frame::kSignal,
                  Packer().number(process.index).number(signal));
  }
}

// --- the end of processes -----------------------------------------------------------------------

void Head::judge(int index, int wait_status) {
  Process& process = processes_[static_cast<size_t>(index)];
  process.is_running = false;
  table_.lose(static_cast<size_t>(index));
  verdict_.end_of(index, status_of(wait_status));
  const bool is_regular = !WIFSIGNALED(wait_status) && process.death.empty();
  if (process.has_finished && is_regular) return open_gates();
  if (survives_losses())
    return lose(process, status_of(wait_status), how_it_ended(wait_status));
  const int status = std::max(status_of(wait_status), 1);
  // The reader of the job's output is gone (mpcrun ... | head): nothing is reported.
  if (status == job::kExitSignal + SIGPIPE && !verdict_.is_ending())
    return lose_reader();
  if (verdict_.end(status, fmt::format("mpcrun: {} {}; the job is ended",
                                       process.name(), how_it_ended(wait_status))))
    end_all(Order::kEndSoon);
}

void Head::end_all(Order what, int signal) {
  for (const Process& process : processes_) order(process, what, signal);
  const uint64_t patience_ns =
      signal != 0 ? wireup::handler_patience_ns() : Verdict::kPatienceNs;
  if (kill_ns_ == 0) kill_ns_ = now_ns() + patience_ns;
}

void Head::order(const Process& process, Order what, int status) {
  if (!process.is_running) return;
  if (process.host == here_) return children_.order(process.index, what, status);
  hosts_.send(
      process.host, Frame::kOrder,
      Packer().number(process.index).number(static_cast<int>(what)).number(status));
}

void Head::kill_all(bool also_reporter) {
  const int spared = also_reporter ? -1 : verdict_.crashed_process();
  children_.kill(-1, spared);
  for (const Process& process : processes_)
    if (process.is_running && process.host != here_ && process.index != spared)
      hosts_.send(process.host, Frame::kKill, Packer().number(process.index));
}

// --- times --------------------------------------------------------------------------------------

int Head::ms_to_next_deadline() const {
  const Deadline look_at_terminal_ns =
      input_.is_paused() ? now_ns() + kLookAtTerminalNs : 0;
  return ms_to_first({timeout_ns_, table_.deadline_ns(), broken_ns_, kill_ns_,
                      kill_reporter_ns_, abandon_ns_, look_at_terminal_ns,
                      first_kill_ns()});
}

void Head::keep_deadlines() {
  input_.look_again();
  const uint64_t now = now_ns();
  if (take_if_over(timeout_ns_, now)) ask_table(TableQuestion::Why::kTimeout);
  table_.keep_deadline(now);
  // Once a process has finished all ranks have ended: it may leave before others do.
  const bool has_finished =
      std::any_of(processes_.begin(), processes_.end(),
                  [](const Process& process) { return process.has_finished; });
  if (take_if_over(broken_ns_, now) && !has_finished &&
      verdict_.end(job::kExitLaunch, broken_))
    end_all(Order::kEndNow);
  if (take_if_over(kill_ns_, now)) {
    kill_all(false);
    if (kill_reporter_ns_ == 0) abandon_ns_ = now + kAbandonNs;
  }
  if (take_if_over(kill_reporter_ns_, now)) {
    kill_all(true);
    abandon_ns_ = now + kAbandonNs;
  }
  if (take_if_over(abandon_ns_, now)) abandon_others();
  for (Process& process : processes_)
    if (take_if_over(process.kill_ns, now)) kill(process);
}

// --- what each rank does ------------------------------------------------------------------------

void Head::ask_table(TableQuestion::Why why) {
  if (verdict_.is_ending()) return;
  if (is_started_) return table_.begin(why);
  take_table(why,
             fmt::format("no rank has been started: no daemon has connected from {}",
                         hosts_.missing()));
}

void Head::take_table(TableQuestion::Why why, const std::string& table) {
  if (why == TableQuestion::Why::kUser)
    return job::console::say("mpcrun: state of the job\n" + table);
  verdict_.end(job::kExitTimeout,
               fmt::format("mpcrun: --timeout: the job ran for {} s; it is ended\n{}",
                           launch_.timeout_seconds, table));
  end_all(Order::kEndNow);
}

}  // namespace mpc::launch
