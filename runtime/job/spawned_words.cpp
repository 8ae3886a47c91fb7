#include "runtime/job/spawned_words.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace mpc::job {
namespace {

constexpr char kOption[] = "--spawned";
constexpr int kFixedWords = 3;  // of each program: RANKS FOLDER WORDS

// -1: it is no number above 0.
int number_in(std::string_view text) noexcept {
  int number = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number
                                                                                : -1;
}

}  // namespace

std::vector<std::string> words_of_spawned(const JobSpec& spec) {
  std::vector<std::string> words = {"mpcrun", kOption, spec.spawner,
                                    spec.spawner_process};
  for (const AppSpec& app : spec.apps) {
    words.push_back(std::to_string(app.ranks));
    words.push_back(app.working_directory);
    words.push_back(std::to_string(app.args.size() + 1));
    words.push_back(app.program);
    words.insert(words.end(), app.args.begin(), app.args.end());
  }
  return words;
}

bool is_spawned(int argc, char* const* argv) noexcept {
  return argc > 1 && std::strcmp(argv[1], kOption) == 0;
}

Result<JobSpec> read_spawned(int argc, char* const* argv) {
  const Error wrong{Errc::kArg,
                    "--spawned is what MPI_Comm_spawn gives to mpcrun, and is for "
                    "nobody else: write mpcrun -n RANKS PROGRAM"};
  if (argc < 4 || argv[2][0] == '\0') return wrong;
  JobSpec spec;
  spec.spawner = argv[2];
  spec.spawner_process = argv[3];
  for (int at = 4; at < argc;) {
    if (argc - at <= kFixedWords) return wrong;
    AppSpec app;
    app.ranks = number_in(argv[at]);
    app.working_directory = argv[at + 1];
    const int words = number_in(argv[at + 2]);
    at += kFixedWords;
    if (app.ranks < 1 || words < 1 || words > argc - at) return wrong;
    app.program = argv[at];
    app.args.assign(argv + at + 1, argv + at + words);
    at += words;
    spec.apps.push_back(std::move(app));
  }
  if (spec.apps.empty()) return wrong;
  return spec;
}

}  // namespace mpc::job
