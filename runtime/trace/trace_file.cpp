#include "runtime/trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
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

constinit std::atomic<int> g_descriptor{-1};
constinit std::atomic<bool> g_is_whole{true};
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
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return {Errc::kArg, fmt::format("--trace {}: {}", path, std::strerror(errno))};
  const auto events = static_cast<size_t>(events_setting.get());
  if (!start(events)) {
    ::close(descriptor);
    return {Errc::kNoMem,
            fmt::format("--trace: no memory for {} events; see trace.events", events)};
  }
  g_job = new Job(job);
  g_path = new std::string(path);
  g_descriptor.store(descriptor, std::memory_order_release);  // pairs with write()
  return {};
}

bool TraceFile::write() noexcept {
  const int descriptor = g_descriptor.exchange(-1, std::memory_order_acquire);
  if (descriptor < 0) return g_is_whole.load(std::memory_order_relaxed);
  stop();
  int error = write_json(descriptor, *g_job);
  if (::close(descriptor) != 0 && error == 0)
    error = errno;  // a quota may report an error only now
  if (error != 0)
    say("mpcrun: --trace {}: {}; the file is not complete\n", g_path->c_str(),
        ::strerrordesc_np(error));
  if (lost_count() != 0) {
    say("mpcrun: --trace {}: the last {} events are missing, see trace.events ({} "
        "now)\n",
        g_path->c_str(), lost_count(), events_setting.get());
  }
  g_is_whole.store(error == 0, std::memory_order_relaxed);
  return error == 0;
}

}  // namespace mpc::trace
