#include "runtime/interpose/streams.h"

#include <fmt/format.h>
#include <dlfcn.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "base/settings.h"
#include "runtime/job/crash.h"
#include "runtime/job/job.h"

namespace mpc::interpose {
namespace {

constexpr size_t kLongestLineBytes = 1 << 20;  // a longer one is written in pieces

BoolSetting g_label{"job.label", false,
                    "Begin each line that a rank prints with its number (mpcrun --label)."};

// A child that a rank forked has the streams of all ranks, and writes only its own.
bool g_is_forked_child = false;
const job::Rank* g_forking_rank = nullptr;

// A write(2) of more than PIPE_BUF bytes to a pipe that is full comes in pieces, between which
// others may write: so one rank at a time. One lock for both, if they are the same file (2>&1).
std::mutex& lock_of(int fd) {
  static std::mutex locks[2];
  static const bool are_same = [] {
    struct stat out, err;
    return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
           out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  }();
  return locks[fd == STDERR_FILENO && !are_same ? 1 : 0];
}

void write_fully(int fd, const char* text, size_t size) {
  std::unique_lock lock(lock_of(fd), std::defer_lock);
  if (!g_is_forked_child) lock.lock();  // there its holder may not exist
  while (size > 0) {
    const ssize_t written = ::write(fd, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // the user made the terminal non-blocking
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, 100);
      continue;
    }
    if (written <= 0) return;
    text += written;
    size -= static_cast<size_t>(written);
  }
}

// Collects what a rank writes and passes it on in whole lines, each in one write(2).
class LineStream {
 public:
  LineStream(const job::Rank& rank, int fd, bool shows_partial_lines)
      : rank_(rank), label_(fmt::format("[{}] ", rank.world_rank)), fd_(fd),
        shows_partial_lines_(shows_partial_lines) {
    const cookie_io_functions_t functions{nullptr, &LineStream::write_cookie, nullptr,
                                          nullptr};
    file_ = ::fopencookie(this, "w", functions);
    if (file_ != nullptr) ::setvbuf(file_, nullptr, fd == STDERR_FILENO ? _IONBF : _IOLBF, 1024);
  }
  FILE* file() const noexcept { return file_; }

  // Caller holds the FILE's lock, as in all of these.
  void finish() {
    if (pending_.empty() || is_of_another_process()) return;
    write_fully(fd_, pending_.data(), pending_.size());
    pending_.clear();
    in_line_ = false;
  }
  void show_partial_line() {
    if (!shows_partial_lines_ || pending_.empty()) return;
    write_fully(fd_, pending_.data(), pending_.size());
    pending_.clear();
  }

 private:
  static ssize_t write_cookie(void* cookie, const char* text, size_t size) {
    static_cast<LineStream*>(cookie)->append(text, size);
    return static_cast<ssize_t>(size);
  }

  void append(const char* text, size_t size) {
    if (is_of_another_process()) return;
    const bool labelled = g_label.get();
    size_t whole = 0;  // length of the finished lines
    for (size_t i = 0; i < size;) {
      const void* newline = std::memchr(text + i, '\n', size - i);
      const size_t end = newline == nullptr
                             ? size
                             : static_cast<size_t>(static_cast<const char*>(newline) - text) + 1;
      if (labelled && !in_line_) pending_ += label_;
      pending_.append(text + i, end - i);
      in_line_ = newline == nullptr;
      if (!in_line_) whole = pending_.size();
      i = end;
    }
    if (whole > 0) {
      write_fully(fd_, pending_.data(), whole);
      pending_.erase(0, whole);
    } else if (pending_.size() > kLongestLineBytes) {
      write_fully(fd_, pending_.data(), pending_.size());
      pending_.clear();
    }
  }

  bool is_of_another_process() const noexcept {
    return g_is_forked_child && &rank_ != g_forking_rank;
  }

