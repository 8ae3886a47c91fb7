// /proc/self/exe, cmdline and environ: a rank finds there its own program's, not mpcrun's; and
// /dev/stdin, the rank's own.
//
// Programs find out there where they are installed (their data are next to them), and how they were
// started. The kernel has one answer per process; so the few calls that can reach these files
// are checked here, and all others pass.

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/job/start_block.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

using job::StartBlock;

enum class Entry { kNone, kExe, kCommandLine, kEnvironment };

// Which of the three files a path means, for this process.
Entry entry_of(const char* path) noexcept {
  constexpr std::string_view kFolder = "/proc/";
  if (path == nullptr || std::strncmp(path, kFolder.data(), kFolder.size()) != 0)
    return Entry::kNone;
  const std::string_view rest(path + kFolder.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return Entry::kNone;
  const std::string_view process = rest.substr(0, slash);
  const std::string_view name = rest.substr(slash + 1);
  if (process != "self" && process != "thread-self" &&
      std::atol(path + kFolder.size()) != ::getpid())
    return Entry::kNone;
  if (name == "exe") return Entry::kExe;
  if (name == "cmdline") return Entry::kCommandLine;
  if (name == "environ") return Entry::kEnvironment;
  return Entry::kNone;
}

// The caller's rank's block, if the rank has an answer for this path.
const StartBlock* block_for(Entry entry) noexcept {
  if (entry == Entry::kNone) return nullptr;
  const job::Rank* rank = own_rank();
  return rank != nullptr ? StartBlock::of(*rank) : nullptr;
}

int open_text(std::string_view text, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    errno = EACCES;
    return -1;
  }
  const int fd = ::memfd_create("mpc-proc", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (fd < 0) return -1;
  if (::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    return fd;
  ::close(fd);
  errno = EIO;
  return -1;
}

// By name, a rank opens what its descriptor 0 is.
bool open_input(const char* path, int flags, int* fd) {
  const auto is = [&](const char* name) { return std::strcmp(path, name) == 0; };
  if (path == nullptr ||
      (!is("/dev/stdin") && !is("/dev/fd/0") && !is("/proc/self/fd/0")))
    return false;
  const int real = real_fd(STDIN_FILENO);
  if (real == STDIN_FILENO) return false;
  const std::string name = "/proc/self/fd/" + std::to_string(real);
  *fd = MPC_NEXT(open, int (*)(const char*, int, ...))(name.c_str(), flags, 0);
  return true;
}

// True: `*fd` is the answer (or -1 with errno).
bool open_own(const char* path, int flags, int* fd) {
  if (open_input(path, flags, fd)) return true;
  const Entry entry = entry_of(path);
  const StartBlock* block = block_for(entry);
  if (block == nullptr) return false;
  if (entry == Entry::kExe)
    *fd =
        MPC_NEXT(open, int (*)(const char*, int, ...))(block->file().c_str(), flags, 0);
  else
    *fd = open_text(entry == Entry::kCommandLine ? block->argument_text()
                                                 : block->environment_text(),
                    flags);
  return true;
}

// The answer of readlink() and realpath(), or null.
const std::string* link_target(const char* path) {
  if (entry_of(path) != Entry::kExe) return nullptr;
  const StartBlock* block = block_for(Entry::kExe);
  return block != nullptr ? &block->file() : nullptr;
}

ssize_t copy_link(const std::string& target, char* out, size_t size) {
  const size_t count = std::min(size, target.size());
  // NOLINTNEXTLINE(bugprone-not-null-terminated-result): as readlink() does
  std::memcpy(out, target.data(), count);
  return static_cast<ssize_t>(count);
}

mode_t mode_of(int flags, va_list list) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(list, mode_t) : 0;
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::copy_link;
using mpc::interpose::link_target;
using mpc::interpose::open_own;

#define MPC_OPEN(name)                                                        \
  MPC_EXPORT int name(const char* path, int flags, ...) {                     \
    int fd = -1;                                                              \
    if (open_own(path, flags, &fd)) return fd;                                \
    va_list list;                                                             \
    va_start(list, flags);                                                    \
    const mode_t mode = mpc::interpose::mode_of(flags, list);                 \
    va_end(list);                                                             \
    return MPC_NEXT(name, int (*)(const char*, int, ...))(path, flags, mode); \
  }
MPC_OPEN(open)
MPC_OPEN(open64)

#define MPC_OPENAT(name)                                                            \
  MPC_EXPORT int name(int folder, const char* path, int flags, ...) {               \
    int fd = -1;                                                                    \
    if (open_own(path, flags, &fd)) return fd;                                      \
    va_list list;                                                                   \
    va_start(list, flags);                                                          \
    const mode_t mode = mpc::interpose::mode_of(flags, list);                       \
    va_end(list);                                                                   \
    return MPC_NEXT(name, int (*)(int, const char*, int, ...))(folder, path, flags, \
                                                               mode);               \
  }
MPC_OPENAT(openat)
MPC_OPENAT(openat64)

// The functions that <fcntl.h> calls with _FORTIFY_SOURCE if there is no mode.
extern "C" int __open_2(const char*, int);
extern "C" int __open64_2(const char*, int);
extern "C" ssize_t __readlink_chk(const char*, char*, size_t, size_t);
extern "C" char* __realpath_chk(const char*, char*, size_t);

MPC_EXPORT int __open_2(const char* path, int flags) {
  int fd = -1;
  return open_own(path, flags, &fd) ? fd : NEXT(__open_2)(path, flags);
}
MPC_EXPORT int __open64_2(const char* path, int flags) {
  int fd = -1;
  return open_own(path, flags, &fd) ? fd : NEXT(__open64_2)(path, flags);
}

#define MPC_FOPEN(name)                                                              \
  MPC_EXPORT FILE* name(const char* path, const char* mode) {                        \
    int fd = -1;                                                                     \
    const bool is_for_reading = mode[0] == 'r' && std::strchr(mode, '+') == nullptr; \
    if (!open_own(path, is_for_reading ? O_RDONLY : O_RDWR, &fd))                    \
      return MPC_NEXT(name, FILE * (*)(const char*, const char*))(path, mode);       \
    return fd >= 0 ? ::fdopen(fd, mode) : nullptr;                                   \
  }
MPC_FOPEN(fopen)
MPC_FOPEN(fopen64)

MPC_EXPORT ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  if (const std::string* target = link_target(path))
    return copy_link(*target, out, size);
  return NEXT(readlink)(path, out, size);
}
MPC_EXPORT ssize_t readlinkat(int folder, const char* path, char* out,
                              size_t size) noexcept {
  if (const std::string* target = link_target(path))
    return copy_link(*target, out, size);
  return NEXT(readlinkat)(folder, path, out, size);
}
MPC_EXPORT ssize_t __readlink_chk(const char* path, char* out, size_t size,
                                  size_t room) {
  if (const std::string* target = size <= room ? link_target(path) : nullptr)
    return copy_link(*target, out, size);
  return NEXT(__readlink_chk)(path, out, size, room);
}
MPC_EXPORT char* realpath(const char* path, char* resolved) noexcept {
  const std::string* target = link_target(path);
  return NEXT(realpath)(target != nullptr ? target->c_str() : path, resolved);
}
MPC_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t room) {
  const std::string* target = link_target(path);
  return NEXT(__realpath_chk)(target != nullptr ? target->c_str() : path, resolved,
                              room);
}
MPC_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return realpath(path, nullptr);
}

MPC_EXPORT unsigned long getauxval(unsigned long kind) noexcept {
  if (kind == AT_EXECFN && mpc::interpose::g_is_ready) {
    const mpc::job::Rank* rank = mpc::interpose::own_rank();
    const auto* block = rank != nullptr ? mpc::job::StartBlock::of(*rank) : nullptr;
    if (block != nullptr) return reinterpret_cast<unsigned long>(block->path().c_str());
  }
  return NEXT(getauxval)(kind);
}
