#include "runtime/job/loading.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

namespace mpc::job {
namespace {

const char* g_program = nullptr;
int g_status = 0;

void handle(int signal) {
  char line[1024];
  const auto end = fmt::format_to_n(
      line, sizeof line,
      FMT_STRING(
          "mpcrun: {}: it cannot be loaded: signal {} ({}) came while the dynamic "
          "linker read it; is the file damaged?\n"),
      g_program, signal, ::sigdescr_np(signal));
  [[maybe_unused]] const ssize_t n =
      ::write(STDERR_FILENO, line, std::min(end.size, sizeof line));
  ::_exit(g_status);
}

}  // namespace

Loading::Loading(const std::string& program, int status) noexcept {
  g_status = status;
  g_program = program.c_str();
  struct sigaction action {};
  action.sa_handler = handle;
  for (size_t i = 0; i < std::size(kSignals); ++i)
    ::sigaction(kSignals[i], &action, &before_[i]);
}

Loading::~Loading() {
  for (size_t i = 0; i < std::size(kSignals); ++i)
    ::sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace mpc::job
