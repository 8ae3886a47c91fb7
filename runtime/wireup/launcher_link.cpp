#include "runtime/wireup/launcher_link.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/service_thread.h"

namespace mpc::wireup {
namespace {

// The launcher prints and decides; after its death a process's status interests nobody.
constexpr int kStatusWithoutLauncher = 1;
// Longer than process 0 waits for the others, including a crash's report.
constexpr std::chrono::seconds kMostPart{20};
// Without process 0: this long for what ranks have printed.
constexpr unsigned kLastWordsSeconds = 3;
// Its sockets are closed before its end can be seen: some ms on a machine with much other work.
constexpr std::chrono::milliseconds kAfterProcess0{500};

}  // namespace

Result<> LauncherLink::start() {
  const Result<pthread_t> thread =
      start_service_thread("the launcher's orders", &listen, this);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

// One system call, no heap: the handler of a crash calls it. A packet is sent whole or not at all;
// a stream also accepts it in one piece, since it has room for that and is little used.
void LauncherLink::tell(Report kind, int status, std::string_view text) noexcept {
  const size_t text_bytes = std::min(text.size(), kMostTextBytes);
  RecordHead head{static_cast<int32_t>(kind), status, static_cast<int32_t>(text_bytes)};
  iovec parts[] = {{&head, sizeof head}, {const_cast<char*>(text.data()), text_bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (::sendmsg(socket_, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void LauncherLink::set_handler(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

void LauncherLink::set_loss_handler(std::function<void(int process)> handler) {
  const std::lock_guard lock(mutex_);
  on_loss_ = std::move(handler);
}

// The callback is set first, then the launcher may answer.
void LauncherLink::arrive_at(Gate gate, std::function<void()> passed) {
  {
    const std::lock_guard lock(mutex_);
    passed_[static_cast<size_t>(gate)] = std::move(passed);
  }
  tell(Report::kGate, static_cast<int>(gate), {});
}

void LauncherLink::lose(int process) {
  std::function<void(int process)> on_loss;
  {
    const std::lock_guard lock(mutex_);
    on_loss = on_loss_;
  }
  if (on_loss) on_loss(process);
}

void LauncherLink::pass(int gate) {
  if (gate < 0 || gate >= kGates) return;
  std::function<void()> passed;
  {
    const std::lock_guard lock(mutex_);
    passed = std::exchange(passed_[static_cast<size_t>(gate)], nullptr);
  }
  if (passed) passed();
}

void LauncherLink::obey(Order order, int number) {
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    handler = handler_;
  }
  if (handler) return handler(order, number);
  // No rank runs yet.
  if (order == Order::kAskTable) return tell(Report::kTable, 0, {});
  const std::lock_guard wait(end_);
  if (other_ == Other::kProcess0) return part_later(kStatusWithoutLauncher);
  ::_exit(kStatusWithoutLauncher);
}

int LauncherLink::part(int status) noexcept {
  tell(Report::kWritten, status, {});
  std::unique_lock lock(mutex_);
  left_.wait_for(lock, kMostPart, [this] { return has_left_; });
  return has_left_ ? job_status_ : std::max(status, kStatusWithoutLauncher);
}

void LauncherLink::part_later(int status) noexcept {
  ends_when_left_ = true;
  tell(Report::kWritten, status, {});
}

void LauncherLink::leave(int status) {
  if (ends_when_left_) ::_exit(status);
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  job_status_ = status;
  left_.notify_all();
}

// Process 0 has ended before the others: it was killed, or its host is down. The launcher that has started
// both takes the status of the first end that it sees: that must not be ours, which says nothing.
void LauncherLink::lose_other() {
  if (other_ == Other::kLauncher || ends_when_left_) ::_exit(kStatusWithoutLauncher);
  const bool has_left = [this] {
    const std::lock_guard lock(mutex_);
    return has_left_;
  }();
  if (!has_left) {
    obey(Order::kEndSoon, 0);
    std::this_thread::sleep_for(kAfterProcess0);
    leave(kStatusWithoutLauncher);
  }
  ::sleep(kLastWordsSeconds);
  ::_exit(kStatusWithoutLauncher);
}

void* LauncherLink::listen(void* self) {
  auto& link = *static_cast<LauncherLink*>(self);
  for (;;) {
    RecordHead head;
    const ssize_t bytes = ::recv(link.socket_, &head, sizeof head, MSG_WAITALL);
    if (bytes < 0 && errno == EINTR) continue;
    // After a launcher's death the kernel also ends this process
    // (PR_SET_PDEATHSIG), unless that was lost.
    if (bytes < static_cast<ssize_t>(sizeof head)) link.lose_other();
    const auto order = static_cast<Order>(head.kind);
    if (order == Order::kLeave)
      link.leave(head.status);
    else if (order == Order::kLost)
      link.lose(head.status);
    else if (order == Order::kPass)
      link.pass(head.status);
    else
      link.obey(order, head.status);
  }
}

}  // namespace mpc::wireup
