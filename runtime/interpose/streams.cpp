#include "runtime/interpose/streams.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "base/rank_heap.h"
#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/fortran_units.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/job/console.h"
#include "runtime/job/crash.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/job.h"
#include "runtime/job/report.h"
#include "scheduler/annotate.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

// glibc's two output streams and its list of all open FILEs; exported, but declared in no public
// header (or with a type that is not).
extern "C" {
extern char _IO_2_1_stdout_[], _IO_2_1_stderr_[];
void _IO_list_lock();
void _IO_list_unlock();
FILE* _IO_iter_begin();
FILE* _IO_iter_end();
FILE* _IO_iter_next(FILE*);
FILE* _IO_iter_file(FILE*);
}

namespace mpc::interpose {
namespace {

// Files of the runtime are out of the way of those that ranks open.
constexpr int kFirstPrivateFd = 512;

// A child that a rank forked has the streams of all ranks, but writes only its own.
const job::Rank* g_forking_rank = nullptr;

}  // namespace

struct RankStreams {
  explicit RankStreams(const job::Rank& rank)
      : owner(rank),
        out_lines(rank, STDOUT_FILENO),
        err_lines(rank, STDERR_FILENO),
        in_fd(has_input_of_job() ? STDIN_FILENO : empty_input()),
        in(has_input_of_job()
               ? stdin
               : ::fopencookie(this, "r",
                               {&RankStreams::read, nullptr, nullptr, nullptr})),
        own_out(open(&RankStreams::write<&RankStreams::out_lines>, _IOLBF)),
        own_err(open(&RankStreams::write<&RankStreams::err_lines>, _IONBF)),
        out(own_out),
        err(own_err) {}

  bool has_input_of_job() const noexcept { return owner.world_rank == 0; }

  const job::Rank& owner;
  LineStream out_lines, err_lines;
  std::atomic<int>
      in_fd;  // relaxed: who changes it orders that with the rank's readers
  FILE* in;
  FILE* const own_out;  // they write to the LineStreams
  FILE* const own_err;
  FILE* out;  // the rank's present one: see replace_stream()
  FILE* err;

  // One for all ranks.
  static int empty_input() noexcept {
    static const int fd = [] {
      const int opened = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      const int high = NEXT(fcntl)(opened, F_DUPFD_CLOEXEC, kFirstPrivateFd);
      if (high >= 0) ::close(opened);
      return high >= 0 ? high : opened;
    }();
    return fd;
  }

 private:
  static ssize_t read(void* cookie, char* text, size_t size) {
    const auto& self = *static_cast<RankStreams*>(cookie);
    return ::syscall(SYS_read, self.in_fd.load(std::memory_order_relaxed), text, size);
  }

  FILE* open(cookie_write_function_t* function, int mode) {
    FILE* file = ::fopencookie(this, "w", {nullptr, function, nullptr, nullptr});
    if (file != nullptr) NEXT(setvbuf)(file, nullptr, mode, 1024);
    return file;
  }

