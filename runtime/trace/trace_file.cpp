#include "runtime/trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/settings.h"
#include "base/trace.h"
#include "runtime/trace/json.h"

namespace mpc::trace {
namespace {

IntSetting events_setting{
    "trace.events",
    1 << 20,
    "events",
    "Events that mpcrun --trace keeps (64 bytes each); later ones are "
    "counted and lost",
    1,
    int64_t{1} << 32};

constinit int g_descriptor = -1;
// Never destroyed: the job's end may come at any time.
Job* g_job = nullptr;
std::string* g_path = nullptr;

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) noexcept {
  char line[512];
  const auto end =
      fmt::format_to_n(line, sizeof line, format, std::forward<Args>(args)...);
  [[maybe_unused]] const ssize_t n =
      ::write(STDERR_FILENO, line, std::min(end.size, sizeof line));
}

}  // namespace

Result<> TraceFile::open(const std::string& path, const Job& job) {
  g_descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (g_descriptor < 0)
    return {Errc::kArg, fmt::format("--trace {}: {}", path, std::strerror(errno))};
  const auto events = static_cast<size_t>(events_setting.get());
  if (!start(events))
    return {Errc::kNoMem,
            fmt::format("--trace: no memory for {} events; see trace.events", events)};
  g_job = new Job(job);
  g_path = new std::string(path);
  return {};
}

bool TraceFile::is_open() noexcept { return g_descriptor >= 0; }

void TraceFile::write() noexcept {
  if (g_descriptor < 0) return;
  stop();
  const int descriptor = g_descriptor;
  g_descriptor = -1;
  const int error = write_json(descriptor, *g_job);
  if (error != 0)
    say("mpcrun: --trace {}: {}\n", g_path->c_str(), ::strerrordesc_np(error));
  if (lost_count() != 0) {
    say("mpcrun: --trace {}: the last {} events are missing, see trace.events ({} "
        "now)\n",
        g_path->c_str(), lost_count(), events_setting.get());
  }
  ::close(descriptor);
}

}  // namespace mpc::trace
