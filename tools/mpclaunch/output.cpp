#include "tools/mpclaunch/output.h"

#include <signal.h>

#include "runtime/job/console.h"

namespace mpc::launch {
namespace {

constexpr size_t kLongestLineBytes = 1 << 20;  // a longer one is written in pieces

}  // namespace

Output::Output(Loop& loop, Taken taken, Lost lost)
    : loop_(loop), taken_(std::move(taken)), lost_(std::move(lost)) {}

// Does not wait for the writer: a reader that has stopped reading may hold it for ever, and the
// process ends.
Output::~Output() {
  if (!has_thread_) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (is_drained()) ::pthread_join(thread_, nullptr);
}

void Output::take(int host, int fd, std::string_view text) {
  std::string& begun = begun_[{host, fd}];
  const size_t end = text.rfind('\n');
  const bool is_too_long =
      end == std::string_view::npos && begun.size() + text.size() > kLongestLineBytes;
  const size_t whole = is_too_long                     ? text.size()
                       : end == std::string_view::npos ? 0
                                                       : end + 1;
  if (whole > 0) {
    begun.append(text.substr(0, whole));
    put(host, fd, std::exchange(begun, {}), whole);
  }
  begun.append(text.substr(whole));
  if (whole < text.size()) taken_(host, text.size() - whole);
}

void Output::end_of(int host) {
  for (auto& [whose, begun] : begun_)
    if (whose.first == host && !begun.empty())
      put(host, whose.second, std::exchange(begun, {}), 0);
}

void Output::put(int host, int fd, std::string text, size_t taken_bytes) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back({host, fd, taken_bytes, std::move(text)});
  }
  changed_.notify_all();
  if (has_thread_) return;
  const auto run = [](void* self) -> void* {
    sigset_t all;
    sigfillset(&all);  // SIGPIPE, too: write() reports it
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    static_cast<Output*>(self)->write();
    return nullptr;
  };
  has_thread_ = ::pthread_create(&thread_, nullptr, run, this) == 0;
}

bool Output::is_drained() {
  const std::lock_guard lock(mutex_);
  return pieces_.empty();
}

void Output::write() {
  int error = 0;
  for (;;) {
    Piece piece;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_over_ || !pieces_.empty(); });
      if (pieces_.empty()) return;
      piece = std::move(pieces_.front());
    }
    if (error == 0) {
      error = job::console::write(piece.fd, piece.text.data(), piece.text.size());
      if (error != 0) loop_.post([this, fd = piece.fd, error] { lost_(fd, error); });
    }
    {
      const std::lock_guard lock(mutex_);
      pieces_.pop_front();
    }
    loop_.post(
        [this, host = piece.host, bytes = piece.taken_bytes] { taken_(host, bytes); });
  }
}

}  // namespace mpc::launch
