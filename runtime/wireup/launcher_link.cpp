#include "runtime/wireup/launcher_link.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/service_thread.h"

namespace mpc::wireup {
namespace {

// The launcher prints and decides; what a process ends with then interests nobody.
constexpr int kStatusWithoutLauncher = 1;

}  // namespace

Result<> LauncherLink::start() {
  const Result<pthread_t> thread =
      start_service_thread("the launcher's orders", &listen, this);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

// One system call, no heap: the handler of a crash calls it. A packet is sent whole or not at all.
void LauncherLink::tell(Report kind, int status, std::string_view text) noexcept {
  RecordHead head{static_cast<int32_t>(kind), status};
  iovec parts[] = {
      {&head, sizeof head},
      {const_cast<char*>(text.data()), std::min(text.size(), kMostTextBytes)}};
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

void LauncherLink::obey(Order order) {
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    handler = handler_;
  }
  if (handler) return handler(order);
  // No rank runs yet.
  if (order == Order::kAskTable) return tell(Report::kTable, 0, {});
  const std::lock_guard wait(end_);
  ::_exit(kStatusWithoutLauncher);
}

void* LauncherLink::listen(void* self) {
  auto& link = *static_cast<LauncherLink*>(self);
  for (;;) {
    RecordHead head;
    const ssize_t bytes = ::recv(link.socket_, &head, sizeof head, 0);
    if (bytes < 0 && errno == EINTR) continue;
    // The launcher is gone. The kernel ends us, too (PR_SET_PDEATHSIG), unless that got lost.
    if (bytes < static_cast<ssize_t>(sizeof head)) ::_exit(kStatusWithoutLauncher);
    link.obey(static_cast<Order>(head.kind));
  }
}

}  // namespace mpc::wireup
