#include "runtime/job/one_of_many.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/job/exit_status.h"
#include "runtime/job/hosted_process.h"
#include "runtime/wireup/starter.h"

namespace mpc::job {
namespace {

using wireup::Starter;

// Is there the note of runtime/loader/start.S?
bool has_our_note(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object.dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      at += sizeof note;
      if (note.n_namesz == 4 && std::memcmp(at, "mpc", 4) == 0) return true;
      at += (note.n_namesz + 3) / 4 * 4 + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return false;
}

// False for mpcrun and other tools, and for a Python that loads this library.
bool is_program_of_mpcc() {
  int out = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* result) {
        *static_cast<int*>(result) = has_our_note(*object) ? 1 : 0;
        return 1;  // the program itself comes first
      },
      &out);
  return out != 0;
}

bool is_same_file(const std::string& a, const char* b) {
  struct stat one, other;
  return ::stat(a.c_str(), &one) == 0 && ::stat(b, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// The program as it was called, if that is a path.
std::string own_program(const char* called) {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string own(path, length > 0 ? static_cast<size_t>(length) : 0);
  const bool is_path = called != nullptr && std::strchr(called, '/') != nullptr;
  return is_path && is_same_file(own, called) ? called : own;
}

// mpcrun has started a script to learn which command it runs in the end. A script that starts
// several programs answers several times.
[[noreturn]] void answer_mpcrun(const char* file, int argc, char** argv) {
  char folder[4096] = "";
  if (::getcwd(folder, sizeof folder) == nullptr) folder[0] = 0;
  std::string text = std::to_string(::getpid()) + '\0' + folder + '\0' +
                     own_program(argc > 0 ? argv[0] : nullptr) + '\0' +
                     std::to_string(std::max(argc - 1, 0)) + '\0';
  for (int i = 1; i < argc; ++i) (text += argv[i]) += '\0';
  for (char** entry = environ; *entry != nullptr; ++entry) (text += *entry) += '\0';
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool is_written = fd >= 0 && ::write(fd, text.data(), text.size()) ==
                                         static_cast<ssize_t>(text.size());
  ::_exit(is_written ? 0 : kExitLaunch);
}

void become_mpcrun(const Starter& starter, int argc, char** argv) {
  std::string program = own_program(argc > 0 ? argv[0] : nullptr);
  // If the launcher does not say how many there are, mpcrun finds out.
  std::string ranks = std::to_string(starter.processes > 0 ? starter.processes : 1);
  std::string words[] = {"mpcrun", "-n", ranks, "--", program};
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  for (int i = 1; i < argc; ++i) command.push_back(argv[i]);
  command.push_back(nullptr);
  for (const std::string& path : places_of_mpcrun())
    ::execv(path.c_str(), command.data());
}

// Before main, so nothing has been done yet that would be done twice. The dynamic linker passes
// these arguments to every such function.
__attribute__((constructor)) void look_for_starter(int argc, char** argv, char**) {
  if (!is_program_of_mpcc() || is_hosted_process()) return;
  if (const char* file = std::getenv(kScriptVariable)) answer_mpcrun(file, argc, argv);
  const Starter starter = wireup::find_starter();
  if (starter.kind == Starter::Kind::kPmix) become_mpcrun(starter, argc, argv);
}

}  // namespace

std::vector<std::string> places_of_mpcrun() {
  Dl_info info{};
  static constexpr char kInThisLibrary = 0;
  std::vector<std::string> out;
  if (::dladdr(&kInThisLibrary, &info) != 0 && info.dli_fname != nullptr) {
    std::string folder = info.dli_fname;
    folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    for (const char* way : {"/../bin/mpcrun", "/../../bin/mpcrun"})
      out.push_back(folder + way);
  }
  return out;
}

void refuse_to_be_one_of_many() {
  const Starter starter = wireup::find_starter();
  if (starter.kind == Starter::Kind::kNone || starter.processes == 0) return;
  const std::string program = own_program(nullptr);
  const std::string count = std::to_string(starter.processes);
  const std::string text = starter.kind == Starter::Kind::kOther
                               ? wireup::refusal(starter, program)
                               : std::string(starter.name) + " has started " + program +
                                     " " + count + " times: write '" + starter.name +
                                     " ... mpcrun -n " + count + " " + program +
                                     " ...'; for " + count +
                                     " jobs of their own unset " + starter.variable;
  if (starter.is_first()) std::fprintf(stderr, "mpcrun: %s\n", text.c_str());
  ::_exit(kExitLaunch);
}

}  // namespace mpc::job
