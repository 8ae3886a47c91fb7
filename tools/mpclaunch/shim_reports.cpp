// What the shim tells the launcher of its rank and its command.

#include <fmt/format.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/job/exit_status.h"
#include "runtime/wireup/hosted.h"
#include "tools/mpclaunch/process.h"
#include "tools/mpclaunch/shim.h"

namespace mpc::launch {

using wireup::RecordHead;
using wireup::Report;

void Shim::tell(Report kind, int status, std::string_view text) {
  RecordHead head{static_cast<int32_t>(kind), status,
                  static_cast<int32_t>(text.size())};
  iovec parts[] = {{&head, sizeof head}, {const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (kind == Report::kEnding || kind == Report::kDeath) has_told_end_ = true;
  while (::sendmsg(spec_.launcher, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

std::string Shim::who() const {
  return fmt::format("mpcrun: rank {} of {} ({})", spec_.rank, spec_.ranks,
                     spec_.words.front());
}

void Shim::tell_missing_finalize(const std::string& how) {
  tell(
      Report::kDeath, 1,
      fmt::format("{}: {} without calling MPI_Finalize; the job is ended", who(), how));
}

// Returns the exit status of the shim.
int Shim::report_end() {
  const int status = status_of(command_status_);
  if (is_ending_ || has_told_end_) return std::max(status, 1);
  // The rank's process may have become another program after MPI_Finalize.
  if (seat_ == Seat::kLeft && !has_told_finished_) tell(Report::kFinished, 0, {});
  const bool is_signal = WIFSIGNALED(command_status_);
  const int signal = is_signal ? WTERMSIG(command_status_) : 0;
  // Ctrl-C reaches all of the terminal's processes, which end as they like, and the reader of the
  // output may be gone: the launcher notices both.
  const bool has_lost_reader = signal == SIGPIPE && pump_.lost_error() == EPIPE;
  if (has_lost_reader || ends_seen_ != 0) return status;
  if (is_signal) {
    tell(Report::kDeath, status,
         fmt::format("{} died of signal {} ({}); the job is ended", who(), signal,
                     ::strsignal(signal)));
  } else if (seat_ == Seat::kTaken && status == 0) {
    tell_missing_finalize("it ended");
  } else if (seat_ == Seat::kTaken) {
    tell(
        Report::kDeath, status,
        fmt::format("{} exited with status {} without calling MPI_Finalize; the job is "
                    "ended",
                    who(), status));
  } else if (seat_ == Seat::kLeft && status != 0) {
    tell(Report::kFailure, status,
         fmt::format("{} exited with status {}", who(), status));
  } else if (status != 0) {
    tell(Report::kEnding, status,
         fmt::format("{} exited with status {}; the job is ended", who(), status));
  } else if (seat_ == Seat::kFree) {
    tell(Report::kStayedOut, 0, who() + " has ended without calling MPI_Init");
  }
  return status;
}

void Shim::report_lost_output() {
  const int error = pump_.lost_error();
  if (error == 0 || error == EPIPE) return;
  tell(Report::kRefusal, job::kExitOutput,
       fmt::format("mpcrun: rank {}: standard {} could not be written: {}", spec_.rank,
                   pump_.lost_fd() == STDERR_FILENO ? "error" : "output",
                   ::strerrordesc_np(error)));
}

}  // namespace mpc::launch
