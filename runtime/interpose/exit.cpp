// exit() and what runs at it: of a rank, not of the process. See runtime/loader/image.h.

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::copy_at;
using mpc::interpose::own_copy;
using mpc::loader::Copy;
using mpc::loader::ExitEntry;

namespace {

// A child that a rank forked is a process of its own: it ends as one.
const pid_t g_process = ::getpid();

bool is_forked_child() { return ::getpid() != g_process; }

// Calls from our own library and from others' (crash handlers, abort) mean the process.
Copy* copy_of_caller(void* return_address) {
  return is_forked_child() ? nullptr : copy_at(return_address);
}

}  // namespace

MPC_EXPORT void exit(int status) {
  if (Copy* copy = own_copy()) {
    if (!is_forked_child()) copy->exit(status);
    copy->run_exit(status);
  }
  NEXT(exit)(status);
  __builtin_unreachable();
}
MPC_EXPORT void quick_exit(int status) noexcept {
  Copy* copy = own_copy();
  if (copy != nullptr && !is_forked_child()) copy->exit_quick(status);
  NEXT(quick_exit)(status);
  __builtin_unreachable();
}
MPC_EXPORT void _exit(int status) {
  if (copy_of_caller(__builtin_return_address(0)) != nullptr) {
    if (Copy* copy = own_copy()) copy->exit_now(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}
MPC_EXPORT void _Exit(int status) noexcept {
  if (copy_of_caller(__builtin_return_address(0)) != nullptr) {
    if (Copy* copy = own_copy()) copy->exit_now(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}

// --- registration: the module (`dso`) says whose function it is ------------------------------

extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
extern "C" void __cxa_finalize(void*) noexcept;
extern "C" int __cxa_at_quick_exit(void (*)(void*), void*) noexcept;
extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*) noexcept;

MPC_EXPORT int __cxa_atexit(void (*function)(void*), void* argument,
                            void* dso) noexcept {
  Copy* copy = copy_at(dso);
  if (copy == nullptr) return NEXT(__cxa_atexit)(function, argument, dso);
  copy->at_exit(
      {ExitEntry::Kind::kCxa, reinterpret_cast<void*>(function), argument, dso});
  return 0;
}
MPC_EXPORT int on_exit(void (*function)(int, void*), void* argument) noexcept {
  Copy* copy = copy_at(reinterpret_cast<void*>(function));
  if (copy == nullptr) return NEXT(on_exit)(function, argument);
  copy->at_exit(
      {ExitEntry::Kind::kOnExit, reinterpret_cast<void*>(function), argument, nullptr});
  return 0;
}
MPC_EXPORT int __cxa_at_quick_exit(void (*function)(void*), void* dso) noexcept {
  Copy* copy = copy_at(dso);
  if (copy == nullptr) return NEXT(__cxa_at_quick_exit)(function, dso);
  copy->at_exit(
      {ExitEntry::Kind::kQuick, reinterpret_cast<void*>(function), nullptr, dso});
  return 0;
}
MPC_EXPORT void __cxa_finalize(void* dso) noexcept {
  if (Copy* copy = dso != nullptr ? copy_at(dso) : nullptr)
    copy->finalize(dso);
  else
    NEXT(__cxa_finalize)(dso);
}
// Destructors of thread_locals: those of a rank's main thread run when the rank ends, not
// when the kernel thread does whose thread control block the rank has.
MPC_EXPORT int __cxa_thread_atexit_impl(void (*function)(void*), void* object,
                                        void* dso) noexcept {
  Copy* copy = mpc::interpose::g_is_ready ? mpc::loader::running_copy() : nullptr;
  if (copy == nullptr) return NEXT(__cxa_thread_atexit_impl)(function, object, dso);
  copy->at_main_thread_exit(function, object);
  return 0;
}

// --- raise(), abort() ------------------------------------------------------------------------

// libc sends the signal to the kernel thread that it believes the caller to be; a rank runs on
// its worker.
MPC_EXPORT int raise(int signal) noexcept {
  if (mpc::interpose::own_rank() == nullptr) return NEXT(raise)(signal);
  return static_cast<int>(
      ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal));
}
MPC_EXPORT void abort() noexcept {
  if (mpc::interpose::own_rank() != nullptr) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGABRT);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(SIGABRT);
    // The handler returned, or there is none: as libc does, once more without it.
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;
    ::sigaction(SIGABRT, &fallback, nullptr);
    raise(SIGABRT);
  }
  NEXT(abort)();
  __builtin_unreachable();
}
