#include "runtime/job/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace mpc::job::console {
namespace {

// The kernel writes this much in one piece, also to a pipe.
constexpr size_t kWholeBytes = PIPE_BUF;

// The file behind one of the two descriptors, or behind both (2>&1, a terminal).
struct File {
  // A longer text is written to a full pipe in pieces, between which others
  // may write: so its writer locks exclusively. Writers of short texts
  // share the lock, and so do not wait for each other.
  pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  // The last output did not end a line. Relaxed: it affects only the looks of a message.
  std::atomic<bool> is_inside_line{false};
};

// For standard output and standard error.
constinit File g_own_files[2];
constinit File* g_files =
    g_own_files;  // or in the memory of a job of several processes
constexpr size_t kMemoryBytes = sizeof g_own_files;

class Guard {
 public:
  Guard(File& file, bool is_alone) noexcept
      : file_(is_forked_child() ? nullptr : &file) {
    if (file_ == nullptr) return;  // in a forked child the holder may not exist
    if (is_alone)
      ::pthread_rwlock_wrlock(&file_->lock);
    else
      ::pthread_rwlock_rdlock(&file_->lock);
  }
  ~Guard() {
    if (file_ != nullptr) ::pthread_rwlock_unlock(&file_->lock);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  File* file_;
};

File& file_of(int fd) noexcept {
  static const bool are_same = [] {
    struct stat out, err;
    return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  }();
  return g_files[fd == STDERR_FILENO && !are_same ? 1 : 0];
}

constinit std::atomic<bool> g_is_forked_child{
    false};  // read by the child that wrote it

__attribute__((constructor)) void watch_forks() {
  ::pthread_atfork(nullptr, nullptr,
                   [] { g_is_forked_child.store(true, std::memory_order_relaxed); });
}

bool is_regular_file(int fd) noexcept {
  const auto look = [](int which) {
    struct stat file;
    return ::fstat(which, &file) == 0 && S_ISREG(file.st_mode);
  };
  static const bool is_regular[] = {look(STDOUT_FILENO), look(STDERR_FILENO)};
  return is_regular[fd == STDERR_FILENO];
}

// The kernel's write(2): libc's function of this name is replaced by ours (runtime/interpose).
ssize_t write_some(int fd, const char* text, size_t size) noexcept {
  return ::syscall(SYS_write, fd, text, size);
}

// Returns 0 or an errno; then `text` and `size` describe what is left.
int write_once(int fd, const char*& text, size_t& size) noexcept {
  for (;;) {
    const ssize_t written = write_some(fd, text, size);
    if (written >= 0) {
      text += written;
      size -= static_cast<size_t>(written);
      return 0;
    }
    if (errno == EAGAIN) {  // the user made the terminal non-blocking
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, 100);
    } else if (errno != EINTR) {
      return errno;
    }
  }
}

int write_all(int fd, const char* text, size_t size) noexcept {
  int error = 0;
  while (size > 0 && error == 0) error = write_once(fd, text, size);
  return error;
}

// The first loss. `error` is written last; pairs with loss().
struct Loss {
  std::atomic<bool> is_taken{false};
  int world_rank = 0, fd = 0;
  std::atomic<int> error{0};
};
constinit Loss g_loss;

}  // namespace

bool is_forked_child() noexcept {
  return g_is_forked_child.load(std::memory_order_relaxed);
}

int write(int fd, const char* text, size_t size) noexcept {
  if (size == 0) return 0;
  File& file = file_of(fd);
  const bool ends_line = text[size - 1] == '\n';
  int error = 0;
  // Writes to a file are serialised by the kernel, at a higher price than by the lock here.
  if (size <= kWholeBytes && !is_regular_file(fd)) {
    const Guard shared(file, false);
    error = write_once(fd, text, size);
  }
  if (size > 0 && error == 0) {
    const Guard alone(file, true);
    error = write_all(fd, text, size);
  }
  if (error == 0) file.is_inside_line.store(!ends_line, std::memory_order_relaxed);
  return error;
}

void say(std::string_view message) noexcept {
  if (message.empty()) return;
  File& file = file_of(STDERR_FILENO);
  const Guard alone(file, true);
  if (file.is_inside_line.exchange(false, std::memory_order_relaxed))
    write_all(STDERR_FILENO, "\n", 1);
  write_all(STDERR_FILENO, message.data(), message.size());
  if (message.back() != '\n') write_all(STDERR_FILENO, "\n", 1);
}

int make_shared_memory() noexcept {
  const int memory = ::memfd_create("mpcrun-console", 0);
  if (memory < 0) return -1;
  if (::ftruncate(memory, kMemoryBytes) == 0) {
    share(memory);
    be_alone();
    if (g_files != g_own_files) return memory;
  }
  ::close(memory);
  return -1;
}

void share(int memory) noexcept {
  if (memory < 0) return;
  void* mapped =
      ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (mapped != MAP_FAILED) g_files = static_cast<File*>(mapped);
}

void be_alone() noexcept {
  if (g_files == g_own_files) return;
  pthread_rwlockattr_t attributes;
  ::pthread_rwlockattr_init(&attributes);
  ::pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_rwlockattr_setkind_np(&attributes,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  for (int i = 0; i < 2; ++i) ::pthread_rwlock_init(&g_files[i].lock, &attributes);
  ::pthread_rwlockattr_destroy(&attributes);
}

bool is_line_open() noexcept {
  return file_of(STDERR_FILENO).is_inside_line.load(std::memory_order_relaxed);
}

void note_loss(int world_rank, int fd, int error) noexcept {
  if (g_loss.is_taken.exchange(true, std::memory_order_relaxed)) return;
  g_loss.world_rank = world_rank;
  g_loss.fd = fd;
  g_loss.error.store(error, std::memory_order_release);
}

std::string loss() {
  const int error =
      g_loss.error.load(std::memory_order_acquire);  // pairs with note_loss()
  if (error == 0) return {};
  return fmt::format(
      "mpcrun: rank {}: standard {} could not be written: {}; output of the job "
      "is missing",
      g_loss.world_rank, g_loss.fd == STDERR_FILENO ? "error" : "output",
      ::strerrordesc_np(error));
}

}  // namespace mpc::job::console
