#include "runtime/job/spawned_words.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mpc::job {
namespace {

constexpr char kOption[] = "--spawned";
constexpr std::string_view kHosted = "processes", kCopies = "copies";
// Of each program: RANKS FOLDER HOSTS HOSTFILE PROCESSES WORDS.
constexpr int kFixedWords = 6;

// -1: it is no number from 0 on.
int number_in(std::string_view text) noexcept {
  int number = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0
             ? number
             : -1;
}

}  // namespace

std::vector<std::string> words_of_spawned(const SpawnedJob& job) {
  std::vector<std::string> words = {"mpcrun", kOption,
                                    std::string(job.is_hosted ? kHosted : kCopies)};
  for (size_t i = 0; i < job.spec.apps.size(); ++i) {
    const AppSpec& app = job.spec.apps[i];
    const SpawnedPlace& place = job.places[i];
    words.push_back(std::to_string(app.ranks));
    words.push_back(app.working_directory);
    words.push_back(place.hosts);
    words.push_back(place.host_file);
    words.push_back(std::to_string(place.processes));
    words.push_back(std::to_string(app.args.size() + 1));
    words.push_back(app.program);
    words.insert(words.end(), app.args.begin(), app.args.end());
  }
  return words;
}

// A process's text has no space, the name of a port may have one.
std::string variable_of_spawned(const JobSpec& spec) {
  return std::string(kSpawnerVariable) + "=" + spec.spawner_process + " " +
         spec.spawner;
}

bool read_spawner(std::string* port, std::string* process) {
  const char* const value = std::getenv(kSpawnerVariable);
  const char* const space = value != nullptr ? std::strchr(value, ' ') : nullptr;
  if (space == nullptr || space[1] == '\0') return false;
  process->assign(value, space);
  *port = space + 1;
  return true;
}

bool is_spawned(int argc, char* const* argv) noexcept {
  return argc > 1 && std::strcmp(argv[1], kOption) == 0;
}

Result<SpawnedJob> read_spawned(int argc, char* const* argv) {
  const Error wrong{Errc::kArg,
                    "--spawned is what MPI_Comm_spawn gives to mpcrun, and is for "
                    "nobody else: write mpcrun -n RANKS PROGRAM"};
  SpawnedJob job;
  if (argc < 3 || !read_spawner(&job.spec.spawner, &job.spec.spawner_process))
    return wrong;
  job.is_hosted = argv[2] == kHosted;
  if (!job.is_hosted && argv[2] != kCopies) return wrong;
  for (int at = 3; at < argc;) {
    if (argc - at <= kFixedWords) return wrong;
    AppSpec app;
    SpawnedPlace place;
    app.ranks = number_in(argv[at]);
    app.working_directory = argv[at + 1];
    place.hosts = argv[at + 2];
    place.host_file = argv[at + 3];
    place.processes = number_in(argv[at + 4]);
    const int words = number_in(argv[at + 5]);
    at += kFixedWords;
    if (app.ranks < 1 || place.processes < 0 || words < 1 || words > argc - at)
      return wrong;
    app.program = argv[at];
    app.args.assign(argv + at + 1, argv + at + words);
    at += words;
    job.spec.apps.push_back(std::move(app));
    job.places.push_back(std::move(place));
  }
  if (job.spec.apps.empty()) return wrong;
  return job;
}

}  // namespace mpc::job
