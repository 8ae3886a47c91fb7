#include "runtime/job/lone_child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "runtime/loader/elf_file.h"

namespace mpc::job {
namespace {

constexpr char kName[] = "mpc-children";

std::atomic<int> g_mark{-1};

std::string target_of(const char* link) {
  char text[256];
  const ssize_t length = ::readlink(link, text, sizeof text);
  return std::string(text, length > 0 ? static_cast<size_t>(length) : 0);
}

// True for the first who leaves a byte there.
bool is_first_in(int mark) noexcept {
  return ::write(mark, "x", 1) == 1 && ::lseek(mark, 0, SEEK_CUR) == 1;
}

}  // namespace

std::string make_mark_for_children() {
  int mark = ::memfd_create(kName, MFD_CLOEXEC);
  if (mark < 0) return "";
  mark = loader::lift_descriptor(mark);
  g_mark.store(mark, std::memory_order_relaxed);
  return std::string(kMarkVariable) + "=/proc/" + std::to_string(::getpid()) + "/fd/" +
         std::to_string(mark);
}

void note_that_ranks_use_mpi() noexcept {
  if (g_mark.load(std::memory_order_relaxed) < 0) return;
  const int mark = g_mark.exchange(-1, std::memory_order_relaxed);
  [[maybe_unused]] const bool is_first = mark >= 0 && is_first_in(mark);
}

void warn_if_lone_child() {
  const char* const path = std::getenv(kMarkVariable);
  // The number may be another file's meanwhile.
  if (path == nullptr || target_of(path).find(kName) == std::string::npos) return;
  const int mark = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (mark < 0) return;
  const bool is_first = is_first_in(mark);
  ::close(mark);
  if (!is_first) return;
  log::warn(
      "{} is no rank of the job whose rank has started it, but runs alone: ranks of "
      "one process are threads; if it is to be the rank, write "
      "mpcrun --ranks-per-process 1 ...",
      target_of("/proc/self/exe"));
}

}  // namespace mpc::job
