// ld: stands before the linker when a program is linked (compilers find it by -B, see mpcc.cpp).
//
// It runs the linker as it is told. If the linker refuses because some code was not compiled with -fPIC (libraries
// of a project that do not know of MPI), it links the same once more as an executable, which may hold such code, with
// what the loader needs to make that private (start-room.S). Whatever else it is asked for, it leaves to the linker.
//
// See also: docs/design/0052-code-without-pic.md; runtime/loader/copied_variables.h.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tools/mpcc/arguments.h"

namespace mpcc {
namespace {

using Words = std::vector<std::string>;

// Linux takes no more than 128 KiB a word and some MiB in all.
constexpr size_t kMostArgumentBytes = size_t{256} * 1024;

bool ends_with(const std::string& text, const std::string& tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// The next one of this name: where the compiler looks for its parts, then in PATH.
std::string find_linker(const std::string& name) {
  for (const char* variable : {"COMPILER_PATH", "PATH"}) {
    const char* folders = std::getenv(variable);
    std::istringstream in(folders != nullptr ? folders : "");
    for (std::string folder; std::getline(in, folder, ':');) {
      std::string path = folder + "/";
      path += name;
      if (::access(path.c_str(), X_OK) == 0 && !is_same_file(path, "/proc/self/exe"))
        return path;
    }
  }
  return "/usr/bin/" + name;
}

struct Job {
  std::string name;    // by which this program was called
  std::string linker;  // the real one
  Words words;         // for it, response files expanded
  std::string parts;   // folder of start-room.o; "": this is no program of ours
};

// mpcc names start.o in programs only; options for others name start-others.o, also when they link libraries, which
// have no program interpreter.
Job parse_job(int argc, char** argv) {
  Job job;
  const std::string path = argv[0];
  job.name = path.substr(path.rfind('/') + 1);
  job.linker = find_linker(job.name);
  std::string others;
  bool has_interpreter = false;
  for (int i = 1; i < argc; ++i) expand(argv[i], job.words, 0);
  for (const std::string& word : job.words) {
    if (ends_with(word, "/mpc/start.o"))
      job.parts = word.substr(0, word.rfind('/'));
    else if (ends_with(word, "/mpc/start-others.o"))
      others = word.substr(0, word.rfind('/'));
    else if (word.rfind("-dynamic-linker", 0) == 0 ||
             word.rfind("--dynamic-linker", 0) == 0)
      has_interpreter = true;
  }
  if (job.parts.empty() && has_interpreter) job.parts = others;
  return job;
}

std::vector<char*> pointers(Words& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

int report(const std::string& linker, int error) {
  std::fprintf(stderr, "mpcc: cannot run the linker '%s': %s\n", linker.c_str(),
               std::strerror(error));
  return 1;
}

struct Outcome {
  int status = 0;    // of waitpid()
  std::string text;  // what it said
};

// Runs the linker, and keeps what it writes to standard error.
Outcome run(const std::string& linker, Words words) {
  Outcome outcome;
  words.insert(words.begin(), linker);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::exit(report(linker, errno));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, linker.c_str(), &actions, nullptr,
                                  pointers(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) std::exit(report(linker, error));
  ::close(ends[1]);
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count > 0) outcome.text.append(buffer, static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  ::close(ends[0]);
  while (::waitpid(child, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  return outcome;
}

// All linkers name the relocation that they refuse, in every language.
bool is_about_code(const Outcome& outcome) {
  return WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) != 0 &&
         outcome.text.find("R_X86_64_") != std::string::npos;
}

bool asks_for_library(const std::string& word) {
  return word == "-shared" || word == "--shared" || word == "-Bshareable" ||
         word == "-no-pie" || word == "--no-pie";
}

Words words_of_executable(const Job& job) {
  Words words;
  std::copy_if(job.words.begin(), job.words.end(), std::back_inserter(words),
               [](const std::string& word) { return !asks_for_library(word); });
  // The interpreter stands in start.o.
  for (const char* word : {"-pie", "--export-dynamic", "--no-dynamic-linker"})
    words.emplace_back(word);
  words.push_back(job.parts + "/start-room.o");
  return words;
}

// A response file with these words, which the caller removes. "": there is none.
std::string write_response(const Words& words) {
  char path[] = "/tmp/mpcc-link-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) return "";
  ::close(fd);
  std::ofstream file(path);
  for (const std::string& word : words) {
    for (const char c : word) {
      if (std::strchr(" \t\n\\'\"", c) != nullptr) file << '\\';
      file << c;
    }
    file << '\n';
  }
  return file.flush() ? path : "";
}

Outcome run_as_executable(const Job& job) {
  const Words words = words_of_executable(job);
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + 1;
  if (bytes < kMostArgumentBytes) return run(job.linker, words);
  const std::string response = write_response(words);
  if (response.empty()) std::exit(report(job.linker, E2BIG));
  Outcome outcome = run(job.linker, {"@" + response});
  ::unlink(response.c_str());
  return outcome;
}

int finish(const Outcome& outcome) {
  std::fputs(outcome.text.c_str(), stderr);
  if (WIFSIGNALED(outcome.status)) ::raise(WTERMSIG(outcome.status));
  return WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status) : 1;
}

int main(int argc, char** argv) {
  const Job job = parse_job(argc, argv);
  if (job.parts.empty()) {
    std::vector<char*> words(argv, argv + argc);
    words[0] = const_cast<char*>(job.linker.c_str());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    return report(job.linker, errno);
  }
  Words words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  const Outcome first = run(job.linker, words);
  if (!is_about_code(first)) return finish(first);
  const Outcome second = run_as_executable(job);
  const int status = finish(second);
  if (is_about_code(second))
    std::fputs(
        "mpcc: the object above, or the archive that it belongs to, was compiled for a "
        "fixed address, so a rank "
        "cannot have it for itself: compile it with -fPIC (CFLAGS=-fPIC, "
        "-DCMAKE_C_FLAGS=-fPIC, CMAKE_POSITION_INDEPENDENT_CODE=ON), or by mpcc\n",
        stderr);
  return status;
}

}  // namespace
}  // namespace mpcc

int main(int argc, char** argv) { return mpcc::main(argc, argv); }
