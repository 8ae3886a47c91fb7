// How a Head starts its job, and its work for other hosts.
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "tools/mpclaunch/head.h"
#include "tools/mpclaunch/interfaces.h"
#include "tools/mpclaunch/pmix_server.h"
#include "tools/mpclaunch/start_frame.h"

namespace mpc::launch {
namespace {

constexpr int kConnectTurnMs = 500;  // how often strangers are checked

// Variables that are passed on besides those of -x. None that says where a process is, since that
// differs there.
constexpr std::string_view kForwarded[] = {"PATH=", "LD_LIBRARY_PATH=", "MPC_", "UCX_",
                                           "OMP_"};

bool has_one_output() {
  struct stat out, err;
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

std::string current_folder() {
  char* const folder = ::getcwd(nullptr, 0);
  std::string out = folder != nullptr ? folder : "/";
  ::free(folder);
  return out;
}

}  // namespace

// --- the start ----------------------------------------------------------------------------------

Result<> Head::start_all() {
  if (launch_.timeout_seconds > 0)
    timeout_ns_ = now_ns() + static_cast<uint64_t>(launch_.timeout_seconds * 1e9);
  if (plan_.has_other_hosts()) {
    MPC_TRY(connect_hosts());
    if (verdict_.is_ending()) return {};
  }
  // The job's name is one that other hosts know, too.
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  const std::string job = fmt::format("mpcrun.{}.{}", name, ::getpid());
  // Created before anything is written.
  if (here_ >= 0) console_memory_ = job::console::make_shared_memory();
  is_started_ = true;
  start_elsewhere(job);
  return start_here(job);
}

Result<> Head::connect_hosts() {
  MPC_TRY(hosts_.start(launch_.agent));
  while (!hosts_.are_all_connected() && !verdict_.is_ending()) {
    const int ms = ms_to_next_deadline();
    loop_.turn(ms < 0 ? kConnectTurnMs : std::min(ms, kConnectTurnMs));
    keep_deadlines();
    hosts_.keep_deadlines();
  }
  hosts_.close_entrance();
  return {};
}

Result<> Head::start_here(const std::string& job) {
  if (here_ < 0) return {};
  const bool is_one_host = plan_.hosts.size() == 1;
  MPC_TRY(PmixServer::start(plan_, here_, job, is_one_host ? nullptr : &exchange_));
  StartOfChildren how;
  how.program = launch_.program;
  how.arguments = launch_.arguments;
  how.ranks_variable = plan_.ranks_variable();
  how.console_memory = console_memory_;
  how.signals = before_;
  const std::string interfaces = interfaces_of(hosts_.descriptors());
  for (Process& process : processes_) {
    if (process.host != here_) continue;
    auto environment = PmixServer::environment_of(process.index);
    MPC_TRY(environment);
    if (!interfaces.empty())
      environment->push_back(std::string(wireup::kInterfacesVariable) + "=" +
                             interfaces);
    MPC_TRY(children_.start(process.index, how, *environment));
    process.is_running = true;
  }
  return {};
}

void Head::start_elsewhere(const std::string& job) {
  StartFrame start;
  start.plan = encode(plan_);
  start.job = job;
  start.program = launch_.program;
  start.folder = current_folder();
  start.has_one_output = has_one_output();
  start.arguments = launch_.arguments;
  start.environment = environment_for_others();
  for (Process& process : processes_) {
    if (process.host == here_) continue;
    process.is_running = true;
    if (process.index != plan_.first_process(process.host)) continue;
    start.host = process.host;
    hosts_.send(process.host, Frame::kStart, pack(start));
  }
  if (plan_.host_of(0) != here_) input_.start();
}

std::vector<std::string> Head::environment_for_others() const {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view word = *entry;
    const std::string_view name = word.substr(0, word.find('='));
    const bool is_forwarded =
        std::any_of(std::begin(kForwarded), std::end(kForwarded),
                    [&](std::string_view begin) { return word.starts_with(begin); });
    const bool is_named = std::find(launch_.exports.begin(), launch_.exports.end(),
                                    name) != launch_.exports.end();
    if (is_forwarded || is_named) out.emplace_back(word);
  }
  return out;
}

// --- messages of daemons ------------------------------------------------------------------------

void Head::take_frame(int host, Frame kind, std::string_view payload) {
  Unpacker in(payload);
  switch (kind) {
    case Frame::kOutput: {
      const int fd = in.small();
      return output_.take(host, fd, in.text());
    }
    case Frame::kInputTaken:
      return input_.taken(static_cast<size_t>(in.number()));
    case Frame::kFailed: {
      in.number();
      return lose_host(host,
                       fmt::format("mpcrun: {}: {}", hosts_.name_of(host), in.text()));
    }
    case Frame::kFence:
    case Frame::kAsk:
    case Frame::kAnswerTo:
      return exchange_.take(host, kind, payload);
    default:
      break;
  }
  const int process = in.small();
  if (process < plan_.first_process(host) || process >= plan_.first_process(host + 1))
    return;  // not one of that host's processes
  if (kind == Frame::kRecord) {
    wireup::RecordHead head;
    head.kind = in.small();
    head.status = in.small();
    return take_record(process, head, std::string(in.text()));
  }
  if (kind != Frame::kEnded) return;
  const int wait_status = in.small();
  end_at(process == 0 ? host : -1);
  judge(process, wait_status);
  output_.end_of(host);
}

// If process 0 has ended, no process reads standard input any more.
void Head::end_at(int host) {
  if (host >= 0) input_.stop();
}

void Head::lose_host(int host, const std::string& problem) {
  std::vector<Process*> gone;
  for (Process& process : processes_)
    if (process.host == host && std::exchange(process.is_running, false))
      gone.push_back(&process);
  for (const Process& process : processes_)
    if (process.host == host) table_.lose(static_cast<size_t>(process.index));
  output_.end_of(host);
  end_at(host == plan_.host_of(0) ? host : -1);
  const bool is_needed = !is_started_ || !gone.empty();
  if (is_needed && survives_losses()) return lose(gone, problem);
  if (is_needed && verdict_.end(job::kExitLaunch, problem + "; the job is ended"))
    end_all(wireup::Order::kEndSoon);
}

// The reader of the job's output is gone (mpcrun ... | head), so nothing is reported. Nor is the
// output waited for: a process may have ended while it wrote, holding the lock of the console.
void Head::lose_reader() {
  has_reader_ = false;
  if (verdict_.end(job::kExitSignal + SIGPIPE, "")) end_all(wireup::Order::kEndNow);
  abandon_others();
}

// Abandons processes of other hosts: their daemons kill them when the connection is closed.
void Head::abandon_others() {
  for (Process& process : processes_)
    if (process.host != here_) process.is_running = false;
}

void Head::lose_output(int fd, int error) {
  if (error == EPIPE) return lose_reader();
  verdict_.note_refusal(
      job::kExitOutput,
      fmt::format("mpcrun: standard {} could not be written: {}; output of the job is "
                  "missing",
                  fd == STDERR_FILENO ? "error" : "output", ::strerrordesc_np(error)));
}

}  // namespace mpc::launch
