#include "tools/mpcc/build_modules.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace mpcc {
namespace {

int run_and_wait(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error =
          ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ)) {
    std::fprintf(stderr, "mpcc: cannot run the compiler '%s': %s\n", argv[0],
                 std::strerror(error));
    return 127;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

std::string modules_directory(const std::string& parts, const std::string& compiler) {
  const std::string last = compiler.substr(compiler.rfind(' ') + 1);  // "ccache ifx"
  return parts + "/modules/" + last.substr(last.rfind('/') + 1);
}

int build_modules(const std::vector<std::string>& compiler, const std::string& include,
                  const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  // All compilers write modules to the working directory unless told otherwise, each by an
  // option of its own.
  if (::chdir(directory.c_str()) != 0) {
    std::fprintf(stderr, "mpcc: cannot use the folder %s: %s\n", directory.c_str(),
                 std::strerror(errno));
    return 1;
  }
  for (const char* name : {"mpi_f08_types", "mpi", "mpi_f08"}) {
    std::vector<std::string> words = compiler;
    const std::string object = std::string(name) + ".o";
    words.insert(words.end(),
                 {"-I.", "-c", include + "/" + name + ".f90", "-o", object});
    const int status = run_and_wait(words);
    ::unlink(object.c_str());  // the modules have no code
    if (status != 0) return status;
  }
  std::printf("Modules mpi and mpi_f08 for %s: %s\n", compiler.back().c_str(),
              std::filesystem::current_path(error).c_str());
  return 0;
}

}  // namespace mpcc
