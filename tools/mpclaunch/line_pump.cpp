#include "tools/mpclaunch/line_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/service_thread.h"
#include "runtime/job/console.h"

namespace mpc::launch {
namespace {

constexpr size_t kLongestLineBytes = 1 << 20;  // a longer one is written in pieces

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Result<> LinePump::open(bool is_one) {
  int files[2];
  for (int i = 0; i < 2; ++i) {
    auto file = job::open_output_file({rank_, ranks_, STDOUT_FILENO + i});
    MPC_TRY(file);
    files[i] = *file;
  }
  const bool has_files = files[0] >= 0 || files[1] >= 0;
  for (int i = 0; i < (is_one && !has_files ? 1 : 2); ++i) {
    Stream& stream = streams_[i];
    if (files[i] >= 0 && !job::is_output_copied()) {  // the command writes there itself
      stream.inner = files[i];
      continue;
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return {Errc::kSystem, std::string("pipe: ") + std::strerror(errno)};
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // of this end only
    const int fd = STDOUT_FILENO + i;
    stream = {ends[1], ends[0], fd, job::LineLabel({rank_, ranks_, fd}), files[i], {}};
  }
  bell_ = ::eventfd(0, EFD_CLOEXEC);
  if (bell_ >= 0) return {};
  return {Errc::kSystem, std::string("eventfd: ") + std::strerror(errno)};
}

Result<> LinePump::start() {
  for (Stream& stream : streams_)
    if (stream.inner >= 0) ::close(std::exchange(stream.inner, -1));
  auto thread = start_service_thread("the output of a rank", &run, this);
  MPC_TRY(thread);
  thread_ = *thread;
  has_thread_ = true;
  return {};
}

bool LinePump::finish(int most_ms) {
  if (!has_thread_) return true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_, &one, sizeof one);
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += most_ms / 1000;
  until.tv_nsec += most_ms % 1000 * 1'000'000L;
  if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
  const bool has_ended = most_ms < 0
                             ? ::pthread_join(thread_, nullptr) == 0
                             : ::pthread_timedjoin_np(thread_, nullptr, &until) == 0;
  has_thread_ = !has_ended;
  return has_ended && lost_error() == 0;
}

void* LinePump::run(void* self) {
  static_cast<LinePump*>(self)->pump();
  return nullptr;
}

void LinePump::pump() {
  for (bool is_finishing = false;;) {
    pollfd files[] = {{streams_[0].outer, POLLIN, 0},
                      {streams_[1].outer, POLLIN, 0},
                      {is_finishing ? -1 : bell_, POLLIN, 0}};
    if (::poll(files, 3, is_finishing ? 0 : -1) < 0 && errno != EINTR) break;
    is_finishing = is_finishing || files[2].revents != 0;
    bool has_read = false;
    for (int i = 0; i < 2; ++i)
      if (files[i].revents != 0) has_read = read(streams_[i]) || has_read;
    const bool are_closed = streams_[0].outer < 0 && streams_[1].outer < 0;
    if (are_closed || (is_finishing && !has_read && files[2].revents == 0)) break;
  }
  for (Stream& stream : streams_)
    if (!stream.begun.empty())
      write(stream, stream.label.is_there() ? stream.label.text() + stream.begun
                                            : stream.begun);
}

// False: the stream has ended.
bool LinePump::read(Stream& stream) {
  char bytes[64 << 10];
  const ssize_t count = ::read(stream.outer, bytes, sizeof bytes);
  if (count > 0) pass(stream, {bytes, static_cast<size_t>(count)});
  if (count == 0) ::close(std::exchange(stream.outer, -1));
  return count > 0;
}

void LinePump::pass(Stream& stream, std::string_view text) {
  const size_t end = text.rfind('\n');
  stream.begun.append(
      text.substr(0, end == std::string_view::npos ? text.size() : end + 1));
  if (end == std::string_view::npos && stream.begun.size() < kLongestLineBytes) return;
  std::string whole = std::exchange(
      stream.begun,
      std::string(end == std::string_view::npos ? "" : text.substr(end + 1)));
  if (stream.label.is_there()) {
    std::string labelled;
    for (size_t begin = 0; begin < whole.size();) {
      const size_t line_end = std::min(whole.find('\n', begin), whole.size() - 1) + 1;
      labelled += stream.label.text();
      labelled.append(whole, begin, line_end - begin);
      begin = line_end;
    }
    whole = std::move(labelled);
  }
  write(stream, whole);
}

void LinePump::write(const Stream& stream, const std::string& text) {
  if (lost_error() != 0) return;
  int error = job::console::write(stream.fd, text.data(), text.size());
  if (error == 0 && stream.copy >= 0 && !write_all(stream.copy, text)) error = errno;
  if (error == 0) return;
  lost_fd_ = stream.fd;
  lost_error_.store(error, std::memory_order_release);  // pairs with lost_error()
  if (error != EPIPE) return;
  // The reader of the job's output is gone: the command must notice that as if it wrote there
  // itself.
  for (Stream& one : streams_)
    if (one.outer >= 0) ::close(std::exchange(one.outer, -1));
}

}  // namespace mpc::launch
