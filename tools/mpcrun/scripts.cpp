#include "tools/mpcrun/scripts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "runtime/job/exit_status.h"
#include "runtime/job/one_of_many.h"
#include "runtime/job/rank_variables.h"
#include "runtime/loader/tool_hints.h"
#include "tools/mpcrun/unwrap.h"

namespace mpc::tools {
namespace {

using Words = std::vector<std::string>;

constexpr int kAtOnce = 16;  // processes of scripts

// The command that a script has become for one rank.
struct Answer {
  pid_t process = 0;
  std::string folder, program;
  Words args;
  std::set<std::string> environment;

  bool is_same_command(const Answer& other) const {
    return folder == other.folder && program == other.program && args == other.args;
  }
};

// "#!/bin/sh", "#!/usr/bin/env bash"
bool is_shell_script(const std::string& path) {
  std::ifstream file(path);
  std::string line, word;
  // The first line of a program may be long.
  if (file.get() != '#' || file.get() != '!' || !std::getline(file, line)) return false;
  std::istringstream words(line);
  words >> word;
  if (word.size() >= 4 && word.compare(word.size() - 4, 4, "/env") == 0) words >> word;
  return is_shell(word);
}

bool is_script(const job::AppSpec& app) {
  if (is_shell(app.program)) return !app.args.empty();
  const std::string path = find_in_path(app.program);
  std::error_code ignored;
  // valgrind is a script, too, and goes before mpcrun: the loader says so.
  return std::filesystem::is_regular_file(path, ignored) &&
         ::access(path.c_str(), X_OK) == 0 && loader::hint_for_tool(path).empty() &&
         is_shell_script(path);
}

// Is this a variable for the script only, not for the program?
bool is_ours(const std::string& entry) {
  const std::string name = entry.substr(0, entry.find('='));
  return name == job::kScriptVariable || name == "_" || name == "SHLVL" ||
         name == "PWD" || name == "OLDPWD" || job::is_rank_variable(name) ||
         job::is_of_starter(name);
}

// Runs in the child. Does not return.
[[noreturn]] void become_script(const job::AppSpec& app, const std::string& folder,
                                const std::string& file, int rank, int size) {
  for (const auto& [name, value] : app.environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  job::set_rank_variables({rank, size, rank, size});
  ::setenv(job::kScriptVariable, file.c_str(), 1);
  // The ranks read standard input, not the script.
  if (const int null = ::open("/dev/null", O_RDONLY); null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::close(null);
  }
  std::vector<char*> words = {const_cast<char*>(app.program.c_str())};
  for (const std::string& arg : app.args)
    words.push_back(const_cast<char*>(arg.c_str()));
  words.push_back(nullptr);
  if (folder.empty() || ::chdir(folder.c_str()) == 0) ::execvp(words[0], words.data());
  ::_exit(job::kExitNotFound);
}

std::string take_word(std::istream& in) {
  std::string word;
  std::getline(in, word, '\0');
  return word;
}

Answer read_answer(const std::string& file) {
  Answer out;
  std::ifstream in(file, std::ios::binary);
  out.process = static_cast<pid_t>(std::atol(take_word(in).c_str()));
  out.folder = take_word(in);
  out.program = take_word(in);
  out.args.resize(static_cast<size_t>(std::atol(take_word(in).c_str())));
  for (std::string& arg : out.args) arg = take_word(in);
  while (in.peek() != std::istream::traits_type::eof()) {
    std::string entry = take_word(in);
    if (!is_ours(entry)) out.environment.insert(std::move(entry));
  }
  return out;
}

Result<Answer> answer_of(const std::string& script, const std::string& file,
                         pid_t child, int status, int rank) {
  const auto refuse = [&](const std::string& what) {
    return Error{Errc::kImage, fmt::format("{}: the script of rank {} {}; put the "
                                           "script around mpcrun, or end it with "
                                           "'exec' and the program",
                                           script, rank, what)};
  };
  if (!std::filesystem::exists(file))
    return refuse(WIFEXITED(status)
                      ? fmt::format("ended with status {} and started no program of "
                                    "mpcc's",
                                    WEXITSTATUS(status))
                      : fmt::format("died of signal {}", WTERMSIG(status)));
  Answer answer = read_answer(file);
  if (answer.process != child)
    return refuse("goes on after its program, which cannot be seen through");
  return answer;
}

// One answer for each rank of the program.
Result<std::vector<Answer>> ask(const job::AppSpec& app, const std::string& folder,
                                const std::string& files, int first_rank, int size) {
  std::vector<Answer> answers;
  for (int begin = 0; begin < app.ranks; begin += kAtOnce) {
    const int end = std::min(begin + kAtOnce, app.ranks);
    std::vector<pid_t> children;
    for (int i = begin; i < end; ++i) {
      const pid_t child = ::fork();
      if (child == 0)
        become_script(app, folder, fmt::format("{}/{}", files, first_rank + i),
                      first_rank + i, size);
      children.push_back(child);
    }
    for (int i = begin; i < end; ++i) {
      const pid_t child = children[static_cast<size_t>(i - begin)];
      int status = 0;
      if (child < 0)
        return {Errc::kSystem, fmt::format("fork: {}", std::strerror(errno))};
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      auto answer = answer_of(app.program, fmt::format("{}/{}", files, first_rank + i),
                              child, status, first_rank + i);
      MPC_TRY(answer);
      answers.push_back(std::move(*answer));
    }
  }
  return answers;
}

// The entries of `wanted` that `present` lacks, as NAME=VALUE; and the names that only `present`
// has.
Words changes_between(const std::set<std::string>& present,
                      const std::set<std::string>& wanted) {
  Words out;
  std::set<std::string> names;
  for (const std::string& entry : wanted)
    names.insert(entry.substr(0, entry.find('=')));
  for (const std::string& entry : present) {
    const std::string name = entry.substr(0, entry.find('='));
    if (names.count(name) == 0) out.push_back(name);
  }
  std::set_difference(wanted.begin(), wanted.end(), present.begin(), present.end(),
                      std::back_inserter(out));
  return out;
}

// Variables that are the same for all ranks go to the program, as if given by -x; others go to
// their rank.
void take_environments(const std::vector<Answer>& answers, job::AppSpec& app) {
  std::set<std::string> present;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_ours(*entry)) present.insert(*entry);
  const std::set<std::string>& first = answers.front().environment;
  const bool is_alike =
      std::all_of(answers.begin(), answers.end(),
                  [&](const Answer& answer) { return answer.environment == first; });
  std::vector<Words> changes;
  for (const Answer& answer : answers)
    changes.push_back(changes_between(present, answer.environment));
  for (const std::string& change : changes.front()) {
    const size_t equals = change.find('=');
    const bool is_everywhere =
        std::all_of(changes.begin(), changes.end(), [&](const Words& words) {
          return std::find(words.begin(), words.end(), change) != words.end();
        });
    if (equals != std::string::npos && is_everywhere)
      set_variable(app.environment, change.substr(0, equals),
                   change.substr(equals + 1));
  }
  const bool removes = std::any_of(
      changes.front().begin(), changes.front().end(),
      [](const std::string& change) { return change.find('=') == std::string::npos; });
  if (!is_alike || removes) app.own_environment = std::move(changes);
}

// A folder for the answers, which is removed with this object.
class Files {
 public:
  Files() {
    const char* place = std::getenv("TMPDIR");
    path_ = std::string(place != nullptr && *place != 0 ? place : "/tmp") +
            "/mpcrun-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Files() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<> ask_script(job::JobSpec& spec, job::AppSpec& app, int first_rank, int size) {
  const Files files;
  if (files.path().empty())
    return {Errc::kSystem,
            fmt::format("a folder in TMPDIR or /tmp: {}", std::strerror(errno))};
  const std::string& folder =
      app.working_directory.empty() ? spec.working_directory : app.working_directory;
  const auto answers = ask(app, folder, files.path(), first_rank, size);
  MPC_TRY(answers);
  const Answer& first = answers->front();
  for (size_t i = 1; i < answers->size(); ++i)
    if (!first.is_same_command((*answers)[i]))
      return {Errc::kImage,
              fmt::format("{}: the script of rank {} ends in another command or folder "
                          "than that of rank {}; put a ':' between the programs: "
                          "mpcrun -n 1 ./a : -n 7 ./b",
                          app.program, first_rank + static_cast<int>(i), first_rank)};
  std::error_code ignored;
  const std::string here = folder.empty() ? "." : folder;
  if (!std::filesystem::equivalent(here, first.folder, ignored)) {
    if (spec.apps.size() > 1)
      return {Errc::kImage,
              fmt::format("{}: the script goes to the folder {}, and a job "
                          "of several programs has one: write --wdir",
                          app.program, first.folder)};
    spec.working_directory = first.folder;
  }
  app.program = first.program;
  app.args = first.args;
  take_environments(*answers, app);
  return {};
}

}  // namespace

Result<> ask_scripts(job::JobSpec& spec) {
  int size = 0, first_rank = 0;
  for (const job::AppSpec& app : spec.apps) size += app.ranks;
  for (job::AppSpec& app : spec.apps) {
    // Each process of a job would ask for all ranks.
    if (is_script(app) && spec.processes == 1 && app.ranks > 0)
      MPC_TRY(ask_script(spec, app, first_rank, size));
    first_rank += app.ranks;
  }
  return {};
}

}  // namespace mpc::tools
