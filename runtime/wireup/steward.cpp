#include "runtime/wireup/steward.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/poll_files.h"
#include "base/service_thread.h"

namespace mpc::wireup {
namespace {

// A signal comes to all processes, and each asks for the tables.
constexpr uint64_t kSameQuestionNs = 1000 * kMs;
constexpr int kExitTimeout = 124, kExitLaunch = 3;  // runtime/job/exit_status.h
// The launcher knows what a process has died of, and its name: this says less.
constexpr int kExitUnknown = 1;

}  // namespace

Steward::Steward(std::vector<Member> members, const Wireup::Terms& terms, Kill kill)
    : terms_(terms),
      kill_(std::move(kill)),
      table_(
          members.size(),
          [this](size_t index) {
            order(processes_[index], Order::kAskTable, 0);
            return processes_[index].is_there;
          },
          [this](TableQuestion::Why why, const std::string& table) {
            take_table(why, table);
          }) {
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

// --- arrivals -----------------------------------------------------------------------------------

void Steward::look(int timeout_ms) {
  std::vector<pollfd> wanted;
  for (const Process& process : processes_)  // poll() skips negative descriptors
    wanted.push_back({process.is_there ? process.member.socket : -1, POLLIN, 0});
  if (poll_files(wanted, timeout_ms) <= 0) return;
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

// The process has ended, or its host.
void Steward::lose(size_t index) {
  Process& process = processes_[index];
  process.is_there = false;
  table_.lose(index);
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
    case Report::kDeath:
      if (verdict_.end(status, std::move(text))) end_all(Order::kEndSoon);
      break;
    case Report::kCrash:  // it prints the rest itself, and then ends
      if (!verdict_.end_by_crash(static_cast<int>(index))) break;
      verdict_.end_of(static_cast<int>(index), kExitUnknown);
      end_all(Order::kEndSoon);
      kill_ns_ = now_ns() + Verdict::kPatienceWithReportNs;
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
      broken_ns_ = now_ns() + Verdict::kBrokenNs;
      break;
    case Report::kTable:
      table_.take(index, text);
      break;
    case Report::kFinished:
      process.has_finished = true;
      break;
    case Report::kWritten:
      process.has_written = true;
      verdict_.end_of(static_cast<int>(index), status);
      break;
    case Report::kJoined:  // for hosted ranks, which have a launcher
    case Report::kFinalized:
    case Report::kGate:
    case Report::kStayedOut:
      break;
    case Report::kAskTables:
      if (now_ns() >= next_table_ns_) ask_table(TableQuestion::Why::kUser);
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
  if (kill_ns_ == 0) kill_ns_ = now_ns() + Verdict::kPatienceNs;
}

bool Steward::may_all_leave() const {
  return !is_over_ &&
         std::all_of(processes_.begin(), processes_.end(),
                     [](const Process& p) { return p.has_written || !p.is_there; });
}

// This process is told last: this thread ends with it.
void Steward::dismiss() {
  if (is_over_) return;
  is_over_ = true;
  if (const std::string text = verdict_.messages(); !text.empty()) terms_.say(text);
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process)
    order(*process, Order::kLeave, verdict_.status());
}

// --- times --------------------------------------------------------------------------------------

int Steward::ms_to_next_deadline() const {
  return ms_to_first({timeout_ns_, table_.deadline_ns(), broken_ns_, kill_ns_});
}

void Steward::keep_deadlines() {
  const uint64_t now = now_ns();
  if (take_if_over(timeout_ns_, now)) ask_table(TableQuestion::Why::kTimeout);
  table_.keep_deadline(now);
  if (take_if_over(broken_ns_, now) && verdict_.end(kExitLaunch, broken_))
    end_all(Order::kEndNow);
  if (take_if_over(kill_ns_, now)) {  // some do not end by themselves
    if (may_all_leave()) return;
    const int status = std::max(verdict_.status(), kExitUnknown);
    if (const std::string text = verdict_.messages(); !text.empty()) terms_.say(text);
    is_over_ = true;
    kill_(status);
    for (const Process& process : processes_) order(process, Order::kLeave, status);
  }
}

// --- what each rank does ------------------------------------------------------------------------

void Steward::ask_table(TableQuestion::Why why) {
  if (!verdict_.is_ending()) table_.begin(why);
}

void Steward::take_table(TableQuestion::Why why, const std::string& table) {
  next_table_ns_ = now_ns() + kSameQuestionNs;
  if (why == TableQuestion::Why::kUser)
    return terms_.say("mpcrun: state of the job\n" + table);
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", terms_.timeout_seconds);
  verdict_.end(kExitTimeout, std::string("mpcrun: --timeout: the job ran for ") +
                                 limit + " s; it is ended\n" + table);
  end_all(Order::kEndNow);
}

}  // namespace mpc::wireup