  const job::Rank& rank_;
  std::string label_;
  std::string pending_;
  FILE* file_ = nullptr;
  int fd_;
  bool in_line_ = false;  // pending_, or what was shown of it, does not end a line
  bool shows_partial_lines_;
};

struct RankStreams {
  explicit RankStreams(const job::Rank& rank)
      : out_lines(rank, STDOUT_FILENO, ::isatty(STDOUT_FILENO) == 1),
        err_lines(rank, STDERR_FILENO, ::isatty(STDERR_FILENO) == 1),
        in(rank.world_rank == 0 ? stdin : ::fopen("/dev/null", "r")),
        out(out_lines.file()),
        err(err_lines.file()) {}
  LineStream out_lines, err_lines;
  FILE* in;
  FILE* out;
  FILE* err;
};

RankStreams* streams_of(job::Rank& rank) noexcept {
  std::atomic_ref<void*> slot(rank.streams);
  // Pairs with the release of the exchange below: the streams are complete.
  if (void* present = slot.load(std::memory_order_acquire)) {
    return static_cast<RankStreams*>(present);
  }
  auto* made = new RankStreams(rank);
  void* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made, std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
    return made;
  }
  return static_cast<RankStreams*>(expected);  // another thread of the rank was first; ours leaks once
}

void flush(FILE* file, LineStream& lines, bool may_wait) {
  if (file == nullptr) return;
  if (may_wait) {
    ::flockfile(file);
  } else if (::ftrylockfile(file) != 0) {
    return;  // its rank is printing, or died doing so
  }
  ::fflush_unlocked(file);
  if (file == lines.file()) lines.finish();
  ::funlockfile(file);
}

void flush_rank(job::Rank& rank, bool may_wait) {
  std::atomic_ref<void*> slot(rank.streams);
  auto* streams = static_cast<RankStreams*>(slot.load(std::memory_order_acquire));
  if (streams == nullptr) return;
  flush(streams->out, streams->out_lines, may_wait);
  flush(streams->err, streams->err_lines, may_wait);
}

// Fortran's units belong to the process and have buffers of their own. libgfortran would write
// them when the process exits, which an aborted job does not get to.
void flush_fortran() {
  void* library = ::dlopen("libgfortran.so.5", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  using Flush = void (*)(int* unit);
  if (auto* flush = reinterpret_cast<Flush>(::dlsym(library, "_gfortran_flush_i4"))) {
    flush(nullptr);  // all units
  }
  ::dlclose(library);
}

void flush_job(job::Job& job) {
  if (job.is_singleton()) return;
  if (!job::crash::is_reporting()) flush_fortran();
  for (int r = 0; r < job.size(); ++r) flush_rank(job.rank(r), false);
}

__attribute__((constructor)) void register_hooks() {
  ::pthread_atfork(nullptr, nullptr, [] {
    g_is_forked_child = true;
    g_forking_rank = job::current_rank();
  });
  job::Job::at_rank_end([](job::Rank& rank) { flush_rank(rank, true); });
  job::Job::at_job_end(&flush_job);
}

// Null outside of the ranks of a job: libc's own streams are right there.
job::Rank* rank_with_streams() noexcept {
  job::Job* job = job::Job::existing();
  if (job == nullptr || job->is_singleton()) return nullptr;
  return job::current_rank();
}

}  // namespace

FILE* stream_for(FILE* file) noexcept {
  if (file != stdout && file != stderr && file != stdin) return file;
  job::Rank* rank = rank_with_streams();
  if (rank == nullptr) return file;
  RankStreams* streams = streams_of(*rank);
  FILE* own = file == stdout ? streams->out : file == stderr ? streams->err : streams->in;
  return own != nullptr ? own : file;
}

void flushed(FILE* file) noexcept {
  job::Rank* rank = rank_with_streams();
  if (rank == nullptr) return;
  RankStreams* streams = streams_of(*rank);
  for (LineStream* lines : {&streams->out_lines, &streams->err_lines}) {
    if (file != nullptr && file != lines->file()) continue;
    ::flockfile(lines->file());
    lines->show_partial_line();
    ::funlockfile(lines->file());
  }
}

bool replace_stream(FILE* file, FILE* replacement) noexcept {
  job::Rank* rank = rank_with_streams();
  if (rank == nullptr) return false;
  RankStreams* streams = streams_of(*rank);
  FILE** slot = file == stdout ? &streams->out : file == stderr ? &streams->err
              : file == stdin  ? &streams->in : nullptr;
  if (slot == nullptr) return false;
  *slot = replacement;
  return true;
}

}  // namespace mpc::interpose
