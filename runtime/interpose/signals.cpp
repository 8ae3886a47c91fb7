#include "runtime/interpose/signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/image.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

extern "C" char __ehdr_start[];
extern "C" char _end[];

namespace mpc::interpose {

struct RankSignals {
  struct Entry {
    struct sigaction action;
    bool is_set;  // false: the process's action
  };
  std::array<Entry, NSIG> entries{};
  // Number of runs of handlers after which waiting calls end with EINTR.
  std::atomic<uint32_t> interruptions{0};
  std::atomic<uint32_t> runs{0};
  // Of the handler that the main thread runs, the innermost one; null: none. One that has been left by a jump is
  // above the stack pointer.
  std::atomic<const void*> handler_frame{nullptr};
};

namespace {

using Action = struct sigaction;

// Per signal: the process's action before the first rank installed a
// handler, how many ranks have one, and which rank installed last. Handlers
// read it without the mutex, so it changes only as a whole.
struct Shared {
  Action base{};
  std::atomic<int> users{0};
  std::atomic<const job::Rank*> last{nullptr};
  std::atomic<bool> is_caught_for_waits{false};
};
std::mutex g_mutex;
std::array<Shared, NSIG>& shared() {
  static auto* const all = new std::array<Shared, NSIG>;
  return *all;
}
constinit ChildDispatch g_child_dispatch = nullptr;

RankSignals::Entry* entry_of(const job::Rank* rank, int signal) noexcept {
  auto* state = rank != nullptr ? rank->libc : nullptr;
  return state != nullptr && state->signals != nullptr
             ? &state->signals->entries[static_cast<size_t>(signal)]
             : nullptr;
}
bool has_set(const job::Rank* rank, int signal) noexcept {
  const RankSignals::Entry* entry = entry_of(rank, signal);
  return entry != nullptr && entry->is_set;
}

bool is_of_caller(int signal, const siginfo_t& info) noexcept {
  if (info.si_code == SI_TKILL) return info.si_pid == ::getpid();
  const bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
                        signal == SIGILL || signal == SIGTRAP || signal == SIGSYS ||
                        signal == SIGPIPE;
  return is_fault && (info.si_code > 0 || signal == SIGPIPE);
}

const job::Rank* rank_for(int signal, const siginfo_t& info) noexcept {
  const job::Rank* current = own_rank();
  if (current != nullptr && is_of_caller(signal, info)) return current;
  const job::Rank* owner = timer_owner(signal);
  if (has_set(owner, signal) || (owner != nullptr && info.si_code == SI_KERNEL))
    return owner;
  if (const job::Rank* maker = timer_maker(info); has_set(maker, signal)) return maker;
  return shared()[static_cast<size_t>(signal)].last.load(std::memory_order_relaxed);
}

bool is_harmless_by_default(int signal) noexcept {
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH ||
         signal == SIGCONT;
}

void call(const Action& action, int signal, siginfo_t* info, void* context) {
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(signal, info, context);
  else
    action.sa_handler(signal);
}

// The rank that is meant has installed nothing: runs the process's own handler, or the default.
void act_as_process(int signal, siginfo_t* info, void* context) {
  const Action& base = shared()[static_cast<size_t>(signal)].base;
  const bool is_function = (base.sa_flags & SA_SIGINFO) != 0 ||
                           (base.sa_handler != SIG_DFL && base.sa_handler != SIG_IGN);
  if (is_function) return call(base, signal, info, context);
  if (base.sa_handler == SIG_IGN || is_harmless_by_default(signal)) return;
  Action standard{};
  standard.sa_handler = SIG_DFL;
  NEXT(sigaction)(signal, &standard, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  NEXT(pthread_sigmask)(SIG_UNBLOCK, &only, nullptr);
}

}  // namespace

const Action* handler_of(const job::Rank* rank, int signal) noexcept {
  const RankSignals::Entry* entry = entry_of(rank, signal);
  return entry != nullptr && entry->is_set ? &entry->action : nullptr;
}

void run_handler(const job::Rank* rank, int signal, siginfo_t* info, void* context) {
  RankSignals::Entry* entry = entry_of(rank, signal);
  if (entry == nullptr || !entry->is_set) return;
  const Action action = entry->action;
  if ((action.sa_flags & SA_RESETHAND) != 0) entry->is_set = false;
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) return;
  // Relaxed: a waiting call checks for a change again and again.
  RankSignals& all = *rank->libc->signals;
  if ((action.sa_flags & SA_RESTART) == 0)
    all.interruptions.fetch_add(1, std::memory_order_relaxed);
  all.runs.fetch_add(1, std::memory_order_relaxed);
  const void* const outer =
      all.handler_frame.exchange(__builtin_frame_address(0), std::memory_order_relaxed);
  call(action, signal, info, context);
  all.handler_frame.store(outer, std::memory_order_relaxed);
}

bool runs_handler(const job::Rank& rank) noexcept {
  const auto* state = rank.libc;
  if (state == nullptr || state->signals == nullptr) return false;
  const auto* frame = static_cast<const char*>(
      state->signals->handler_frame.load(std::memory_order_relaxed));
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (frame == nullptr) return false;
  const auto stack = sched::Execution::self().stack();
  const auto is_on_stack = [&](const char* at) {
    return at >= stack.low && at < stack.low + stack.bytes;
  };
  return is_on_stack(frame) == is_on_stack(here) && here < frame;
}

void at_child_signal(ChildDispatch dispatch) noexcept { g_child_dispatch = dispatch; }

bool has_any_handler(int signal) noexcept {
  return signal > 0 && signal < NSIG &&
         shared()[static_cast<size_t>(signal)].users.load(std::memory_order_relaxed) !=
             0;
}

uint32_t handler_runs_of(const job::Rank& rank) noexcept {
  const auto* state = rank.libc;
  return state != nullptr && state->signals != nullptr
             ? state->signals->runs.load(std::memory_order_relaxed)
             : 0;
}

bool is_own_call(const void* return_address) noexcept {
  const auto* address = static_cast<const char*>(return_address);
  return address >= __ehdr_start && address < _end;
}

namespace {

// A child has stopped or continues, and the rank does not want to know: install() does not tell the
// kernel so, because other ranks may want to know.
bool is_unwanted_stop(const job::Rank* rank, int signal, const siginfo_t& info) {
  if (signal != SIGCHLD ||
      (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED &&
       info.si_code != CLD_CONTINUED))
    return false;
  const Action* action = handler_of(rank, signal);
  return action != nullptr && (action->sa_flags & SA_NOCLDSTOP) != 0;
}

void dispatch(int signal, siginfo_t* info, void* context) {
  if (take_carried_signal(signal, *info, context)) return;
  const int error = errno;
  const bool was_passed_on = restore_if_passed_on(*info);
  if (signal == SIGCHLD && g_child_dispatch != nullptr &&
      g_child_dispatch(*info, was_passed_on, context))
    return;
  if (give_to_all(signal, was_passed_on, info, context)) {
    if (!was_passed_on) give_to_waiter(signal, *info, false, context);
    errno = error;
    return;
  }
  const job::Rank* rank = rank_for(signal, *info);
  if (is_unwanted_stop(rank, signal, *info)) return;
  if (handler_of(rank, signal) == nullptr &&
      give_to_waiter(signal, *info, was_passed_on, context)) {
    errno = error;
    return;
  }
  const bool is_passed_on =
      !was_passed_on && !is_of_caller(signal, *info) && pass_on(rank, signal, *info);
  errno = error;
  if (is_passed_on) return;
  if (handler_of(rank, signal) == nullptr) return act_as_process(signal, info, context);
  run_handler(rank, signal, info, context);
}

bool is_default(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

// Sets the process's action for a signal that ranks handle, with the flags of the last rank; on the
// signal stack where the runtime's report needs it (an overflow of another rank's stack).
void install(int signal, const Action& wanted) {
  Shared& all = shared()[static_cast<size_t>(signal)];
  Action before{};
  NEXT(sigaction)(signal, nullptr, &before);
  if (before.sa_sigaction != &dispatch) all.base = before;
  Action action = wanted;
  action.sa_sigaction = &dispatch;
  action.sa_flags =
      (wanted.sa_flags & ~SA_RESETHAND) | (all.base.sa_flags & SA_ONSTACK) | SA_SIGINFO;
  if (signal == SIGCHLD) {  // children of other ranks do not change
    action.sa_flags &= ~(SA_NOCLDWAIT | SA_NOCLDSTOP);
    if (!(wanted.sa_flags & SA_SIGINFO) && wanted.sa_handler == SIG_IGN)
      action.sa_flags |= SA_RESTART;
  }
  NEXT(sigaction)(signal, &action, nullptr);
}

}  // namespace

void catch_for_waits(int signal) noexcept {
  // Programs and libraries block all signals for a moment, again and again.
  std::atomic<bool>& is_caught =
      shared()[static_cast<size_t>(signal)].is_caught_for_waits;
  if (is_caught.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(g_mutex);
  is_caught.store(true, std::memory_order_release);
  Action present{};
  NEXT(sigaction)(signal, nullptr, &present);
  if (present.sa_sigaction == &dispatch) return;
  Action action{};
  action.sa_flags = SA_RESTART;
  install(signal, action);
}

void catch_carried_signals(bool restarts) {
  const std::lock_guard lock(g_mutex);
  Action present{};
  NEXT(sigaction)(SIGRTMAX, nullptr, &present);
  if (present.sa_sigaction == &dispatch) return;  // a rank handles it, too
  shared()[static_cast<size_t>(SIGRTMAX)].base = present;
  Action action{};
  action.sa_sigaction = &dispatch;
  // SA_NODEFER: a handler that calls exit() does not come back to where the signal would be unblocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | (restarts ? SA_RESTART : 0);
  NEXT(sigaction)(SIGRTMAX, &action, nullptr);
}

namespace {

// The answer for a rank that has installed nothing: it does not see the runtime's handlers.
Action answer_of_process(int signal) {
  Action present{};
  NEXT(sigaction)(signal, nullptr, &present);
  if (present.sa_sigaction == &dispatch)
    present = shared()[static_cast<size_t>(signal)].base;
  const bool is_ignored =
      (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_IGN;
  present = {};
  present.sa_handler = is_ignored ? SIG_IGN : SIG_DFL;
  return present;
}

int set_action(job::Rank& rank, int signal, const Action* wanted, Action* before) {
  auto& state = *rank.libc;
  const std::lock_guard lock(g_mutex);
  if (state.signals == nullptr)
    state.signals = new RankSignals;  // lives on with its threads
  RankSignals::Entry& entry = state.signals->entries[static_cast<size_t>(signal)];
  if (before != nullptr)
    *before = entry.is_set ? entry.action : answer_of_process(signal);
  if (wanted == nullptr) return 0;
  Shared& all = shared()[static_cast<size_t>(signal)];
  const bool was_set = entry.is_set;
  if (is_default(*wanted)) {
    entry.is_set = false;
    if (was_set && all.users.fetch_sub(1, std::memory_order_relaxed) == 1) {
      all.last.store(nullptr, std::memory_order_relaxed);
      if (!all.is_caught_for_waits) NEXT(sigaction)(signal, &all.base, nullptr);
    }
    return 0;
  }
  entry.action = *wanted;
  entry.is_set = true;
  if (!was_set) all.users.fetch_add(1, std::memory_order_relaxed);
  all.last.store(&rank, std::memory_order_relaxed);
  install(signal, *wanted);
  return 0;
}

// The handlers with which the Fortran runtime reports a crash are not installed in a job, where
// they would replace its own report (runtime/job/crash.h).
bool is_of_fortran_runtime(sighandler_t handler) noexcept {
  if (handler == SIG_DFL || handler == SIG_IGN) return false;
  const auto info =
      mpc::loader::describe_address(reinterpret_cast<const void*>(handler));
  return info.path != nullptr && std::strstr(info.path, "/libgfortran.so") != nullptr;
}

job::Rank* rank_of_call(int signal, const void* return_address) {
  if (signal <= 0 || signal >= NSIG || signal == SIGKILL || signal == SIGSTOP)
    return nullptr;
  if (!g_is_ready || is_own_call(return_address) || is_forked_child()) return nullptr;
  job::Rank* rank = own_rank();
  return rank != nullptr && rank->libc != nullptr ? rank : nullptr;
}

// signal() in its two meanings.
sighandler_t set_handler(job::Rank& rank, int signal, sighandler_t handler, int flags) {
  if (is_of_fortran_runtime(handler)) return SIG_DFL;
  Action action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, signal);
  Action before{};
  set_action(rank, signal, &action, &before);
  return before.sa_handler;
}

}  // namespace

uint32_t interruptions_of(const job::Rank& rank) noexcept {
  const auto* state = rank.libc;
  return state != nullptr && state->signals != nullptr
             ? state->signals->interruptions.load(std::memory_order_relaxed)
             : 0;
}

bool run_handler_here(int signal) noexcept {
  const bool is_taken =
      signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
  if (!is_taken || !has_set(own_rank(), signal)) return false;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_TKILL;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  dispatch(signal, &info, nullptr);
  return true;
}

}  // namespace mpc::interpose

using mpc::interpose::rank_of_call;

MPC_EXPORT int sigaction(int signal, const struct sigaction* wanted,
                         struct sigaction* before) noexcept {
  mpc::job::Rank* rank = rank_of_call(signal, __builtin_return_address(0));
  if (rank == nullptr) return NEXT(sigaction)(signal, wanted, before);
  if (wanted != nullptr && mpc::interpose::is_of_fortran_runtime(wanted->sa_handler))
    return 0;
  return mpc::interpose::set_action(*rank, signal, wanted, before);
}
MPC_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  mpc::job::Rank* rank = rank_of_call(number, __builtin_return_address(0));
  if (rank == nullptr) return NEXT(signal)(number, handler);
  return mpc::interpose::set_handler(*rank, number, handler, SA_RESTART);
}
MPC_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  mpc::job::Rank* rank = rank_of_call(number, __builtin_return_address(0));
  if (rank == nullptr) return NEXT(sysv_signal)(number, handler);
  return mpc::interpose::set_handler(*rank, number, handler, SA_RESETHAND | SA_NODEFER);
}
