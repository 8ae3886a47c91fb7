#include "runtime/interpose/line_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "runtime/job/console.h"
#include "runtime/job/crash.h"

namespace mpc::interpose {
namespace {

constexpr size_t kLongestLineBytes = 1 << 20;  // a longer one is written in pieces
constexpr size_t kLastWordsBytes =
    64 << 10;  // a rank that writes more while the job ends waits

bool shows_unfinished_lines(int fd, const job::Rank& rank) {
  static const bool is_terminal[] = {::isatty(STDOUT_FILENO) == 1,
                                     ::isatty(STDERR_FILENO) == 1};
  return is_terminal[fd == STDERR_FILENO] || rank.world_size == 1 ||
         job::console::is_forked_child();
}

// The thread holds the mutex of a stream, or is about to acquire it: a signal handler that finds
// this set has interrupted that thread, and would wait for itself. For all streams, because below
// them there are locks that two of them share (console.h).
thread_local constinit bool t_is_inside = false;

// The report of a crash is the exception: it flushes the streams of all ranks, with a time limit.
bool is_interrupted() noexcept { return t_is_inside && !job::crash::is_reporting(); }

}  // namespace

LineStream::LineStream(const job::Rank& rank, int fd)
    : rank_(rank), label_({rank.world_rank, rank.world_size, fd}), fd_(fd) {
  // A signal handler's short text then needs no heap: it may have interrupted malloc().
  constexpr size_t kUsualLineBytes = 256;
  try {
    pending_.reserve(kUsualLineBytes);
  } catch (const std::bad_alloc&) {  // then it needs some, if there is some
  }
}

bool LineStream::is_inside() noexcept { return t_is_inside; }

LineStream::Guard::Guard(const LineStream& lines) noexcept {
  // In a forked child the holder of the mutex may not exist.
  if (is_interrupted() || job::console::is_forked_child()) return;
  t_is_inside = true;
  std::atomic_signal_fence(
      std::memory_order_seq_cst);  // a handler that finds it locked sees that
  mutex_ = &lines.mutex_;
  mutex_->lock();
}

LineStream::Guard::~Guard() {
  if (mutex_ == nullptr) return;
  mutex_->unlock();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_is_inside = false;
}

int LineStream::append(const char* text, size_t size, bool at_once) noexcept {
  if (size == 0) return 0;
  if (is_interrupted()) [[unlikely]]
    return write_through(text, size);
  if (rank_.job->is_ending()) [[unlikely]]
    bound_last_words(size);
  const Guard guard(*this);
  if (is_redirected()) return write_through(text, size);
  int error = write_lines(text, size);
  const bool is_too_long = pending_.size() > kLongestLineBytes;
  if (is_too_long || (at_once && shows_unfinished_lines(target(), rank_))) {
    const int late_error = pass_on();
    if (error == 0) error = late_error;
  }
  return error;
}

// A rank that prints in a loop, unaware of the end, must not bury the report.
void LineStream::bound_last_words(size_t size) {
  // Not the thread that ends the job, nor a separate process.
  if (job::current_rank() != &rank_ || job::console::is_forked_child()) return;
  size_t so_far = 0;
  {
    const Guard guard(*this);
    so_far = last_words_bytes_ += size;
  }
  if (so_far > kLastWordsBytes) rank_.job->wait_for_end();
}

int LineStream::write_lines(const char* text, size_t size) {
  const void* last = ::memrchr(text, '\n', size);
  const size_t whole =
      last == nullptr ? 0
                      : static_cast<size_t>(static_cast<const char*>(last) - text) + 1;
  int error = 0;
  if (label_.is_there()) {
    add_labelled(text, whole);
    if (whole > 0) error = pass_on();
    add_labelled(text + whole, size - whole);
    return error;
  }
  if (whole > 0 && pending_.empty()) {  // most lines: not copied
    error = pass_on(text, whole);
  } else if (whole > 0) {
    pending_.append(text, whole);
    error = pass_on();
  }
  pending_.append(text + whole, size - whole);
  return error;
}

void LineStream::add_labelled(const char* text, size_t size) {
  for (size_t i = 0; i < size;) {
    const void* newline = std::memchr(text + i, '\n', size - i);
    const size_t end =
        newline == nullptr
            ? size
            : static_cast<size_t>(static_cast<const char*>(newline) - text) + 1;
    if (!in_line_) pending_ += label_.text();
    pending_.append(text + i, end - i);
    in_line_ = newline == nullptr;
    i = end;
  }
}

int LineStream::pass_on() {
  const int error = pass_on(pending_.data(), pending_.size());
  pending_.clear();
  return error;
}

int LineStream::pass_on(const char* text, size_t size) {
  int error = job::console::write(target(), text, size);
  if (copy_ >= 0) {
    const int late_error = write_all(copy_, text, size);
    if (error == 0) error = late_error;
  }
  if (error == 0) return 0;
  job::console::note_loss(rank_.world_rank, target(), error);
  error_ = error;
  return error;
}

int LineStream::take_error() noexcept {
  const Guard guard(*this);
  return std::exchange(error_, 0);
}

void LineStream::finish() noexcept {
  const Guard guard(*this);
  pass_on();
}

void LineStream::show_unfinished_line() noexcept {
  const Guard guard(*this);
  if (!is_redirected() && shows_unfinished_lines(target(), rank_)) pass_on();
}

void LineStream::finish_at_job_end() noexcept {
  if (is_redirected())
    return;  // nothing is collected, and a thread may be inside forever
  if (!job::crash::is_reporting()) return finish();
  // The thread that crashed may have been inside.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (guard.owns_lock()) {
      pass_on();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// --- without collecting -----------------------------------------------------------------------

int LineStream::write_all(int fd, const char* text, size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::syscall(SYS_write, fd, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

Result<> LineStream::open_file() {
  const job::OutputPattern::Values who{rank_.world_rank, rank_.world_size, target()};
  auto opened = job::open_output_file(who);
  if (!opened)
    return {opened.error().code,
            fmt::format("the output of rank {} of {}: {}", who.rank, who.ranks,
                        opened.error().message)};
  if (*opened < 0) return {};
  // Out of the way of those that ranks open.
  constexpr int kFirstFd = 512;
  const int high = ::fcntl(*opened, F_DUPFD_CLOEXEC, kFirstFd);
  if (high >= 0) ::close(*opened);
  const int file = high >= 0 ? high : *opened;
  if (job::is_output_copied())
    copy_ = file;
  else
    redirect(file);
  return {};
}

void LineStream::redirect(int fd) noexcept {
  const Guard guard(*this);
  pass_on();
  in_line_ = false;
  if (is_redirected() && target() >= 0) ::close(target());
  fd_.store(fd, std::memory_order_relaxed);
}

int LineStream::fd() const noexcept {
  const Guard guard(*this);
  return target();
}

}  // namespace mpc::interpose
