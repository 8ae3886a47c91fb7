#include "runtime/job/interpreter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "runtime/job/program_files.h"
#include "runtime/job/script.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/program_check.h"
#include "runtime/loader/tool_hints.h"

namespace mpc::job {
namespace {

using loader::ElfFile;

constexpr std::string_view kDigits = "0123456789";
// Interpreters whose library contains everything except main();
// tools/interpreter knows the same entries.
struct Kind {
  std::string_view name;     // of the program, before its version
  std::string_view so_name;  // how the name of its library begins
  const char* entry;
  const char* asks;  // code that prints the path of the interpreter that runs it
};
constexpr Kind kKinds[] = {
    {"python", "libpython", "Py_BytesMain", "import sys; print(sys.executable)"},
    {"tclsh", "libtcl", "Tcl_MainEx", nullptr},
};
constexpr int kMaxScripts =
    4;  // a script's interpreter may be a script: Linux follows as many

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// "3.11d" of "/usr/bin/python3.11d".
std::string_view version_of(std::string_view path, const Kind& kind) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(kind.name) ? name.substr(kind.name.size())
                                     : std::string_view{};
}

bool is_of_kind(std::string_view path, const Kind& kind) {
  if (!path.substr(path.rfind('/') + 1).starts_with(kind.name)) return false;
  std::string_view version = version_of(path, kind);
  version.remove_prefix(
      std::min(version.find_first_not_of("0123456789."), version.size()));
  return version.find_first_not_of("dmut") == std::string_view::npos;
}

const Kind* kind_of(std::string_view path) {
  for (const Kind& kind : kKinds)
    if (is_of_kind(path, kind)) return &kind;
  return nullptr;
}

// lib/mpc of the installation, or of the build folder.
std::string runner_path() {
  static constexpr char kInThisLibrary = 0;
  Dl_info info{};
  if (::dladdr(&kInThisLibrary, &info) == 0 || info.dli_fname == nullptr) return "";
  return folder_of(info.dli_fname) + "/mpc/mpcinterpreter";
}

// The standard output of a command; "": it failed.
std::string output_of(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  std::vector<char*> argv, envp;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& entry : environment)
    envp.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t n; error == 0 && (n = ::read(ends[0], bytes, sizeof bytes)) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(bytes, static_cast<size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  if (error != 0) return "";
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? text.substr(0, text.find('\n')) : "";
}

// The file that the dynamic linker would load if the interpreter is linked with its library; else
// the one of the same installation, by its name. "": there is none.
std::string find_library_of(const ElfFile& program, const Kind& kind) {
  for (const std::string& name : program.needed())
    if (name.starts_with(kind.so_name))
      return loader::find_library(name, {&program, {}});
  const std::string name = library_of_interpreter(program.path());
  if (name.empty()) return "";
  const std::string prefix = folder_of(folder_of(program.path()));
  for (const char* folder : {"/lib/", "/lib/x86_64-linux-gnu/", "/lib64/"})
    if (std::string path = prefix + folder + name; ::access(path.c_str(), R_OK) == 0)
      return path;
  return "";
}

Error has_no_library(const ElfFile& program, const Kind& kind) {
  const std::string name = library_of_interpreter(program.path());
  return Error{
      Errc::kImage,
      fmt::format("{}: ranks have copies of an interpreter's library, and this one has "
                  "none ({}) in its installation; install it (Debian: apt install "
                  "libpython3.11), build the interpreter with --enable-shared, {}",
                  program.path(),
                  name.empty() ? fmt::format("{}.so", kind.so_name) : name,
                  loader::kOwnProcess)};
}

// A version manager's python3 is a script that searches for the right one: it is asked which.
Result<> ask_script(Start& start, const Kind& kind,
                    const std::vector<std::string>& environment) {
  std::string executable;
  if (kind.asks != nullptr)
    executable = output_of({start.path, "-c", kind.asks}, environment);
  if (executable.empty() || executable.front() != '/')
    return Error{Errc::kImage,
                 fmt::format("{}: is a script that does not say which {} it starts; "
                             "name that one",
                             start.path, kind.name)};
  start.path = start.arguments.front() = executable;
  start.file = absolute(executable);
  return {};
}

// Uses the library in place of the program.
Result<> take_library(Start& start, const Kind& kind,
                      const std::vector<std::string>& environment) {
  if (!head_of_script(start.path).empty())
    MPC_TRY(ask_script(start, kind, environment));
  start.image = start.path;
  auto program = ElfFile::open(start.file);
  if (!program || loader::format_version(**program) != 0)
    return {};  // the loader says what is wrong; mpcc's programs run as they are
  const std::string path = find_library_of(**program, kind);
  if (path.empty()) return has_no_library(**program, kind);
  auto library = ElfFile::open(path);
  if (!library) return library.error();
  if ((*library)->find_definition(kind.entry) == nullptr)
    return Error{Errc::kImage,
                 fmt::format("{}: is too old: {} has no {}; ranks want Python 3.8 or "
                             "newer, or Tcl 8.6; take such a one, {}",
                             start.path, path, kind.entry, loader::kOwnProcess)};
  start.image = runner_path();
  start.libraries = {path};
  return {};
}

}  // namespace

bool is_interpreter(std::string_view path) { return kind_of(path) != nullptr; }

std::string library_of_interpreter(std::string_view path) {
  const Kind& python = kKinds[0];
  const std::string_view version = version_of(path, python);
  const size_t dot = version.find('.');
  if (!is_of_kind(path, python) || dot == std::string_view::npos || dot == 0 ||
      version.find_first_of(kDigits, dot) == std::string_view::npos)
    return "";
  return fmt::format("libpython{}.so.1.0", version);
}

Result<Start> find_start(const AppSpec& app,
                         const std::vector<std::string>& environment) {
  auto path = find_program(app.program);
  MPC_TRY(path);
  Start start;
  start.arguments = {app.program};
  start.arguments.insert(start.arguments.end(), app.args.begin(), app.args.end());
  for (int i = 0; i < kMaxScripts; ++i) {
    const std::vector<std::string> words = words_of_script(head_of_script(*path));
    if (words.empty() || !is_interpreter(words.front())) break;
    start.arguments.front() = *path;
    start.arguments.insert(start.arguments.begin(), words.begin(), words.end());
    path = find_program(words.front());
    MPC_TRY(path);
  }
  start.path = start.image = *path;
  start.file = absolute(*path);
  if (const Kind* kind = kind_of(*path))
    MPC_TRY(take_library(start, *kind, environment));
  return start;
}

}  // namespace mpc::job
