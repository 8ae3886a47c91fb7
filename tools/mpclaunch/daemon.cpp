#include "tools/mpclaunch/daemon.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/version.h"
#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "runtime/wireup/record.h"
#include "tools/mpclaunch/interfaces.h"

namespace mpc::launch {

Daemon::Daemon(int connection, const sigset_t& signals, const sigset_t& before)
    : outlet_(loop_,
              [this](int fd, std::string_view text) {
                head_->send(Frame::kOutput, Packer().number(fd).text(text));
              }),
      children_(
          loop_,
          [this](int process, const wireup::RecordHead& head, const std::string& text) {
            head_->send(Frame::kRecord, Packer()
                                            .number(process)
                                            .number(head.kind)
                                            .number(head.status)
                                            .text(text));
          },
          [this](int process, int wait_status) {
            ended_.emplace_back(process, wait_status);
          }),
      signals_(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC)),
      before_(before) {
  head_ = std::make_unique<Channel>(
      loop_, connection,
      [this](Frame kind, std::string_view payload) { take(kind, payload); },
      [this](int) {  // the job is over, or cannot go on
        children_.kill(-1);
        ::_exit(job::kExitLaunch);
      });
  loop_.watch_last(signals_, [this] {
    signalfd_siginfo info;
    while (::read(signals_, &info, sizeof info) == sizeof info) {
    }
    children_.reap();
  });
}

Daemon::~Daemon() { ::close(signals_); }

void Daemon::run() {
  head_->send(Frame::kHello, Packer().text(version_text()));
  for (;;) {
    loop_.turn(-1);
    tell_ends();
  }
}

// Reports ends of processes, after all their output.
void Daemon::tell_ends() {
  if (ended_.empty() || !outlet_.drain()) return;
  for (const auto& [process, wait_status] : std::exchange(ended_, {}))
    head_->send(Frame::kEnded, Packer().number(process).number(wait_status));
}

void Daemon::take(Frame kind, std::string_view payload) {
  Unpacker in(payload);
  switch (kind) {
    case Frame::kStart: {
      const auto start_frame = unpack_start(payload);
      const Result<> started = start_frame
                                   ? start(*start_frame)
                                   : Result<>(Error{Errc::kSystem, "bad start"});
      if (!started)
        head_->send(Frame::kFailed,
                    Packer().number(job::kExitLaunch).text(started.error().message));
      break;
    }
    case Frame::kOrder: {
      const int process = in.small();
      const auto order = static_cast<wireup::Order>(in.number());
      children_.order(process, order, in.small());
      break;
    }
    case Frame::kKill:
      children_.kill(in.small());
      break;
    case Frame::kSignal: {
      const int process = in.small();
      children_.signal(process, in.small());
      break;
    }
    case Frame::kInput:
      take_input(in.text());
      break;
    case Frame::kOutputTaken:
      outlet_.taken(static_cast<size_t>(in.number()));
      break;
    case Frame::kFenceDone:
      PmixServer::fence_done(in.text());
      break;
    case Frame::kAskHere: {
      const int64_t number = in.number();
      look_up(number, in.small());
      break;
    }
    case Frame::kAnswer: {
      const int64_t number = in.number();
      const int status = in.small();
      PmixServer::answer(number, status, in.text());
      break;
    }
    default:
      break;
  }
}

// --- the start ----------------------------------------------------------------------------------

Result<> Daemon::start(const StartFrame& start) {
  if (::chdir(start.folder.c_str()) != 0)
    return {Errc::kSystem,
            start.folder + ", where mpcrun was started: " + std::strerror(errno)};
  for (const std::string& word : start.environment) {
    const size_t equals = word.find('=');
    ::setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
  }
  if (::access(start.program.c_str(), X_OK) != 0)
    return {Errc::kSystem, start.program + ": " + std::strerror(errno)};
  const Plan plan = decode_plan(start.plan);
  const std::string interfaces = interfaces_of({head_->descriptor()});
  if (!interfaces.empty() && plan.hosts.size() > 1)
    ::setenv(wireup::kInterfacesVariable, interfaces.c_str(), 1);
  MPC_TRY(PmixServer::start(plan, start.host, start.job,
                            plan.hosts.size() > 1 ? this : nullptr));
  MPC_TRY(outlet_.open(start.has_one_output));
  MPC_TRY(open_input(plan, start));
  auto started = start_processes(plan, start);
  outlet_.close_inner();
  if (input_for_child_ >= 0) ::close(std::exchange(input_for_child_, -1));
  return started;
}

Result<> Daemon::start_processes(const Plan& plan, const StartFrame& start) {
  StartOfChildren how;
  how.program = start.program;
  how.arguments = start.arguments;
  how.ranks_variable = plan.ranks_variable();
  how.console_memory = job::console::make_shared_memory();
  how.input = input_for_child_;
  how.output = outlet_.output();
  how.error = outlet_.error();
  how.signals = before_;
  for (int p = plan.first_process(start.host); p < plan.first_process(start.host + 1);
       ++p) {
    auto environment = PmixServer::environment_of(p);
    MPC_TRY(environment);
    MPC_TRY(children_.start(p, how, *environment));
  }
  return {};
}

// --- standard input of process 0 ----------------------------------------------------------------

Result<> Daemon::open_input(const Plan& plan, const StartFrame& start) {
  if (plan.host_of(0) != start.host) return {};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {Errc::kSystem, std::string("pipe: ") + std::strerror(errno)};
  input_for_child_ = ends[0];
  input_ = ends[1];
  ::fcntl(input_, F_SETFL, O_NONBLOCK);
  loop_.watch(input_, [this] { close_input(); });  // the reader is gone
  return {};
}

void Daemon::take_input(std::string_view text) {
  if (text.empty()) is_input_over_ = true;
  input_text_ += text;
  write_input();
}

void Daemon::write_input() {
  while (input_ >= 0 && !input_text_.empty()) {
    const ssize_t bytes = ::write(input_, input_text_.data(), input_text_.size());
    if (bytes < 0 && errno == EAGAIN)
      return loop_.want_room(input_, [this] { write_input(); });
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) break;
    input_text_.erase(0, static_cast<size_t>(bytes));
    head_->send(Frame::kInputTaken, Packer().number(bytes));
  }
  if (input_ >= 0) loop_.want_room(input_, nullptr);
  if (is_input_over_ || !input_text_.empty()) close_input();
}

void Daemon::close_input() {
  if (input_ < 0) return;
  loop_.forget(input_);
  ::close(std::exchange(input_, -1));
}

// --- questions between processes of different hosts ---------------------------------------------

void Daemon::fence(std::string put) {
  loop_.post(
      [this, put = std::move(put)] { head_->send(Frame::kFence, Packer().text(put)); });
}

void Daemon::ask(int64_t number, int process) {
  loop_.post([this, number, process] {
    head_->send(Frame::kAsk, Packer().number(number).number(process));
  });
}

void Daemon::look_up(int64_t number, int process) {
  struct Question {
    Daemon* daemon;
    int64_t number;
  };
  PmixServer::look_up(
      process,
      [](void* context, int status, std::string_view put) {
        const std::unique_ptr<Question> question(static_cast<Question*>(context));
        Packer answer;
        answer.number(question->number).number(status).text(put);
        Daemon* const daemon = question->daemon;
        daemon->loop_.post(
            [daemon, answer] { daemon->head_->send(Frame::kAnswerTo, answer); });
      },
      new Question{this, number});
}

}  // namespace mpc::launch