  // Source: fopencookie(3): 0 means error, with errno.
  template <LineStream RankStreams::*kLines>
  static ssize_t write(void* cookie, const char* text, size_t size) {
    auto& self = *static_cast<RankStreams*>(cookie);
    if (job::console::is_forked_child() && &self.owner != g_forking_rank)
      return static_cast<ssize_t>(size);
    LineStream& lines = self.*kLines;
    const bool at_once =
        job::console::is_forked_child() ||
        (self.owner.world_size == 1 && kLines == &RankStreams::err_lines);
    const int error = lines.append(text, size, at_once);
    if (error == 0) return static_cast<ssize_t>(size);
    errno = error;
    return 0;
  }
};

namespace {

RankStreams* existing_streams(job::Rank& rank) noexcept {
  // Pairs with the release of streams_of(): the streams are complete.
  auto* streams = std::atomic_ref(rank.streams).load(std::memory_order_acquire);
  MPC_HAPPENS_AFTER(&rank.streams);
  return streams;
}

// Null: there is no memory; then the job's streams will do.
RankStreams* streams_of(job::Rank& rank) noexcept {
  if (RankStreams* present = existing_streams(rank)) return present;
  const int error = errno;  // perror() may be the first to print
  static_assert(alignof(RankStreams) <= alignof(std::max_align_t));
  void* const memory = std::malloc(sizeof(RankStreams));
  errno = error;
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) RankStreams(rank);
  errno = error;
  RankStreams* expected = nullptr;
  MPC_HAPPENS_BEFORE(&rank.streams);
  if (std::atomic_ref(rank.streams)
          .compare_exchange_strong(expected, made, std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
    return made;
  }
  return expected;  // another thread of the rank was first; ours leaks once
}

// Returns 0, STDOUT_FILENO or STDERR_FILENO. Checks the variables, and also libc's own two, which
// std::cout found there before the job began.
int output_of(const FILE* file) noexcept {
  const void* address = file;
  if (file == stdout || address == _IO_2_1_stdout_) return STDOUT_FILENO;
  return file == stderr || address == _IO_2_1_stderr_ ? STDERR_FILENO : 0;
}

template <int kFd>
ssize_t write_for_caller(void*, const char* text, size_t size) {
  LineStream* lines = line_stream_for(kFd);
  const int error = lines != nullptr ? lines->append(text, size, false)
                                     : job::console::write(kFd, text, size);
  if (error == 0) return static_cast<ssize_t>(size);
  errno = error;
  return 0;
}

// Libc's own output (assert(), err(), error(), psignal()) goes to the targets of its variables
// stdout and stderr, past our replacements: so these become a stream that finds the caller's.
void replace_streams_of_libc() {
  FILE* out = ::fopencookie(
      nullptr, "w", {nullptr, &write_for_caller<STDOUT_FILENO>, nullptr, nullptr});
  FILE* err = ::fopencookie(
      nullptr, "w", {nullptr, &write_for_caller<STDERR_FILENO>, nullptr, nullptr});
  if (out == nullptr || err == nullptr) return;
  for (FILE* file : {out, err}) NEXT(setvbuf)(file, nullptr, _IONBF, 0);
  stdout = out;
  stderr = err;
}

// Null outside the ranks of a job, where libc's own streams are right, and if there is no memory.
RankStreams* own_streams() noexcept {
  job::Rank* rank = own_rank();
  return rank != nullptr ? streams_of(*rank) : nullptr;
}

// Returns 0 or EOF; EBUSY if the caller must not wait and the rank is printing, or died doing so.
int flush(FILE* file, bool may_wait) {
  if (file == nullptr) return 0;
  if (may_wait) {
    NEXT(flockfile)(file);
  } else if (NEXT(ftrylockfile)(file) != 0) {
    return EBUSY;
  }
  const int result = MPC_NEXT(fflush_unlocked, int (*)(FILE*))(file);
  NEXT(funlockfile)(file);
  return result;
}

void flush_rank(job::Rank& rank, bool may_wait) {
  RankStreams* streams = existing_streams(rank);
  if (streams == nullptr) return;
  flush(streams->out, may_wait);
  flush(streams->err, may_wait);
}

void rank_ends(job::Rank& rank) {
  RankStreams* streams = existing_streams(rank);
  if (streams == nullptr) return;
  flush_rank(rank, true);
  streams->out_lines.finish();
  streams->err_lines.finish();
}

// A rank that prints nothing has files, too.
void open_files(job::Rank& rank) {
  RankStreams* const streams = streams_of(rank);
  if (streams == nullptr) return;
  for (LineStream* lines : {&streams->out_lines, &streams->err_lines})
    if (auto opened = lines->open_file(); !opened)
      rank.job->abort(job::kExitLaunch, "mpcrun: " + opened.error().message);
}

void rank_fails(job::Rank& rank) { flush_rank(rank, false); }

// Flushes the files with data to write that no thread uses now.
int flush_idle_files() noexcept {
  constexpr int kIsPutting = 0x800;  // glibc's _IO_CURRENTLY_PUTTING
  int result = 0;
  _IO_list_lock();
  for (FILE* it = _IO_iter_begin(); it != _IO_iter_end(); it = _IO_iter_next(it)) {
    FILE* file = _IO_iter_file(it);
    if ((file->_flags & kIsPutting) != 0 && flush(file, false) == EOF) result = EOF;
  }
  _IO_list_unlock();
  return result;
}

// Writes what ranks have printed, and what they have written to files by stdio: a process that
// exits would write it, but an aborted job does not get that far.
void flush_job(job::Job& job) {
  if (job::console::is_forked_child()) return;
  flush_fortran_units(job);
  if (job.is_singleton()) return;
  if (!job::crash::is_reporting()) flush_idle_files();
  const job::RankRange local = job.local_ranks();
  for (int r = local.first; r < local.end; ++r) flush_rank(job.rank(r), false);
  for (int r = local.first; r < local.end; ++r) {
    RankStreams* streams = existing_streams(job.rank(r));
    if (streams == nullptr) continue;
    streams->out_lines.finish_at_job_end();
    streams->err_lines.finish_at_job_end();
  }
}

// What the rank has written is flushed before a child can write; the child does so as a process.
thread_local constinit const ChildDescriptors* t_of_child = nullptr;
void before_fork() {
  pass_on_unfinished_lines();
  t_of_child = new ChildDescriptors;
}
void after_fork_in_parent() { delete std::exchange(t_of_child, nullptr); }
// The child's exit() would write what its FILEs hold, and seek back in files of which it has read
// too much. Other ranks do that for themselves, so lines would come twice.
void drop_files_of_others(const job::Rank& rank) {
  _IO_list_lock();
  for (FILE* it = _IO_iter_begin(); it != _IO_iter_end(); it = _IO_iter_next(it)) {
    FILE* file = _IO_iter_file(it);
    const int owner = file == stdin ? 0 : rank_of_heap(file);
    if (owner >= 0 && owner != rank.world_rank) ::__fpurge(file);
  }
  _IO_list_unlock();
}

void after_fork_in_child() {
  g_forking_rank = own_rank();
  if (g_forking_rank == nullptr) return;
  if (!g_forking_rank->job->is_singleton()) drop_files_of_others(*g_forking_rank);
  t_of_child->apply();
}

__attribute__((constructor)) void register_hooks() {
  ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  job::Job::at_rank_start(job::HookOrder::kStreams, [](job::Rank& rank) {
    static std::once_flag once;
    if (rank.job->is_singleton()) return;
    std::call_once(once, &replace_streams_of_libc);
    if (job::has_output_files()) open_files(rank);
  });
  job::Job::at_rank_end(job::HookOrder::kStreams, &rank_ends);
  job::Job::at_rank_failure(job::HookOrder::kStreams, &rank_fails);
  job::Job::at_job_end(job::HookOrder::kStreams, &flush_job);
}

}  // namespace

FILE* stream_for(FILE* file) noexcept {
  const int output = output_of(file);
  if (output == 0 && file != stdin) return file;
  RankStreams* streams = own_streams();
  if (streams == nullptr) return file;
  FILE* own = output == STDOUT_FILENO   ? streams->out
              : output == STDERR_FILENO ? streams->err
                                        : streams->in;
  return own != nullptr ? own : file;
}

int fd_of(FILE* file) noexcept { return output_of(file); }

int real_fd(int fd) noexcept {
  if (fd < STDIN_FILENO || fd > STDERR_FILENO || !g_is_ready) return fd;
  if (fd != STDIN_FILENO) {
    const LineStream* lines = line_stream_for(fd);
    return lines != nullptr ? lines->fd() : fd;
  }
  const job::Rank* rank = own_rank();
  if (rank == nullptr || rank->world_rank == 0 || is_forked_child()) return fd;
  const RankStreams* streams = own_streams();
  return streams != nullptr ? streams->in_fd.load(std::memory_order_relaxed) : fd;
}

bool redirect_input(int fd) noexcept {
  RankStreams* streams = own_streams();
  if (streams == nullptr || streams->has_input_of_job()) return false;
  const int before = streams->in_fd.exchange(fd, std::memory_order_relaxed);
  if (before >= 0 && before != RankStreams::empty_input()) NEXT(close)(before);
  return true;
}

bool shares_input() noexcept {
  const job::Rank* rank = own_rank();
  return rank != nullptr && rank->job->size() > 1 && !is_forked_child();
}

void pass_on_unfinished_lines() noexcept {
  job::Rank* rank = own_rank();
  RankStreams* streams = rank != nullptr ? existing_streams(*rank) : nullptr;
  if (streams == nullptr) return;
  streams->out_lines.finish();
  streams->err_lines.finish();
}

LineStream* line_stream_for(int fd) noexcept {
  if (!g_is_ready || job::console::is_forked_child() || is_vfork_child())
    return nullptr;
  RankStreams* streams = own_streams();
  if (streams == nullptr) return nullptr;
  return fd == STDERR_FILENO ? &streams->err_lines : &streams->out_lines;
}

int flushed(FILE* file) noexcept {
  RankStreams* streams = own_streams();
  if (streams == nullptr) return 0;
  int error = 0;
  const auto finish = [&](FILE* own, LineStream& lines) {
    if (file != nullptr && file != own) return;
    lines.show_unfinished_line();
    if (const int late = lines.take_error()) error = late;
  };
  finish(streams->own_out, streams->out_lines);
  finish(streams->own_err, streams->err_lines);
  return error;
}

bool replace_stream(FILE* file, FILE* replacement) noexcept {
  RankStreams* streams = own_streams();
  if (streams == nullptr) return false;
  const int output = output_of(file);
  FILE** slot = output == STDOUT_FILENO   ? &streams->out
                : output == STDERR_FILENO ? &streams->err
                : file == stdin           ? &streams->in
                                          : nullptr;
  if (slot == nullptr) return false;
  *slot = replacement;
  // As in a process, whose descriptor it is, too.
  const int copy =
      NEXT(fcntl)(NEXT(fileno)(replacement), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (output == 0) return redirect_input(copy);
  (output == STDOUT_FILENO ? streams->out_lines : streams->err_lines).redirect(copy);
  return true;
}

int flush_files() noexcept {
  RankStreams* streams = own_streams();
  int result = 0;
  if (streams != nullptr) {
    for (FILE* file : {streams->out, streams->err})
      if (flush(file, true) != 0) result = EOF;
  }
  if (flush_idle_files() != 0) result = EOF;
  return result;
}

}  // namespace mpc::interpose
