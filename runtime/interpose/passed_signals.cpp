// Signals that one thread of the process passes on to another one, for a rank.

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {
namespace {

// Marks a signal that has been passed on, in si_errno, which the kernel leaves 0. The lower half
// has the si_code, because only codes of signals that programs queue may be sent.
constexpr unsigned kPassedOn = 0x4d500000, kCodeBits = 0xffff;

}  // namespace

bool pass_on_to(int thread, int signal, const siginfo_t& info) noexcept {
  siginfo_t copy = info;
  copy.si_errno =
      static_cast<int>(kPassedOn | (static_cast<unsigned>(info.si_code) & kCodeBits));
  copy.si_code = SI_QUEUE;
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, signal, &copy) == 0;
}

// A signal to the process interrupts any of its threads. It is passed on to the kernel thread that
// runs the main thread of the rank that is meant, or ran it last: a call in which the rank sleeps
// there ends with EINTR, and the handler may jump out of what the rank computes. Only once: when it
// arrives another rank may be running. False: it must be handled here.
bool pass_on(const job::Rank* rank, int signal, const siginfo_t& info) noexcept {
  if (rank == nullptr || rank->execution == nullptr || is_forked_child() ||
      rank->phase.load(std::memory_order_relaxed) >= job::kEnded)
    return false;
  const int thread = rank->execution->kernel_thread();
  if (thread == 0 || thread == ::syscall(SYS_gettid)) return false;
  return pass_on_to(thread, signal, info);
}

// True: it has been passed on; then `info` is again what the kernel gave.
bool restore_if_passed_on(siginfo_t& info) noexcept {
  const auto mark = static_cast<unsigned>(info.si_errno);
  if ((mark & ~kCodeBits) != kPassedOn) return false;
  info.si_errno = 0;
  info.si_code = static_cast<int16_t>(mark & kCodeBits);
  return true;
}

}  // namespace mpc::interpose
