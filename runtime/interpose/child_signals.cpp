#include "runtime/interpose/child_signals.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose::child_signals {
namespace {

// A child of a rank. Signal handlers read and change it, so there is no lock.
// kFree -> kMade -> kRuns by the thread that adds it; kRuns -> kFound -> kSent by the thread that
// sees its end; kSent -> kFree by the thread that runs the handler, kSent -> kKept -> kSent while
// the rank has blocked the signal. A free entry keeps its number: the signal may come after the end
// was found.
enum State : int { kFree, kMade, kRuns, kFound, kSent, kKept };
struct Child {
  std::atomic<int> state{
      kFree};  // release by the thread that fills the rest, acquire by readers
  std::atomic<pid_t> pid{0};
  std::atomic<const job::Rank*> rank{nullptr};
  std::atomic<int> code{0}, status{0}, uid{0};  // of siginfo_t
  std::atomic<int> thread{0};                   // where the handler is to run

  bool moves(State from, State to) noexcept {
    int expected = from;
    return state.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
  }
};

// Never freed: a handler may be reading it.
struct Chunk {
  std::array<Child, 64> children;
  std::atomic<Chunk*> next{nullptr};
};
constinit Chunk g_first{};
// Children that may have ended before their number was known.
constinit std::atomic<int> g_starting{0};

template <typename Visit>
void for_each_child(Visit visit) noexcept {
  for (Chunk* chunk = &g_first; chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire))  // pairs with add()
    for (Child& child : chunk->children) visit(child);
}

// What a handler is told about a child's end: written by the thread
// that found it, read by the one that runs the handler.
void note_end(Child& child, const siginfo_t& info) noexcept {
  child.code.store(info.si_code, std::memory_order_relaxed);
  child.status.store(info.si_status, std::memory_order_relaxed);
  child.uid.store(static_cast<int>(info.si_uid), std::memory_order_relaxed);
}
siginfo_t how_it_ended(const Child& child) noexcept {
  siginfo_t info{};
  info.si_signo = SIGCHLD;
  info.si_code = child.code.load(std::memory_order_relaxed);
  info.si_pid = child.pid.load(std::memory_order_relaxed);
  info.si_status = child.status.load(std::memory_order_relaxed);
  info.si_uid = static_cast<uid_t>(child.uid.load(std::memory_order_relaxed));
  return info;
}

int own_thread() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

// Leaves the child to the thread that waits for it. If that was done already nobody can say how it
// ended, but its signal is due anyway: the kernel merges several that are pending at the same time.
bool has_ended(const Child& child, siginfo_t& info) noexcept {
  info = {};
  const auto pid = static_cast<id_t>(child.pid.load(std::memory_order_relaxed));
  const int result = ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT);
  if (result == 0) return info.si_pid != 0;
  if (errno != ECHILD) return false;
  info.si_code = CLD_EXITED;
  info.si_uid = ::getuid();
  return true;
}

bool takes_handlers(const job::Rank* rank) noexcept {
  return rank->phase.load(std::memory_order_relaxed) < job::kEnded;
}

// Handles the end of a child that no caller will wait for.
void reap(const Child& child) noexcept {
  ::waitpid(child.pid.load(std::memory_order_relaxed), nullptr, WNOHANG);
}

// `child` is kFound and its siginfo is set.
void send(Child& child, const siginfo_t& info) noexcept {
  const job::Rank* rank = child.rank.load(std::memory_order_relaxed);
  const struct sigaction* action = handler_of(rank, SIGCHLD);
  const bool is_blocked =
      rank->libc->blocks_child_signal.load(std::memory_order_relaxed);
  const bool is_ignored = action != nullptr && (action->sa_flags & SA_SIGINFO) == 0 &&
                          action->sa_handler == SIG_IGN;
  if (is_ignored || (action != nullptr && (action->sa_flags & SA_NOCLDWAIT) != 0))
    reap(child);
  if (!takes_handlers(rank) || is_ignored || (action == nullptr && !is_blocked))
    return child.state.store(kFree, std::memory_order_release);
  note_end(child, info);
  const int own = own_thread();
  const int thread = rank->execution != nullptr ? rank->execution->kernel_thread() : 0;
  child.thread.store(thread != 0 ? thread : own, std::memory_order_relaxed);
  child.state.store(is_blocked ? kKept : kSent, std::memory_order_seq_cst);
  // seq_cst: pairs with set_blocked(), which may have checked for kept signals just before.
  const auto& now_blocked = rank->libc->blocks_child_signal;
  if (is_blocked &&
      (now_blocked.load(std::memory_order_seq_cst) || !child.moves(kKept, kSent)))
    return;
  if (thread != 0 && thread != own && !pass_on(rank, SIGCHLD, info))
    child.thread.store(own, std::memory_order_relaxed);
}

void send_all(const siginfo_t* info) noexcept {
  for_each_child([&](Child& child) {
    if (child.state.load(std::memory_order_acquire) != kRuns) return;
    siginfo_t own{};
    const bool is_told =
        info != nullptr && child.pid.load(std::memory_order_relaxed) == info->si_pid;
    if (is_told) own = *info;
    if ((is_told || has_ended(child, own)) && child.moves(kRuns, kFound))
      send(child, own);
  });
}

