// mpcc, mpcxx, mpcfort: call the distribution's compilers with the options that our programs need.
//
// One program, three names. Compiling adds -fPIC and the directory of mpi.h; linking a program
// makes an executable shared object (runtime/loader/start.S) and adds libmpi_abi. Everything
// is found relative to the place of this file, so an installation can be moved.
//
// See also: docs/mpcc.md.
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tools/mpcc/arguments.h"
#include "tools/mpcc/build_modules.h"
#include "tools/mpcc/elf_patch.h"

namespace mpcc {
namespace {

struct Prefix {
  std::string include;
  std::string library;  // directory of libmpi_abi.so
  std::string parts;    // directory of start.o and dynamic-list
  std::string names;    // directory of libmpi.so, which is libmpi_abi.so
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// bin/mpcc lies beside include/ and lib/, in an installation as in a build folder.
Prefix find_prefix() {
  char buffer[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", buffer, sizeof buffer - 1);
  std::string root = length > 0 ? std::string(buffer, static_cast<size_t>(length)) : "";
  for (int i = 0; i < 2; ++i) root = root.substr(0, root.rfind('/'));
  Prefix prefix;
  prefix.include = root + "/include";
  prefix.library = root + "/lib";
  for (const char* directory : {"lib", MPCC_LIBDIR, "lib64"})
    if (exists(root + "/" + directory + "/mpc/start.o")) {
      prefix.library = root + "/" + directory;
      break;
    }
  prefix.parts = prefix.library + "/mpc";
  prefix.names = root + "/compat/lib";
  return prefix;
}

using Words = std::vector<std::string>;

void append(Words& to, const Words& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// CMake calls Debian's f95, which is a link to it.
bool is_gfortran(const std::string& compiler) {
  char path[PATH_MAX];
  return compiler.find("gfortran") != std::string::npos ||
         (compiler[0] == '/' && ::realpath(compiler.c_str(), path) != nullptr &&
          std::strstr(path, "gfortran") != nullptr);
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Masquerades: links with a compiler's name to a program that calls the compiler which stands behind
// them in PATH, as Debian's /usr/lib/ccache/cc.
bool is_masquerade(const std::string& file) {
  const std::string name = file_name(file);
  return name == "ccache" || name == "sccache" || name == "distcc" || name == "icecc";
}

// The file that a path leads to; behind a masquerade, of the compiler that it calls.
std::string compiler_file(const std::string& compiler) {
  char path[PATH_MAX];
  if (compiler[0] != '/' || ::realpath(compiler.c_str(), path) == nullptr)
    return compiler;
  if (!is_masquerade(path)) return path;
  const char* const all = std::getenv("PATH");
  std::istringstream directories(all != nullptr ? all : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = directory + "/" + file_name(compiler);
    if (::access(candidate.c_str(), X_OK) == 0 &&
        ::realpath(candidate.c_str(), path) != nullptr && !is_masquerade(path))
      return path;
  }
  return compiler;
}

// Debian's cc is a link to a link to gcc.
bool is_gcc(const std::string& compiler) {
  const std::string name = compiler_file(compiler);
  if (name.find("clang") != std::string::npos) return false;
  return name.find("gcc") != std::string::npos ||
         name.find("g++") != std::string::npos || is_gfortran(name);
}

// Does it look for its linker where -B says? Other compilers (nvfortran, flang) do not know that option.
bool knows_folders_of_tools(const std::string& compiler) {
  const std::string name = file_name(compiler);
  return is_gcc(compiler) ||
         compiler_file(compiler).find("clang") != std::string::npos || name == "cc" ||
         name == "c++" || name == "f95";
}

Words compile_flags(const Arguments& a, const Prefix& prefix) {
  Words flags = {"-fPIC"};
  // A program's own functions are never replaced from outside: let them be inlined.
  // Clang calls this one and the next unused when it only assembles.
  if (!a.keeps_interposition && !a.only_assembles)
    flags.push_back("-fno-semantic-interposition");
  // A frame larger than the guard of a stack must not step over it: below lies another rank's.
  if (!a.only_assembles) flags.push_back("-fstack-clash-protection");
  // mpif.h declares no interfaces, so calls with buffers of different types look like mistakes.
  // gfortran compiles C, too, and says there that it does not know the flag.
  if (a.language == Language::kFortran && a.has_fortran && is_gfortran(a.compiler))
    flags.push_back("-fallow-argument-mismatch");
  if (a.language == Language::kFortran) {
    const std::string modules = modules_directory(prefix.parts, a.compiler);
    if (exists(modules)) flags.push_back("-I" + modules);
  }
  flags.push_back("-I" + prefix.include);
  return flags;
}

// The options that make the output an executable shared object.
Words program_flags(const Arguments& a, const Prefix& prefix,
                    const std::string& start = "start.o") {
  Words flags = {"-Wl,-e,mpc_start", "-Wl,-z,now",
                 "-Wl,--dynamic-list=" + prefix.parts + "/dynamic-list",
                 "-Wl," + prefix.parts + "/" + start};
  // Compilers look for the linker there first (linker.cpp).
  if (knows_folders_of_tools(a.compiler))
    flags.push_back("-B" + prefix.parts + "/link/");
  // An executable must not have undefined symbols (configure scripts rely on it). Clang
  // leaves those of a sanitizer to the program that loads the library.
  if (!a.uses_sanitizer) flags.insert(flags.begin() + 2, "-Wl,-z,defs");
  // A shared object exports all its symbols anyhow; this tells the loader whether plugins
  // see them before their own. (runtime/loader/image.cpp looks for this symbol.)
  if (a.exports_all) flags.push_back("-Wl,--defsym=mpc_exports_all=0");
  return flags;
}

Words library_flags(const Prefix& prefix) {
  return {"-L" + prefix.library, "-Wl,-rpath," + prefix.library, "-lmpi_abi"};
}

// Makefiles say -lmpi, or -lmpich, also where they link by a wrapper. It must not be another MPI's,
// which may be installed, too.
bool names_a_library_of_mpi(const Words& user) {
  return std::any_of(user.begin(), user.end(), [](const std::string& word) {
    return word.rfind("-lmpi", 0) == 0;
  });
}

// For projects that link with the plain compiler and our flags (CMake's FindMPI): the driver
// believes that it links an ordinary program, the linker makes a shared object. Such projects
// give the flags to their shared libraries, too (StarPU), which have no main().
Words link_flags_for_others(const Arguments& a, const Prefix& prefix) {
  Words flags = {"-Wl,-shared"};
  append(flags, program_flags(a, prefix, "start-others.o"));
  append(flags, library_flags(prefix));
  return flags;
}

Words command(const Arguments& a, const Prefix& prefix) {
  Words words = {a.compiler};
  if (a.step == Step::kInquiry && !a.show) {
    append(words, a.user);
    return words;
  }
  append(words, compile_flags(a, prefix));
  if (a.step == Step::kLinkProgram) {
    words.push_back("-shared");
    append(words, program_flags(a, prefix));
  }
  append(words, a.user);
  if (a.step == Step::kLinkProgram || a.step == Step::kLinkLibrary) {
    if (names_a_library_of_mpi(a.user)) words.push_back("-L" + prefix.names);
    append(words, library_flags(prefix));
  }
  if (a.step == Step::kInquiry) append(words, link_flags_for_others(a, prefix));
  return words;
}

std::string quoted(const std::string& word) {
  if (word.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~") == std::string::npos &&
      !word.empty())
    return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void print(const Words& words) {
  std::string line;
  for (const std::string& word : words)
    line += (line.empty() ? "" : " ") + quoted(word);
  std::puts(line.c_str());
}

// Is the caller CMake's module FindMPI? It sets a variable that wrappers of other MPIs read.
bool is_asked_by_cmake() {
  for (const char* name : {"I_MPI_DEBUG_INFO_STRIP", "I_MPI_FORT_BIND"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || std::strcmp(value, "disable") != 0) return false;
  }
  return true;
}

// FindMPI drops an option -fPIC, since other MPIs do not rely on it. But it keeps the text behind a
// semicolon inside another option, and turns that into an option of its own.
void print_for_cmake(const Words& flags) {
  std::string line;
  bool is_said = false;
  for (const std::string& flag : flags) {
    if (flag == "-fPIC") continue;
    line += (line.empty() ? "" : " ") + flag;
    if (!is_said && flag.compare(0, 2, "-f") == 0) line += "\\;-fPIC";
    is_said = is_said || flag.compare(0, 2, "-f") == 0;
  }
  std::puts(line.c_str());
}

// FindMPI drops any -z, and uses the options that it keeps for programs and libraries alike. Then
// programs
// could have undefined symbols, and check_function_exists would find every function. GCC's specs
// can ask what is linked. They pass as a part of another option, which is cut at the semicolon
// later.
void print_link_for_cmake(Words flags, const Arguments& a, const Prefix& prefix) {
  if (knows_folders_of_tools(a.compiler))
    flags.front() += ";-B" + prefix.parts + "/link/";
  if (is_gcc(a.compiler)) flags.front() += ";-specs=" + prefix.parts + "/program.specs";
  std::string line;
  for (const std::string& flag : flags) line += (line.empty() ? "" : " ") + flag;
  std::puts(line.c_str());
}

// MPICH prints the compiler, too; scripts that parse its output skip the first word.
Words with_compiler(const Arguments& a, const Words& flags) {
  Words words = {a.compiler};
  append(words, flags);
  return words;
}

int answer_query(const Arguments& a, const Prefix& prefix) {
  const std::string& q = a.query;
  if (q == "compile" && is_asked_by_cmake()) {
    print_for_cmake(compile_flags(a, prefix));
  } else if (q == "compile") {
    print(compile_flags(a, prefix));
  } else if (q == "link" && is_asked_by_cmake()) {
    print_link_for_cmake(link_flags_for_others(a, prefix), a, prefix);
  } else if (q == "link") {
    print(link_flags_for_others(a, prefix));
  } else if (q == "compile_info") {
    print(with_compiler(a, compile_flags(a, prefix)));
  } else if (q == "link_info") {
    print(with_compiler(a, link_flags_for_others(a, prefix)));
  } else if (q == "incdirs") {
    print({prefix.include});
  } else if (q == "libdirs") {
    print({prefix.library});
  } else if (q == "libs") {
    print({"mpi_abi"});
  } else if (q == "command") {
    print({a.compiler});
  } else if (q == "version") {
    std::puts("mpc " MPCC_VERSION);
  } else {
    std::fprintf(stderr, "mpcc: -showme:%s is not known\n", q.c_str());
    return 1;
  }
  return 0;
}

void print_help(const Arguments& a) {
  std::printf(
      "Usage: mpcc|mpcxx|mpcfort [compiler options] files...\n"
      "Compiles and links MPI programs with %s, so that mpcrun can run them as ranks.\n"
      "  -show            print the command instead of running it\n"
      "  -compile_info    print the compiler with what is added when compiling\n"
      "  -link_info       print the compiler with what is added when linking\n"
      "  -showme:WHAT     compile, link: what is added; command, incdirs, libdirs, "
      "libs,\n"
      "                   version\n"
      "  -cc=C -cxx=C -fc=C   use the compiler C (also MPC_CC, MPC_CXX, MPC_FC, and "
      "those\n"
      "                   of other MPIs: OMPI_CC, MPICH_CC ...)\n"
      "  -build-modules [DIR]  mpcfort: compile the modules mpi and mpi_f08 for this "
      "compiler\n"
      "                   (DIR: give it by -I; without DIR they are found by "
      "themselves)\n"
      "  -shared          make a shared library, as usual\n"
      "  -mpc-version     print the version\n"
      "All else is for the compiler. -static cannot work; -fPIE, -pie and -no-pie are\n"
      "left out.\n",
      a.compiler.c_str());
}

// The compiler may be more than one word ("ccache gcc").
Words split_compiler(const Words& words) {
  Words result;
  const std::string& compiler = words[0];
  for (size_t begin = 0; begin < compiler.size();) {
    const size_t end = std::min(compiler.find(' ', begin), compiler.size());
    if (end > begin) result.push_back(compiler.substr(begin, end - begin));
    begin = end + 1;
  }
  result.insert(result.end(), words.begin() + 1, words.end());
  return result;
}

int run(const Arguments& a, const Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int error = 0;
  if (a.step != Step::kLinkProgram) {
    ::execvp(argv[0], argv.data());
    error = errno;
  } else {
    pid_t child = 0;
    error = ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ);
    if (error == 0) {
      int status = 0;
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      if (status == 0) add_debug_entry(a.output);
      if (WIFSIGNALED(status)) ::raise(WTERMSIG(status));
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
  }
  std::fprintf(stderr,
               "mpcc: cannot run the compiler '%s': %s (choose another one with -cc=, "
               "MPC_CC, MPC_CXX or MPC_FC)\n",
               argv[0], std::strerror(error));
  return 127;
}

int main(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  const Prefix prefix = find_prefix();
  if (a.help) {
    print_help(a);
    return 0;
  }
  if (!a.query.empty()) return answer_query(a, prefix);
  if (a.builds_modules) {
    Words compiler = split_compiler({a.compiler});
    append(compiler, a.user);
    return build_modules(compiler, prefix.include,
                         a.modules_directory.empty()
                             ? modules_directory(prefix.parts, a.compiler)
                             : a.modules_directory);
  }
  if (!a.error.empty() && a.step != Step::kInquiry) {
    std::fprintf(stderr, "mpcc: %s\n", a.error.c_str());
    return 1;
  }
  if (!a.note.empty() && a.step == mpcc::Step::kLinkProgram)
    std::fprintf(stderr, "mpcc: note: %s\n", a.note.c_str());
  const Words words = command(a, prefix);
  if (a.show) {
    print(words);
    return 0;
  }
  return run(a, split_compiler(words));
}

}  // namespace
}  // namespace mpcc

int main(int argc, char** argv) { return mpcc::main(argc, argv); }
