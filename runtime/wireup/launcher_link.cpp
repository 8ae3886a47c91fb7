#include "runtime/wireup/launcher_link.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace mpc::wireup {
namespace {

// The launcher prints and decides; what a process ends with then interests nobody.
constexpr int kStatusWithoutLauncher = 1;

}  // namespace

Result<> LauncherLink::start() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attributes, &all);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &listen, this);
  pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  return {Errc::kSystem,
          std::string("cannot create the thread that listens to the launcher: ") +
              std::strerror(error)};
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
