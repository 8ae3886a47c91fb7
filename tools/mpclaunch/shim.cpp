#include "tools/mpclaunch/shim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/spawned_words.h"
#include "runtime/job/spawner_process.h"
#include "runtime/wireup/handler_grace.h"
#include "runtime/wireup/hosted.h"
#include "tools/mpclaunch/agent.h"
#include "tools/mpclaunch/process.h"
#include "tools/mpclaunch/process_tree.h"

namespace mpc::launch {
namespace {

using wireup::Order;
using wireup::RecordHead;
using wireup::Report;

// How long to wait for the end of a command that explains the end of its rank: a shell may be
// about to report the signal.
constexpr uint64_t kExplainNs = 300 * kMs;
// Shorter than the launcher's patience (head.cpp), so that the shim kills what is left.
constexpr uint64_t kLastWordsNs = 1500 * kMs, kNoGraceNs = 300 * kMs;
constexpr int kMostOutputMs = 500;  // for a slow reader of a job that ends

bool has_one_output() {
  struct stat out, err;
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

// An address that others cannot guess.
std::string new_address() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = now_ns();
  return fmt::format("mpc-shim-{}-{:016x}", ::getpid(), number);
}

// For commands that were built with -fsanitize=address: what the network keeps is no leak of theirs.
void forgive_leaks() {
  const char* const given = std::getenv("LSAN_OPTIONS");
  const std::string options = given != nullptr ? given : "";
  if (options.find("suppressions=") != std::string::npos) return;
  const std::string program = own_program();
  const std::string folder = program.substr(0, program.rfind('/') + 1);
  const std::string more =
      fmt::format("suppressions='{}leaks.supp':print_suppressions=0", folder);
  ::setenv("LSAN_OPTIONS", (options.empty() ? more : options + ":" + more).c_str(), 1);
}

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Shim::Shim(ShimSpec spec, const sigset_t& signals, const sigset_t& before)
    : spec_(std::move(spec)),
      before_(before),
      pump_(spec_.rank, spec_.ranks),
      signals_(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC)) {}

int Shim::run() {
  adopt_orphans();
  // The end of the launcher is noticed by its socket, which leaves time to end the others.
  ::prctl(PR_SET_PDEATHSIG, 0);
  Result<> started = listen();
  if (started) started = pump_.open(has_one_output());
  if (started) started = start_command();
  if (started) started = pump_.start();
  if (!started) {
    end_all_below();
    tell(Report::kEnding, job::kExitLaunch, "mpcrun: " + started.error().message);
    return job::kExitLaunch;
  }
  if (spec_.rank == 0) watch_spawner();
  loop_.watch(spec_.launcher, [this] { take_orders(); });
  loop_.watch_last(signals_, [this] { take_signals(); });
  while (!has_command_ended_) {
    loop_.turn(ms_to_first({explain_ns_, kill_ns_}));
    keep_deadlines();
  }
  if (rank_socket_ >= 0) take_records();  // its last words
  end_all_below();
  pump_.finish(is_ending_ ? kMostOutputMs : -1);
  report_lost_output();
  return report_end();
}

// --- the start ----------------------------------------------------------------------------------

Result<> Shim::listen() {
  listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  address_ = new_address();
  const wireup::ShimAddress address(address_);
  if (listener_ < 0 ||
      ::bind(listener_, reinterpret_cast<const sockaddr*>(address.bytes),
             address.size) != 0 ||
      ::listen(listener_, 16) != 0)
    return {Errc::kSystem, system_error("a socket for a rank's process")};
  loop_.watch(listener_, [this] { admit(); });
  return {};
}

Result<> Shim::start_command() {
  int problem[2];
  if (::pipe2(problem, O_CLOEXEC) != 0) return {Errc::kSystem, system_error("pipe")};
  command_ = ::fork();
  if (command_ == 0) become_command(problem[1]);
  const int fork_error = errno;
  ::close(problem[1]);
  int error = 0;
  if (command_ > 0 && ::read(problem[0], &error, sizeof error) != sizeof error)
    error = 0;
  ::close(problem[0]);
  if (command_ < 0)
    return {Errc::kSystem,
            std::string("cannot start a process: ") + std::strerror(fork_error)};
  if (error == 0) return {};
  const int status = error == ENOENT ? job::kExitNotFound : job::kExitNotExecutable;
  tell(Report::kEnding, status,
       fmt::format("mpcrun: program '{}': {}", spec_.words.front(),
                   std::strerror(error)));
  ::waitpid(command_, nullptr, 0);
  ::_exit(status);
}

void Shim::become_command(int problem) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // in case this process is killed
  ::dup2(pump_.output(), STDOUT_FILENO);
  ::dup2(pump_.error(), STDERR_FILENO);
  ::signal(SIGQUIT, SIG_IGN);  // Ctrl-\ asks mpcrun what the ranks do
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  ::setenv(wireup::kShimVariable, address_.c_str(), 1);
  forgive_leaks();
  ::execvp(spec_.words.front(), spec_.words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(problem, &error, sizeof error);
  ::_exit(job::kExitNotExecutable);
}

// Until its rank is in MPI_Init, which then watches until it is connected: a command that never comes so far would not
// notice that nobody waits for it any more.
void Shim::watch_spawner() {
  std::string port, process;
  if (!job::read_spawner(&port, &process)) return;
  const job::SpawnerProcess parent = job::open_process(process);
  if (parent.fate == job::SpawnerProcess::Fate::kEnded) return spawner_has_ended();
  spawner_ = parent.descriptor;
  if (spawner_ >= 0) loop_.watch(spawner_, [this] { spawner_has_ended(); });
}

void Shim::forget_spawner() {
  if (spawner_ < 0) return;
  loop_.forget(spawner_);
  ::close(std::exchange(spawner_, -1));
}

void Shim::spawner_has_ended() {
  forget_spawner();
  if (!is_ending_) tell(Report::kEnding, 1, job::kSpawnerHasEnded);
}

// --- the rank's seat ----------------------------------------------------------------------------

void Shim::admit() {
  const int socket = acceptor_.accept(listener_);
  if (socket < 0) return loop_.rest(listener_, acceptor_.rests_until_ns());
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      peer.uid != ::getuid()) {
    ::close(socket);
    return;
  }
  const bool is_free = seat_ == Seat::kFree && !is_ending_;
  const RecordHead answer{static_cast<int32_t>(is_free ? Order::kSeat : Order::kTaken),
                          rank_pid_, 0};
  ::send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
  if (!is_free) {
    ::close(socket);
    return;
  }
  forget_spawner();
  seat_ = Seat::kTaken;
  rank_pid_ = peer.pid;
  rank_socket_ = socket;
  loop_.watch(rank_socket_, [this] { take_records(); });
  // Its children may keep the socket open.
  rank_pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, rank_pid_, 0));
  if (rank_pidfd_ >= 0) loop_.watch(rank_pidfd_, [this] { rank_has_ended(); });
  tell(Report::kJoined, 0, {});
}

