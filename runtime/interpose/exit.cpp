// exit() and what runs at exit: for a rank, not for the process. See runtime/loader/image.h.

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/interpose/fork_handlers.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signal_waits.h"
#include "runtime/interpose/signals.h"
#include "runtime/job/death.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hosted_process.h"
#include "runtime/job/inherited.h"
#include "runtime/loader/rank_linker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::instance_at;
using mpc::interpose::is_forked_child;  // it ends as a separate process
using mpc::interpose::own_instance;
using mpc::loader::ExitEntry;
using mpc::loader::ProgramInstance;

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace {

// Calls from our own library and from other libraries (crash handlers, abort) mean the process.
ProgramInstance* instance_of_caller(void* return_address) {
  return is_forked_child() ? nullptr : instance_at(return_address);
}

// exit() inside libc (argp's --help, libraries that bind it) does not call ours. But it calls
// this, on the thread of the rank, which then ends properly. There is no return from that,
// so the entry in libc's list must be registered again.
void end_rank_instead(int status, void*) {
  ProgramInstance* instance =
      mpc::interpose::g_is_ready && !is_forked_child() ? own_instance() : nullptr;
  if (instance == nullptr) return;
  NEXT(on_exit)(&end_rank_instead, nullptr);
  NEXT(fflush)(nullptr);  // what libc has printed past the rank's streams
  instance->exit(status);
}

// Registered after all others of the process: it is called first, and they are not called.
void register_end(mpc::job::Rank& rank) {
  if (rank.instance == nullptr) return;
  static std::once_flag once;
  std::call_once(once, [] { NEXT(on_exit)(&end_rank_instead, nullptr); });
}

__attribute__((constructor)) void register_hooks() {
  mpc::job::Job::at_rank_start(mpc::job::HookOrder::kExit, &register_end);
}

bool is_of_mpcrun(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

[[noreturn]] void die_of(const mpc::job::Rank& rank, int signal) {
  mpc::job::die(
      rank, mpc::job::kExitSignal + signal,
      fmt::format("mpcrun: rank {} of {} ({}) died of signal {} ({}); the "
                  "job is ended",
                  rank.world_rank, rank.world_size, rank.job->program(rank.app_index),
                  signal, ::sigdescr_np(signal)));
}

// Objects of this library that are constructed while ranks run live to the end of the process,
// which a job does not reach by exit().
bool is_own_object(const void* dso) {
  if (dso != &__dso_handle) return false;
  if (mpc::job::is_hosted_process()) return true;  // its rank leaves the job after that
  if (!mpc::interpose::g_is_ready) return false;
  const mpc::job::Job* job = mpc::job::Job::existing();
  return job != nullptr && !job->is_singleton();
}

}  // namespace

MPC_EXPORT void exit(int status) {
  if (ProgramInstance* instance = own_instance()) {
    if (!is_forked_child()) instance->exit(status);
    instance->run_exit(status);
  }
  NEXT(exit)(status);
  __builtin_unreachable();
}
MPC_EXPORT void quick_exit(int status) noexcept {
  ProgramInstance* instance = own_instance();
  if (instance != nullptr && !is_forked_child()) instance->exit_quick(status);
  NEXT(quick_exit)(status);
  __builtin_unreachable();
}
MPC_EXPORT void _exit(int status) {
  if (instance_of_caller(__builtin_return_address(0)) != nullptr) {
    if (ProgramInstance* instance = own_instance()) instance->exit_now(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}
MPC_EXPORT void _Exit(int status) noexcept {
  if (instance_of_caller(__builtin_return_address(0)) != nullptr) {
    if (ProgramInstance* instance = own_instance()) instance->exit_now(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}

// --- registration: the module (`dso`) says to whom a function belongs -------------------------

extern "C" int __cxa_atexit(void (*)(void*), void*, void*) noexcept;
extern "C" void __cxa_finalize(void*) noexcept;
extern "C" int __cxa_at_quick_exit(void (*)(void*), void*) noexcept;
extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*) noexcept;

MPC_EXPORT int __cxa_atexit(void (*function)(void*), void* argument,
                            void* dso) noexcept {
  if (is_own_object(dso)) return 0;
  ProgramInstance* instance = instance_at(dso);
  if (instance == nullptr) return NEXT(__cxa_atexit)(function, argument, dso);
  instance->at_exit(
      {ExitEntry::Kind::kCxa, reinterpret_cast<void*>(function), argument, dso});
  return 0;
}
MPC_EXPORT int on_exit(void (*function)(int, void*), void* argument) noexcept {
  ProgramInstance* instance = instance_at(reinterpret_cast<void*>(function));
  if (instance == nullptr) return NEXT(on_exit)(function, argument);
  instance->at_exit(
      {ExitEntry::Kind::kOnExit, reinterpret_cast<void*>(function), argument, nullptr});
  return 0;
}
MPC_EXPORT int __cxa_at_quick_exit(void (*function)(void*), void* dso) noexcept {
  ProgramInstance* instance = instance_at(dso);
  if (instance == nullptr) return NEXT(__cxa_at_quick_exit)(function, dso);
  instance->at_exit(
      {ExitEntry::Kind::kQuick, reinterpret_cast<void*>(function), nullptr, dso});
  return 0;
}
MPC_EXPORT void __cxa_finalize(void* dso) noexcept {
  if (ProgramInstance* instance = dso != nullptr ? instance_at(dso) : nullptr) {
    instance->finalize(dso);
    mpc::interpose::drop_fork_handlers(dso);
  }
  NEXT(__cxa_finalize)(dso);
}
// Destructors of thread_locals: those of a rank's main thread run when the rank ends, not when
// the kernel thread exits whose thread control block the rank has.
MPC_EXPORT int __cxa_thread_atexit_impl(void (*function)(void*), void* object,
                                        void* dso) noexcept {
  // The library stays loaded: the destructor is called at a time that nobody knows now.
  if (ProgramInstance* owner = instance_at(dso);
      owner != nullptr && owner->module_of(dso) == nullptr)
    owner->linker().pin(dso);
  ProgramInstance* instance =
      mpc::interpose::g_is_ready ? mpc::loader::running_instance() : nullptr;
  if (instance == nullptr) return NEXT(__cxa_thread_atexit_impl)(function, object, dso);
  instance->at_main_thread_exit(function, object);
  return 0;
}

// --- raise(), abort() ------------------------------------------------------------------------

// libc sends the signal to the kernel thread that it takes the caller for; a rank runs on
// its worker.
MPC_EXPORT int raise(int signal) noexcept {
  if (mpc::interpose::own_rank() == nullptr || is_forked_child())
    return NEXT(raise)(signal);
  if (mpc::interpose::run_handler_here(signal)) return 0;
  // The runtime has blocked them in all threads, because from outside they are for mpcrun itself.
  if (is_of_mpcrun(signal)) {
    if (mpc::job::inherited::is_ignored(signal)) return 0;
    die_of(*mpc::interpose::own_rank(), signal);
  }
  return static_cast<int>(
      ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal));
}
// Signals to the own process go to the rank itself, unless another rank has a handler for them.
MPC_EXPORT int kill(pid_t process, int signal) noexcept {
  const bool is_of_rank = process == ::getpid() && signal > 0 &&
                          mpc::interpose::own_rank() != nullptr && !is_forked_child() &&
                          !mpc::interpose::is_own_call(__builtin_return_address(0));
  if (!is_of_rank) return NEXT(kill)(process, signal);
  const int waiter =
      mpc::interpose::signal_waits::thread_for(*mpc::interpose::own_rank(), signal);
  if (waiter != 0)
    return static_cast<int>(::syscall(SYS_tgkill, process, waiter, signal));
  return is_of_mpcrun(signal) || !mpc::interpose::has_any_handler(signal)
             ? raise(signal)
             : NEXT(kill)(process, signal);
}
MPC_EXPORT void abort() noexcept {
  if (mpc::interpose::own_rank() != nullptr) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGABRT);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(SIGABRT);
    // The handler returned, or there is none: like libc, sends it once more without the handler.
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;
    ::sigaction(SIGABRT, &fallback, nullptr);
    raise(SIGABRT);
  }
  NEXT(abort)();
  __builtin_unreachable();
}