// Runs the handlers for what has been sent to this thread.
void run_here(void* context) noexcept {
  const int own = own_thread();
  for_each_child([&](Child& child) {
    if (child.state.load(std::memory_order_acquire) != kSent ||
        child.thread.load(std::memory_order_relaxed) != own)
      return;
    const job::Rank* rank = child.rank.load(std::memory_order_relaxed);
    if (rank->libc->blocks_child_signal.load(std::memory_order_relaxed)) {
      child.moves(kSent, kKept);
      return;
    }
    siginfo_t info = how_it_ended(child);
    if (child.moves(kSent, kFree)) run_handler(rank, SIGCHLD, &info, context);
  });
}

// Takes one of the calling rank's children whose end it has blocked. The others are merged with it,
// because a pending signal comes only once. False: there is none.
bool take_kept(const job::Rank& rank, siginfo_t& info) noexcept {
  bool has_one = false;
  for_each_child([&](Child& child) {
    if (child.state.load(std::memory_order_acquire) != kKept ||
        child.rank.load(std::memory_order_relaxed) != &rank)
      return;
    const siginfo_t own = how_it_ended(child);
    if (!child.moves(kKept, kFree)) return;
    if (!has_one) info = own;
    has_one = true;
  });
  return has_one;
}

void run_kept(const job::Rank& rank) noexcept {
  siginfo_t info{};
  const int error = errno;
  if (take_kept(rank, info) && handler_of(&rank, SIGCHLD) != nullptr)
    run_handler(&rank, SIGCHLD, &info, nullptr);
  errno = error;
}

bool fill_free_one(const job::Rank& rank, pid_t pid) noexcept {
  bool is_done = false;
  for_each_child([&](Child& child) {
    if (is_done || !child.moves(kFree, kMade)) return;
    child.pid.store(pid, std::memory_order_relaxed);
    child.rank.store(&rank, std::memory_order_relaxed);
    child.state.store(kRuns, std::memory_order_release);
    is_done = true;
  });
  return is_done;
}

void add(const job::Rank& rank, pid_t pid) noexcept {
  // The number may be that of an older child that has been waited for.
  for_each_child([&](Child& child) {
    if (child.pid.load(std::memory_order_relaxed) == pid) child.moves(kRuns, kFree);
  });
  if (fill_free_one(rank, pid)) return;
  send_all(nullptr);  // some may have ended
  while (!fill_free_one(rank, pid)) {
    auto* chunk = new Chunk;
    Chunk* last = &g_first;
    for (Chunk* next = nullptr;
         !last->next.compare_exchange_strong(next, chunk, std::memory_order_acq_rel);
         next = nullptr)
      last = next;
  }
}

}  // namespace

bool set_blocked(job::Rank& rank, bool is_blocked) noexcept {
  const bool before =
      rank.libc->blocks_child_signal.exchange(is_blocked, std::memory_order_seq_cst);
  if (before && !is_blocked) run_kept(rank);
  return before;
}

bool take_ended(const job::Rank& rank, siginfo_t& info) noexcept {
  for_each_child([&](Child& child) {
    siginfo_t own{};
    if (child.state.load(std::memory_order_acquire) == kRuns &&
        child.rank.load(std::memory_order_relaxed) == &rank && has_ended(child, own) &&
        child.moves(kRuns, kFound)) {
      note_end(child, own);
      child.state.store(kKept, std::memory_order_release);
    }
  });
  return take_kept(rank, info);
}

Starting::Starting() noexcept { g_starting.fetch_add(1, std::memory_order_seq_cst); }
Starting::~Starting() { g_starting.fetch_sub(1, std::memory_order_seq_cst); }
void Starting::note(pid_t child) noexcept {
  const job::Rank* rank = own_rank();
  if (child <= 0 || rank == nullptr || rank->libc == nullptr) return;
  const int error = errno;
  add(*rank, child);
  // It may have ended already, before anybody knew which rank it belongs to.
  if (handler_of(rank, SIGCHLD) != nullptr) {
    send_all(nullptr);
    run_here(nullptr);
  }
  errno = error;
}

Blocked::Blocked() noexcept
    : was_blocked_(own_rank()->libc->blocks_child_signal.exchange(
          true, std::memory_order_relaxed)) {}
Blocked::~Blocked() {
  const int error = errno;
  set_blocked(*own_rank(), was_blocked_);
  errno = error;
}

namespace {

// Runs the handlers that belong on this kernel thread, and passes the others on.
bool dispatch(const siginfo_t& info, bool was_passed_on, void* context) noexcept {
  const bool is_end = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
                      info.si_code == CLD_DUMPED;
  const bool is_of_child = is_end || info.si_code == CLD_STOPPED ||
                           info.si_code == CLD_CONTINUED || info.si_code == CLD_TRAPPED;
  if (!is_of_child || is_forked_child()) return false;
  const int error = errno;
  bool is_known = was_passed_on || g_starting.load(std::memory_order_seq_cst) != 0;
  for_each_child([&](const Child& child) {
    is_known = is_known || child.pid.load(std::memory_order_relaxed) == info.si_pid;
  });
  // Another child's end, or the same one's, may have been merged into this signal.
  if (!was_passed_on) send_all(is_end ? &info : nullptr);
  run_here(context);
  errno = error;
  return is_end && is_known;
}

__attribute__((constructor)) void register_dispatch() { at_child_signal(&dispatch); }

}  // namespace

bool is_blocked() noexcept {
  const job::Rank* rank = own_rank();
  return rank != nullptr && rank->libc != nullptr &&
         rank->libc->blocks_child_signal.load(std::memory_order_relaxed);
}

}  // namespace mpc::interpose::child_signals