void Shim::take_records() {
  std::string buffer(sizeof(RecordHead) + wireup::kMostTextBytes, '\0');
  while (rank_socket_ >= 0) {
    const ssize_t bytes =
        ::recv(rank_socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (bytes < 0 && wireup::is_before_more(errno)) continue;
    if (bytes == 0) return rank_has_ended();
    if (bytes < static_cast<ssize_t>(sizeof(RecordHead))) return;
    RecordHead head;
    std::memcpy(&head, buffer.data(), sizeof head);
    const auto kind = static_cast<Report>(head.kind);
    if (kind == Report::kFinished || kind == Report::kFinalized) seat_ = Seat::kLeft;
    if (kind == Report::kFinalized) continue;
    if (kind == Report::kFinished) has_told_finished_ = true;
    if (kind == Report::kEnding || kind == Report::kDeath) has_told_end_ = true;
    ::send(spec_.launcher, buffer.data(), static_cast<size_t>(bytes), MSG_NOSIGNAL);
  }
}

// The rank's process has ended, or has become another program; the command may go on.
void Shim::rank_has_ended() {
  if (const int pidfd = std::exchange(rank_pidfd_, -1); pidfd >= 0) {
    loop_.forget(pidfd);
    ::close(pidfd);
    take_records();
  }
  if (rank_socket_ < 0) return;
  loop_.forget(rank_socket_);
  ::close(std::exchange(rank_socket_, -1));
  if (seat_ == Seat::kTaken && !is_ending_ && !has_told_end_)
    explain_ns_ = now_ns() + kExplainNs;
}

// --- the end ------------------------------------------------------------------------------------

void Shim::take_orders() {
  for (;;) {
    RecordHead head;
    const ssize_t bytes = ::recv(spec_.launcher, &head, sizeof head, MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return;
    if (bytes < static_cast<ssize_t>(sizeof head)) {  // the launcher is gone
      end_all_below();
      ::_exit(job::kExitLaunch);
    }
    const auto order = static_cast<Order>(head.kind);
    if ((order == Order::kEndSoon || order == Order::kEndNow) &&
        begin_end(order == Order::kEndSoon, head.status))
      continue;
    if (rank_socket_ >= 0)
      ::send(rank_socket_, &head, sizeof head, MSG_NOSIGNAL);
    else if (order == Order::kAskTable)
      tell(Report::kTable, 0, {});
  }
}

// The script that started the rank must not print anything more, nor go on to its next line.
// `signal`: mpcrun was sent it. True: the rank handles it, and ends as it wants to, in time.
bool Shim::begin_end(bool has_grace, int signal) {
  if (is_ending_) return false;
  is_ending_ = true;
  explain_ns_ = 0;
  const bool is_rank_there = rank_socket_ >= 0;
  const bool is_handled =
      signal != 0 && is_rank_there && has_handler(rank_pid_, signal);
  signal_all_below(is_rank_there ? SIGKILL : SIGTERM, rank_pid_);
  uint64_t time_ns = has_grace && is_rank_there ? kLastWordsNs : kNoGraceNs;
  if (is_handled) {
    time_ns = wireup::handler_grace_ns();
    take_signals();
    if (!has_come_to_rank(signal)) ::kill(rank_pid_, signal);
  }
  kill_ns_ = now_ns() + time_ns;
  return is_handled;
}

void Shim::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1 || signal == SIGUSR2)
      pass_on(signal);
    else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)
      ends_seen_ |= uint64_t{1} << (signal - 1);  // the launcher knows what to do
  }
  reap();
}

// Ctrl-C of a terminal, and what `timeout` sends, come to all of a group of processes.
bool Shim::has_come_to_rank(int signal) const {
  return (ends_seen_ >> (signal - 1) & 1) != 0 && ::getpgid(rank_pid_) == ::getpgrp();
}

void Shim::pass_on(int signal) const {
  const pid_t target = rank_socket_ >= 0 ? rank_pid_ : command_;
  if (target > 0) ::kill(target, signal);
}

void Shim::reap() {
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    if (pid != command_) continue;
    command_status_ = wait_status;
    // When the job ends, a rank that is not the command itself may still send reports.
    if (is_ending_ && rank_socket_ >= 0)
      command_ = -1;
    else
      has_command_ended_ = true;
  }
  if (command_ < 0 && rank_socket_ < 0) has_command_ended_ = true;
}

void Shim::keep_deadlines() {
  if (command_ < 0 && rank_socket_ < 0) has_command_ended_ = true;
  const uint64_t now = now_ns();
  if (take_if_over(explain_ns_, now) && !has_command_ended_)
    tell_missing_finalize("its process has ended");
  if (take_if_over(kill_ns_, now)) {
    end_all_below();
    has_command_ended_ = true;
  }
}

}  // namespace mpc::launch
