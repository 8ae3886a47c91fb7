#include "runtime/wireup/steward.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/service_thread.h"

namespace mpc::wireup {
namespace {

constexpr uint64_t kMs = 1'000'000;
// As tools/mpclaunch/head.cpp has them.
constexpr uint64_t kPatienceNs = 2500 * kMs, kPatienceWithReportNs = 15'000 * kMs;
// The first is longer than a process waits for the others' rows.
constexpr uint64_t kTablesNs = 3000 * kMs, kBrokenNs = 300 * kMs;
// A signal comes to all processes, and each asks for the tables.
constexpr uint64_t kSameQuestionNs = 1000 * kMs;
constexpr int kExitTimeout = 124, kExitLaunch = 3;  // runtime/job/exit_status.h
// The launcher knows what a process has died of, and how it is called: this is less than that.
constexpr int kExitUnknown = 1;

uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Steward::Steward(std::vector<Member> members, const Wireup::Terms& terms, Kill kill)
    : terms_(terms), kill_(std::move(kill)) {
  for (Member& member : members) {
    processes_.emplace_back();
    processes_.back().member = std::move(member);
  }
  if (terms.timeout_seconds > 0)
    timeout_ns_ = now_ns() + static_cast<uint64_t>(terms.timeout_seconds * 1e9);
}

Result<> Steward::start() {
  const auto body = [](void* self) -> void* {
    static_cast<Steward*>(self)->run();
    return nullptr;
  };
  const Result<pthread_t> thread =
      start_service_thread("what the processes of the job report", body, this);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

void Steward::run() {
  while (!is_over_) {
    look(ms_to_next_deadline());
    keep_deadlines();
    if (may_all_leave()) dismiss();
  }
}

std::string Steward::name_of(size_t index) const {
  const Member& member = processes_[index].member;
  return "process " + std::to_string(index) + " (pid " + std::to_string(member.pid) +
         " on " + member.host + ")";
}

// --- what comes ---------------------------------------------------------------------------------

void Steward::look(int timeout_ms) {
  std::vector<pollfd> wanted;
  for (const Process& process : processes_)  // poll() leaves out what is negative
    wanted.push_back({process.is_there ? process.member.socket : -1, POLLIN, 0});
  if (::poll(wanted.data(), wanted.size(), timeout_ms) <= 0) return;
  for (size_t i = 0; i < processes_.size(); ++i)
    if (wanted[i].revents != 0) read_from(i);
}

void Steward::read_from(size_t index) {
  Process& process = processes_[index];
  char buffer[16 << 10];
  const ssize_t bytes =
      ::recv(process.member.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (bytes <= 0) return lose(index);
  process.inbox.append(buffer, static_cast<size_t>(bytes));
  RecordHead head;
  while (process.inbox.size() >= sizeof head) {
    std::memcpy(&head, process.inbox.data(), sizeof head);
    const size_t text_bytes = static_cast<size_t>(std::max(head.text_bytes, 0));
    if (process.inbox.size() < sizeof head + text_bytes) return;
    std::string text = process.inbox.substr(sizeof head, text_bytes);
    process.inbox.erase(0, sizeof head + text_bytes);
    take(index, static_cast<Report>(head.kind), head.status, std::move(text));
  }
}

// Its end, or its host's.
void Steward::lose(size_t index) {
  Process& process = processes_[index];
  process.is_there = false;
  process.owes_table = false;
  use_tables();
  if (process.has_finished || process.has_written) return;
  if (verdict_.end(kExitUnknown,
                   "mpcrun: " + name_of(index) +
                       " has ended before its ranks had ended; the job is ended"))
    end_all(Order::kEndSoon);
}

void Steward::take(size_t index, Report kind, int status, std::string text) {
  Process& process = processes_[index];
  switch (kind) {
    case Report::kEnding:
      if (verdict_.end(status, std::move(text))) end_all(Order::kEndSoon);
      break;
    case Report::kCrash:  // it says the rest itself, and then is gone
      if (!verdict_.end_by_crash(static_cast<int>(index))) break;
      verdict_.end_of(static_cast<int>(index), kExitUnknown);
      end_all(Order::kEndSoon);
      kill_ns_ = now_ns() + kPatienceWithReportNs;
      break;
    case Report::kFailure:
      verdict_.note_failure(status, std::move(text));
      break;
    case Report::kRefusal:
      verdict_.note_refusal(status, std::move(text));
      break;
    case Report::kBroken:
      if (broken_ns_ != 0) break;
      broken_ = std::move(text);
      broken_ns_ = now_ns() + kBrokenNs;
      break;
    case Report::kTable:
      process.table = std::move(text);
      process.owes_table = false;
      use_tables();
      break;
    case Report::kFinished:
      process.has_finished = true;
      break;
    case Report::kWritten:
      process.has_written = true;
      verdict_.end_of(static_cast<int>(index), status);
      break;
    case Report::kAskTables:
      if (now_ns() >= next_tables_ns_) ask_tables(Asking::kQuestion);
      break;
  }
}

// --- the end ------------------------------------------------------------------------------------

void Steward::order(const Process& process, Order order, int status) const noexcept {
  const RecordHead head{static_cast<int32_t>(order), status, 0};
  if (process.is_there)
    ::send(process.member.socket, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Steward::end_all(Order what) {
  for (const Process& process : processes_) order(process, what, 0);
  if (kill_ns_ == 0) kill_ns_ = now_ns() + kPatienceNs;
}

bool Steward::may_all_leave() const {
  return !is_over_ &&
         std::all_of(processes_.begin(), processes_.end(),
                     [](const Process& p) { return p.has_written || !p.is_there; });
}

// This process is the last to be told: this thread ends with it.
void Steward::dismiss() {
  if (is_over_) return;
  is_over_ = true;
  if (const std::string text = verdict_.messages(); !text.empty()) terms_.say(text);
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process)
    order(*process, Order::kLeave, verdict_.status());
}

// --- times --------------------------------------------------------------------------------------

int Steward::ms_to_next_deadline() const {
  uint64_t next = UINT64_MAX;
  for (const uint64_t time : {timeout_ns_, tables_ns_, broken_ns_, kill_ns_})
    if (time != 0) next = std::min(next, time);
  if (next == UINT64_MAX) return -1;
  const uint64_t now = now_ns();
  return next <= now
             ? 0
             : static_cast<int>(std::min<uint64_t>((next - now) / kMs + 1, 60'000));
}

void Steward::keep_deadlines() {
  const uint64_t now = now_ns();
  const auto is_over = [now](uint64_t& time) {
    const bool is = time != 0 && time <= now;
    if (is) time = 0;
    return is;
  };
  if (is_over(timeout_ns_)) ask_tables(Asking::kTimeout);
  if (is_over(tables_ns_)) {
    for (Process& process : processes_) process.owes_table = false;
    use_tables();
  }
  if (is_over(broken_ns_) && verdict_.end(kExitLaunch, broken_))
    end_all(Order::kEndNow);
  if (is_over(kill_ns_)) {  // some do not end by themselves
    if (may_all_leave()) return;
    const int status = std::max(verdict_.status(), kExitUnknown);
    if (const std::string text = verdict_.messages(); !text.empty()) terms_.say(text);
    is_over_ = true;
    kill_(status);
    for (const Process& process : processes_) order(process, Order::kLeave, status);
  }
}

// --- what each rank does ------------------------------------------------------------------------

void Steward::ask_tables(Asking why) {
  if (verdict_.is_ending()) return;
  asking_ = std::max(asking_, why);
  asked_ = 0;
  for (Process& process : processes_) {
    process.owes_table = false;
    process.table.clear();
  }
  use_tables();
}

// One process tells the table of all: it asks the others itself. False: all have been asked.
bool Steward::ask_next() {
  while (asked_ < processes_.size()) {
    Process& process = processes_[asked_++];
    if (!process.is_there) continue;
    process.owes_table = true;
    order(process, Order::kAskTable, 0);
    tables_ns_ = now_ns() + kTablesNs;
    return true;
  }
  return false;
}

// When the one that was asked has answered, or is late: then the next one is asked.
void Steward::use_tables() {
  if (asking_ == Asking::kNothing ||
      std::any_of(processes_.begin(), processes_.end(),
                  [](const Process& process) { return process.owes_table; }))
    return;
  const auto told =
      std::find_if(processes_.begin(), processes_.end(),
                   [](const Process& process) { return !process.table.empty(); });
  if (told == processes_.end() && ask_next()) return;
  const std::string tables =
      told != processes_.end() ? told->table : "  no process answers\n";
  tables_ns_ = 0;
  next_tables_ns_ = now_ns() + kSameQuestionNs;
  if (std::exchange(asking_, Asking::kNothing) == Asking::kQuestion)
    return terms_.say("mpcrun: state of the job\n" + tables);
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", terms_.timeout_seconds);
  verdict_.end(kExitTimeout, std::string("mpcrun: --timeout: the job ran for ") +
                                 limit + " s; it is ended\n" + tables);
  end_all(Order::kEndNow);
}

}  // namespace mpc::wireup
