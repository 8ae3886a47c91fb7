#include "tools/mpclaunch/head.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"

namespace mpc::launch {
namespace {

using wireup::Order;
using wireup::Report;

constexpr uint64_t kMs = 1'000'000;
// Longer than job.grace_ms lets ranks go on at most; a crash's report looks for lines of source.
constexpr uint64_t kPatienceNs = 2500 * kMs, kPatienceWithReportNs = 15'000 * kMs;
// Longer than a process waits for the others' rows.
constexpr uint64_t kTablesNs = 3000 * kMs;
// So long until the end of a process explains a network that is broken.
constexpr uint64_t kBrokenNs = 300 * kMs;

uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs +
         static_cast<uint64_t>(now.tv_nsec);
}

int status_of(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? job::kExitSignal + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("died of signal {} ({})", WTERMSIG(wait_status),
                       ::strsignal(WTERMSIG(wait_status)));
  return fmt::format("ended with status {} before its ranks had ended",
                     WEXITSTATUS(wait_status));
}

}  // namespace

Head::Head(double timeout_seconds, const sigset_t& signals)
    : signals_(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC)),
      timeout_seconds_(timeout_seconds) {
  if (timeout_seconds > 0)
    timeout_ns_ = now_ns() + static_cast<uint64_t>(timeout_seconds * 1e9);
}

Head::~Head() { ::close(signals_); }

void Head::give_up(const std::string& message) {
  verdict_.end(job::kExitLaunch, message);
  kill_all(true);
}

int Head::run() {
  while (has_running()) {
    look(ms_to_next_deadline());
    keep_deadlines();
  }
  job::console::be_alone();
  job::console::say(verdict_.messages());
  return verdict_.status();
}

bool Head::has_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.is_running; });
}

// --- what comes ---------------------------------------------------------------------------------

void Head::look(int timeout_ms) {
  std::vector<pollfd> wanted = {{signals_, POLLIN, 0}};
  for (const Child& child : children_)  // poll() leaves out what is negative
    wanted.push_back({child.is_running ? child.socket : -1, POLLIN, 0});
  if (::poll(wanted.data(), wanted.size(), timeout_ms) <= 0) return;
  for (size_t i = 0; i < children_.size(); ++i)
    if (wanted[i + 1].revents != 0) take_records(children_[i]);
  if (wanted[0].revents != 0) take_signals();
}

void Head::take_records(Child& child) {
  std::string buffer(sizeof(wireup::RecordHead) + wireup::kMostTextBytes, '\0');
  for (;;) {
    const ssize_t bytes =
        ::recv(child.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < static_cast<ssize_t>(sizeof(wireup::RecordHead))) {
      if (bytes == 0) {  // it has ended, or has closed it; SIGCHLD tells
        ::close(child.socket);
        child.socket = -1;
      }
      return;
    }
    wireup::RecordHead head;
    ::memcpy(&head, buffer.data(), sizeof head);
    take_record(child, head,
                buffer.substr(sizeof head, static_cast<size_t>(bytes) - sizeof head));
  }
}

void Head::take_record(Child& child, const wireup::RecordHead& head, std::string text) {
  switch (static_cast<Report>(head.kind)) {
    case Report::kEnding:
      if (verdict_.end(head.status, std::move(text))) end_all(Order::kEndSoon);
      break;
    case Report::kCrash:
      if (!verdict_.end_by_crash(child.index)) break;
      kill_reporter_ns_ = now_ns() + kPatienceWithReportNs;
      end_all(Order::kEndSoon);
      break;
    case Report::kFailure:
      verdict_.note_failure(head.status, std::move(text));
      break;
    case Report::kRefusal:
      verdict_.note_refusal(head.status, std::move(text));
      break;
    case Report::kBroken:
      if (broken_ns_ != 0) break;
      broken_ = std::move(text);
      broken_ns_ = now_ns() + kBrokenNs;
      break;
    case Report::kTable:
      child.table = std::move(text);
      child.owes_table = false;
      use_tables();
      break;
    case Report::kFinished:
      child.has_finished = true;
      break;
    case Report::kWritten:  // for who stands in for a launcher
    case Report::kAskTables:
      break;
  }
}

void Head::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info)
    take_signal(static_cast<int>(info.ssi_signo));
}

void Head::take_signal(int signal) {
  if (signal == SIGCHLD) return reap();
  if (signal == SIGQUIT) return ask_tables(Asking::kQuestion);
  if (is_interrupted_) {  // the second one: at once
    kill_all(true);
    ::_exit(job::kExitSignal + signal);
  }
  is_interrupted_ = true;
  verdict_.end(job::kExitSignal + signal,
               fmt::format("mpcrun: {}: the job is ended", ::strsignal(signal)));
  end_all(Order::kEndNow);
}

