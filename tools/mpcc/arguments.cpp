#include "tools/mpcc/arguments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace mpcc {
namespace {

bool starts_with(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Language language_of(std::string_view name) {
  const auto has = [&](const char* part) {
    return name.find(part) != std::string_view::npos;
  };
  if (has("fort") || has("f77") || has("f90")) return Language::kFortran;
  if (has("xx") || has("++") || has("CC")) return Language::kCxx;
  return Language::kC;
}

// Is the compiler this wrapper? It would call itself for ever.
bool is_this_program(const std::string& compiler) {
  std::string path = compiler;
  if (path.find('/') == std::string::npos) {
    const char* folders = std::getenv("PATH");
    std::istringstream in(folders != nullptr ? folders : "");
    for (std::string folder; std::getline(in, folder, ':');) {
      path = folder + "/" + compiler;
      if (::access(path.c_str(), X_OK) == 0) break;
    }
  }
  struct stat own {
  }, other{};
  return ::stat("/proc/self/exe", &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

// Our variables first, then those of wrappers that users know.
std::string default_compiler(Language language) {
  using Names = std::array<const char*, 3>;
  const Names variables =
      language == Language::kC     ? Names{"MPC_CC", "OMPI_CC", "MPICH_CC"}
      : language == Language::kCxx ? Names{"MPC_CXX", "OMPI_CXX", "MPICH_CXX"}
                                   : Names{"MPC_FC", "OMPI_FC", "MPICH_FC"};
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0' && !is_this_program(value)) return value;
  }
  return language == Language::kC     ? MPCC_DEFAULT_CC
         : language == Language::kCxx ? MPCC_DEFAULT_CXX
                                      : MPCC_DEFAULT_FC;
}

// The quoting rules of GCC's response files: white space separates, quotes group, a
// backslash takes the next character as it is.
std::vector<std::string> split_response(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

}  // namespace

void expand(const std::string& argument, std::vector<std::string>& out, int depth) {
  if (argument.size() > 1 && argument[0] == '@' && depth < 20) {
    std::ifstream file(argument.substr(1));
    if (file) {
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (const std::string& word : split_response(text)) expand(word, out, depth + 1);
      return;
    }
  }
  out.push_back(argument);
}

namespace {

// Our programs must not be position-independent executables: the thread_locals and the copies of
// library variables of these cannot be private. The options are silently replaced, because build
// systems add them by default.
bool is_dropped(std::string_view a) {
  static const std::set<std::string_view> dropped = {
      "-fPIE",    "-fpie",    "-pie",     "-no-pie",  "-nopie",      "-fno-pie",
      "-fno-PIE", "-fno-pic", "-fno-PIC", "-Wl,-pie", "-Wl,-no-pie", "-fpic"};
  return dropped.count(a) > 0;
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

// An input that the compiler proper does not read.
bool is_for_linker(std::string_view file) {
  return ends_with(file, ".o") || ends_with(file, ".lo") || ends_with(file, ".a") ||
         ends_with(file, ".so") || file.find(".so.") != std::string_view::npos;
}

// Options whose value is the next argument.
bool takes_value(std::string_view a) {
  static const std::set<std::string_view> with_value = {"-o",
                                                        "-x",
                                                        "-I",
                                                        "-L",
                                                        "-D",
                                                        "-U",
                                                        "-l",
                                                        "-include",
                                                        "-isystem",
                                                        "-iquote",
                                                        "-idirafter",
                                                        "-imacros",
                                                        "-iprefix",
                                                        "-MF",
                                                        "-MT",
                                                        "-MQ",
                                                        "-T",
                                                        "-u",
                                                        "-e",
                                                        "-z",
                                                        "-Xlinker",
                                                        "-Xassembler",
                                                        "-Xpreprocessor",
                                                        "-Xclang",
                                                        "-isysroot",
                                                        "--sysroot",
                                                        "-J",
                                                        "-B",
                                                        "--param",
                                                        "-aux-info",
                                                        "-target",
                                                        "-mllvm",
                                                        "-arch",
                                                        "-h",
                                                        "-R",
                                                        "-specs"};
  return with_value.count(a) > 0;
}

bool is_inquiry(std::string_view a) {
  return a == "--version" || a == "-dumpversion" || a == "-dumpmachine" ||
         a == "-dumpfullversion" || a == "-dumpspecs" || a == "--target-help" ||
         starts_with(a, "-print-") || starts_with(a, "--print-") ||
         starts_with(a, "--help");
}

bool is_compile_only(std::string_view a) {
  return a == "-c" || a == "-S" || a == "-E" || a == "-M" || a == "-MM" ||
         a == "-fsyntax-only" || a == "--precompile" || a == "--preprocess" ||
         a == "--compile" || a == "--assemble";
}

// Makes an executable's symbols visible to libraries that it loads later.
bool is_export_flag(std::string_view a) {
  for (const std::string_view flag :
       {"-rdynamic", "-Wl,-E", "-Wl,-export-dynamic", "-Wl,--export-dynamic"})
    if (a == flag) return true;
  return starts_with(a, "-Wl,") &&
         (a.find(",--export-dynamic,") != std::string_view::npos ||
          a.find(",-E,") != std::string_view::npos);
}

// mpcxx -cc=clang-14 means clang++-14: the C driver would not link the C++ library.
std::string cxx_driver(const std::string& compiler) {
  const size_t slash = compiler.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  for (const auto& [c, cxx] :
       {std::pair{"clang", "clang++"}, std::pair{"gcc", "g++"}}) {
    const size_t length = std::strlen(c);
    if (compiler.compare(name, length, c) != 0) continue;
    const bool is_whole =
        name + length == compiler.size() || compiler[name + length] == '-';
    if (is_whole)
      return compiler.substr(0, name) + cxx + compiler.substr(name + length);
  }
  return compiler;
}

// Options of the wrapper. Returns false if `a` is none.
bool take_own(const std::string& a, Arguments& result) {
  const auto value_of = [&](std::string_view head) { return a.substr(head.size()); };
  if (a == "-show" || a == "-showme" || a == "--showme" || a == "--show") {
    result.show = true;
  } else if (a == "-compile_info" || a == "-compile-info") {
    result.query = "compile_info";
  } else if (a == "-link_info" || a == "-link-info") {
    result.query = "link_info";
  } else if (starts_with(a, "-showme:") || starts_with(a, "--showme:")) {
    result.query = a.substr(a.find(':') + 1);
    result.help = result.query == "help";
  } else if (a == "-mpc-version") {
    result.query = "version";
  } else if (a == "-mpc-help" || a == "-help") {
    result.help = true;
  } else if (starts_with(a, "-cc=") && result.language != Language::kFortran) {
    result.compiler = value_of("-cc=");
    if (result.language == Language::kCxx)
      result.compiler = cxx_driver(result.compiler);
  } else if (starts_with(a, "-CC=") || starts_with(a, "-cxx=") ||
             starts_with(a, "-fc=") || starts_with(a, "-f90=") ||
             starts_with(a, "-f77=")) {
    result.compiler = a.substr(a.find('=') + 1);
  } else {
    return false;
  }
  return true;
}

// -build-modules, perhaps with a folder; `i` becomes the index of the last word taken.
bool take_modules(const std::vector<std::string>& all, size_t& i, Arguments& result) {
  if (all[i] != "-build-modules" && all[i] != "--build-modules") return false;
  result.builds_modules = true;
  if (i + 1 < all.size() && all[i + 1][0] != '-') result.modules_directory = all[++i];
  return true;
}

// Refuses options that are impossible, and notes those that do not have the expected effect.
void judge(const std::string& a, Arguments& result) {
  if (a == "-static" || a == "--static" || a == "-static-pie" || a == "-Wl,-static")
    result.error = a +
                   ": a statically linked program cannot have private data for each "
                   "rank; leave it out (static libraries, -static-libgcc and "
                   "-static-libstdc++ are fine)";
  if (a == "-pg" || a == "-p")
    result.note =
        a +
        ": ranks of one process write no gmon.out; use 'perf record -g mpcrun ...', "
        "which sees the functions of all ranks";
}

bool has_ending_of(const std::string& file,
                   std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return ends_with(file, ending); });
}
bool is_c_source(const std::string& file) {
  return has_ending_of(file,
                       {".c", ".i", ".S", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C"});
}
bool is_fortran_source(const std::string& file) {
  const size_t dot = file.rfind('.');
  return dot != std::string::npos && dot + 1 < file.size() &&
         (file[dot + 1] == 'f' || file[dot + 1] == 'F');
}

}  // namespace

Arguments parse(int argc, char** argv) {
  Arguments result;
  const std::string_view name = base_name(argc > 0 ? argv[0] : "mpcc");
  result.language = language_of(name);
  result.compiler = default_compiler(result.language);
  std::vector<std::string> all;
  for (int i = 1; i < argc; ++i) expand(argv[i], all, 0);

  bool compile_only = false, inquiry = false, shared = false, partial = false;
  bool assembles = false, compiles = false, has_c = false, has_fortran = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& a = all[i];
    if (take_own(a, result) || take_modules(all, i, result) || is_dropped(a)) continue;
    judge(a, result);
    result.user.push_back(a);
    if (a.empty() || a[0] != '-' || a == "-") {
      result.has_input = true;
      has_c = has_c || is_c_source(a);
      has_fortran = has_fortran || is_fortran_source(a);
      if (ends_with(a, ".s")) {
        assembles = true;
      } else if (!is_for_linker(a)) {
        compiles = true;
      }
    } else if (takes_value(a)) {
      if (a == "-l") result.has_input = true;
      if (i + 1 < all.size()) {
        result.user.push_back(all[++i]);
        if (a == "-o") result.output = all[i];
      }
    } else if (starts_with(a, "-o")) {
      result.output = a.substr(2);
    } else if (starts_with(a, "-l")) {
      result.has_input = true;
    } else if (is_compile_only(a)) {
      compile_only = true;
    } else if (is_inquiry(a)) {
      inquiry = true;
    } else if (a == "-shared" || a == "--shared" || a == "-Wl,-shared" ||
               a == "-dynamiclib") {
      shared = true;
    } else if (a == "-r" || a == "-Wl,-r" || a == "-Wl,--relocatable") {
      partial = true;
    } else if (starts_with(a, "-fsanitize=")) {
      result.uses_sanitizer = true;
    } else if (a == "-fsemantic-interposition") {
      result.keeps_interposition = true;
    } else if (is_export_flag(a)) {
      result.exports_all = true;
    }
  }
  result.only_assembles = assembles && !compiles;
  result.has_fortran = has_fortran || !has_c;
  result.step = inquiry || !result.has_input ? Step::kInquiry
                : compile_only               ? Step::kCompile
                : partial                    ? Step::kLinkPartial
                : shared                     ? Step::kLinkLibrary
                                             : Step::kLinkProgram;
  return result;
}

}  // namespace mpcc
