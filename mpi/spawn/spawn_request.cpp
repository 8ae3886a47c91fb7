#include "mpi/spawn/spawn_request.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>

#include "runtime/job/program_files.h"

namespace mpc::mpi {
namespace {

constexpr long kMostProcesses = 100000;

// Returns the part of the list up to `separator`; the rest stays in `list`.
std::string_view take_part(std::string_view& list, char separator) noexcept {
  const size_t end = std::min(list.find(separator), list.size());
  const std::string_view part = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return part;
}

bool read_number(std::string_view text, long* out) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// The largest of first, first + step, ... up to last that is at most `most`; -1: there is none.
long largest_of_range(long first, long last, long step, long most) noexcept {
  if (step > 0) {
    const long end = std::min(last, most);
    return end < first ? -1 : first + (end - first) / step * step;
  }
  const long down = -step;
  const long value =
      first <= most ? first : first - (first - most + down - 1) / down * down;
  return value >= last ? value : -1;
}

std::string here() {
  char folder[4096];
  return ::getcwd(folder, sizeof folder) != nullptr ? folder : ".";
}

std::string in_folder(std::string_view folder, std::string_view name) {
  return name.starts_with('/') ? std::string(name) : fmt::format("{}/{}", folder, name);
}

bool is_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_this_host(std::string_view name) {
  char own[256] = "";
  ::gethostname(own, sizeof own - 1);
  return name.empty() || name == "localhost" || name == own ||
         name.substr(0, name.find('.')) == std::string_view(own);
}

// Copies them: another thread may set keys meanwhile.
InfoHints hints_of(Info* info) {
  if (info == nullptr) return {};
  const std::lock_guard lock(info->mutex);
  return info->hints;
}

std::string value_of(const InfoHints& hints, const char* key) {
  const std::string* const found = hints.find(key);
  return found != nullptr ? *found : std::string();
}

bool are_all_this_host(std::string_view hosts) {
  while (!hosts.empty())
    if (!is_this_host(take_part(hosts, ','))) return false;
  return true;
}

// The hosts of this job, for the value "job".
Err read_layout(const std::string& layout, job::SpawnedPlace* out) {
  if (layout.empty()) return kSuccess;
  if (layout != "job")
    return fail(MPI_ERR_SPAWN,
                fmt::format("info key mpc_layout: {}: it may be job, for the hosts of "
                            "this job",
                            layout));
  if (!out->hosts.empty() || !out->host_file.empty())
    return fail(MPI_ERR_SPAWN,
                "info keys mpc_layout, and host or hostfile: leave one of them out");
  if (const char* const hosts = std::getenv(job::kJobHostsVariable)) out->hosts = hosts;
  return kSuccess;
}

// Where the ranks run: keys of MPI (host), Open MPI (hostfile), and our own.
Err read_place(const InfoHints& hints, job::SpawnedPlace* out) {
  const std::string host = value_of(hints, "host");
  const std::string file = value_of(hints, "hostfile");
  if (!host.empty() && !file.empty())
    return fail(MPI_ERR_SPAWN, "info keys host and hostfile: leave one of them out");
  if (!are_all_this_host(host)) out->hosts = host;
  if (!file.empty()) out->host_file = in_folder(here(), file);
  MPC_MPI_TRY(read_layout(value_of(hints, "mpc_layout"), out));
  const std::string processes = value_of(hints, "mpc_processes");
  long count = 0;
  if (!processes.empty() &&
      (!read_number(processes, &count) || count < 1 || count > kMostProcesses))
    return fail(
        MPI_ERR_SPAWN,
        fmt::format("info key mpc_processes: {} is no number of processes", processes));
  out->processes = static_cast<int>(count);
  return kSuccess;
}

// Looks in the folders of the key path, then as a shell does, then in the new ranks' working
// directory.
Err find_command(const std::string& command, const std::string& path,
                 const std::string& wdir, std::string* out) {
  const std::string folder = here();
  for (std::string_view left = path; !left.empty();) {
    const std::string_view part = take_part(left, ':');
    *out = in_folder(in_folder(folder, part), command);
    if (!part.empty() && is_file(*out)) return kSuccess;
  }
  const auto found = job::find_program(command);
  if (found) {
    *out = in_folder(folder, *found);
    return kSuccess;
  }
  *out = in_folder(wdir, command);
  if (!wdir.empty() && is_file(*out)) return kSuccess;
  return fail(MPI_ERR_SPAWN, found.error().message);
}

}  // namespace

std::optional<int> largest_of(std::string_view soft, int most) noexcept {
  long best = -1;
  while (!soft.empty()) {
    std::string_view item = take_part(soft, ',');
    std::array<long, 3> numbers{0, 0, 1};
    size_t count = 0;
    do {
      if (count == numbers.size() ||
          !read_number(take_part(item, ':'), &numbers[count++]))
        return std::nullopt;
    } while (!item.empty());
    if (count == 1) numbers[1] = numbers[0];
    if (numbers[2] == 0) return std::nullopt;
    best = std::max(best, largest_of_range(numbers[0], numbers[1], numbers[2], most));
  }
  if (best < 0) return std::nullopt;
  return static_cast<int>(best);
}

Err read_request(const char* command, char* const* argv, int maxprocs, Info* info,
                 SpawnRequest* request) {
  job::AppSpec* const out = &request->app;
  if (command == nullptr) return fail(MPI_ERR_ARG, "the command is a null pointer");
  const InfoHints hints = hints_of(info);
  MPC_MPI_TRY(read_place(hints, &request->place));
  std::string wdir = value_of(hints, "wdir");
  if (!wdir.empty()) {
    wdir = in_folder(here(), wdir);
    if (!is_folder(wdir) && request->place.is_default())
      return fail(MPI_ERR_SPAWN, fmt::format("info key wdir: {} is no folder", wdir));
    out->working_directory = wdir;
  }
  MPC_MPI_TRY(find_command(command, value_of(hints, "path"), wdir, &out->program));
  out->ranks = maxprocs;
  if (const std::string* const soft = hints.find("soft")) {
    const auto most = largest_of(*soft, maxprocs);
    if (!most)
      return fail(
          MPI_ERR_SPAWN,
          fmt::format("info key soft: '{}' has no number up to {}", *soft, maxprocs));
    out->ranks = *most;
  }
  for (; argv != nullptr && *argv != nullptr; ++argv) out->args.emplace_back(*argv);
  return kSuccess;
}

}  // namespace mpc::mpi
