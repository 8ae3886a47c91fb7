#include "runtime/job/raw_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

namespace mpc::job::raw {
namespace {

constexpr size_t kSetBytes = 8;                  // of the kernel's signal set
constexpr unsigned long kRestorer = 0x04000000;  // SA_RESTORER

struct KernelAction {
  union {
    Handler handler;
    void (*plain)(int);
  };
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

void change_mask(int how, uint64_t set) noexcept {
  ::syscall(SYS_rt_sigprocmask, how, &set, nullptr, kSetBytes);
}

uint64_t only(int signal) noexcept { return uint64_t{1} << (signal - 1); }

}  // namespace

void set_handler(int signal, Handler handler) noexcept {
  KernelAction action{};
  // The return path of a handler is code of libc: copy it from a handler that is installed.
  for (const int other : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    ::syscall(SYS_rt_sigaction, other, nullptr, &action, kSetBytes);
    if (action.restorer != nullptr) break;
  }
  if (action.restorer == nullptr) return;
  action.handler = handler;
  action.flags = kRestorer | SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.mask = 0;
  ::syscall(SYS_rt_sigaction, signal, &action, nullptr, kSetBytes);
}

void set_default(int signal) noexcept {
  KernelAction action{};
  action.plain = SIG_DFL;
  ::syscall(SYS_rt_sigaction, signal, &action, nullptr, kSetBytes);
}

void block(int signal) noexcept { change_mask(SIG_BLOCK, only(signal)); }
void unblock(int signal) noexcept { change_mask(SIG_UNBLOCK, only(signal)); }
void block_all() noexcept { change_mask(SIG_BLOCK, ~uint64_t{0}); }

void send_again(int signal, const siginfo_t& info) noexcept {
  siginfo_t copy = info;
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), signal, &copy);
}

}  // namespace mpc::job::raw
