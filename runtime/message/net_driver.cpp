#include "runtime/message/net_driver.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/job/crash.h"

namespace mpc::msg {

Result<> NetDriver::start() {
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell_ < 0)
    return {Errc::kSystem,
            std::string("cannot create an eventfd: ") + std::strerror(errno)};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attributes, &all);
  const int error = pthread_create(&thread_, &attributes, &thread_main, this);
  pthread_attr_destroy(&attributes);
  is_started_ = error == 0;
  if (is_started_) return {};
  return {Errc::kSystem,
          std::string("cannot create the network's thread: ") + std::strerror(error)};
}

void NetDriver::stop() noexcept {
  if (is_started_) {
    stop_.store(true, std::memory_order_relaxed);  // the bell tells it
    ::eventfd_write(bell_, 1);
    pthread_join(thread_, nullptr);
    is_started_ = false;
  }
  if (bell_ >= 0) ::close(bell_);
  bell_ = -1;
}

void* NetDriver::thread_main(void* self) {
  job::crash::prepare_kernel_thread();
  static_cast<NetDriver*>(self)->run();
  return nullptr;
}

void NetDriver::run() noexcept {
  // An answer often comes at once: cheaper than to sleep and be woken.
  constexpr int kPatientTurns = 64;
  int idle_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (source_.poll()) {
      idle_turns = 0;
    } else if (++idle_turns >= kPatientTurns && source_.arm()) {
      sleep();
      idle_turns = 0;
    }
  }
}

void NetDriver::sleep() const noexcept {
  pollfd wanted[] = {{source_.descriptor(), POLLIN, 0}, {bell_, POLLIN, 0}};
  ::poll(wanted, 2, -1);  // whatever it says: polling tells
}

}  // namespace mpc::msg