// --- the end of processes -----------------------------------------------------------------------

void Head::reap() {
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto child = std::find_if(children_.begin(), children_.end(),
                                    [pid](const Child& c) { return c.pid == pid; });
    if (child != children_.end()) judge(*child, wait_status);
  }
}

void Head::judge(Child& child, int wait_status) {
  if (child.socket >= 0) take_records(child);  // its last words
  if (child.socket >= 0) ::close(child.socket);
  child.socket = -1;
  child.is_running = false;
  child.owes_table = false;
  use_tables();
  verdict_.end_of(child.index, status_of(wait_status));
  if (child.has_finished && !WIFSIGNALED(wait_status)) return;
  const int status = std::max(status_of(wait_status), 1);
  // Who reads the job's output has gone (mpcrun ... | head): nobody is to be told.
  if (status == job::kExitSignal + SIGPIPE) {
    if (verdict_.end(status, "")) end_all(Order::kEndNow);
    return;
  }
  if (verdict_.end(status, fmt::format("mpcrun: {} {}; the job is ended", child.name(),
                                       how_it_ended(wait_status))))
    end_all(Order::kEndSoon);
}

void Head::end_all(Order order) {
  for (const Child& child : children_) child.order(order);
  if (kill_ns_ == 0) kill_ns_ = now_ns() + kPatienceNs;
}

void Head::kill_all(bool also_reporter) {
  for (const Child& child : children_) {
    const bool is_reporter = child.index == verdict_.crashed_process();
    if (child.is_running && (also_reporter || !is_reporter)) ::kill(child.pid, SIGKILL);
  }
}

// --- times --------------------------------------------------------------------------------------

int Head::ms_to_next_deadline() const {
  uint64_t next = UINT64_MAX;
  for (const uint64_t time :
       {timeout_ns_, tables_ns_, broken_ns_, kill_ns_, kill_reporter_ns_})
    if (time != 0) next = std::min(next, time);
  if (next == UINT64_MAX) return -1;
  const uint64_t now = now_ns();
  return next <= now
             ? 0
             : static_cast<int>(std::min<uint64_t>((next - now) / kMs + 1, 60'000));
}

void Head::keep_deadlines() {
  const uint64_t now = now_ns();
  const auto is_over = [now](uint64_t& time) {
    const bool is = time != 0 && time <= now;
    if (is) time = 0;
    return is;
  };
  if (is_over(timeout_ns_)) ask_tables(Asking::kTimeout);
  if (is_over(tables_ns_)) {
    for (Child& child : children_) child.owes_table = false;
    use_tables();
  }
  if (is_over(broken_ns_) && verdict_.end(job::kExitLaunch, broken_))
    end_all(Order::kEndNow);
  if (is_over(kill_ns_)) kill_all(false);
  if (is_over(kill_reporter_ns_)) kill_all(true);
}

// --- what each rank does ------------------------------------------------------------------------

void Head::ask_tables(Asking why) {
  if (verdict_.is_ending()) return;
  asking_ = std::max(asking_, why);
  asked_ = 0;
  for (Child& child : children_) {
    child.owes_table = false;
    child.table.clear();
  }
  use_tables();
}

// One process tells the table of all: it asks the others itself. False: all have been asked.
bool Head::ask_next() {
  while (asked_ < children_.size()) {
    Child& child = children_[asked_++];
    if (!child.is_running) continue;
    child.owes_table = true;
    child.order(Order::kAskTable);
    tables_ns_ = now_ns() + kTablesNs;
    return true;
  }
  return false;
}

// When the one that was asked has answered, or is late: then the next one is asked.
void Head::use_tables() {
  if (asking_ == Asking::kNothing ||
      std::any_of(children_.begin(), children_.end(),
                  [](const Child& child) { return child.owes_table; }))
    return;
  const auto told =
      std::find_if(children_.begin(), children_.end(),
                   [](const Child& child) { return !child.table.empty(); });
  if (told == children_.end() && ask_next()) return;
  const std::string tables =
      told != children_.end() ? told->table : "  no process answers\n";
  tables_ns_ = 0;
  if (std::exchange(asking_, Asking::kNothing) == Asking::kQuestion)
    return job::console::say("mpcrun: state of the job\n" + tables);
  verdict_.end(job::kExitTimeout,
               fmt::format("mpcrun: --timeout: the job ran for {} s; it is ended\n{}",
                           timeout_seconds_, tables));
  end_all(Order::kEndNow);
}

}  // namespace mpc::launch
