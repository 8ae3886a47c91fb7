// chdir(), fchdir() and umask() of a rank. The kernel stores both per kernel thread if asked
// to (unshare); a worker that continues with another rank changes them, once a rank has
// its own.

#include "runtime/interpose/working_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "base/futex.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "scheduler/switch_hook.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {

// Workers read it at switches while a thread of the rank may change it.
struct FolderAndMask {
  std::atomic<uint64_t> number{0};  // changes after each call; 0: the initial one
  std::atomic<int> directory{-1};
  std::atomic<mode_t> mask{0};
};

namespace {

std::mutex g_mutex;  // one change at a time
constinit FolderAndMask g_start;
constinit std::atomic<uint64_t> g_changes{0};

const FolderAndMask& place_of(const job::Rank* rank) noexcept {
  const auto* state = rank != nullptr ? rank->libc : nullptr;
  return state != nullptr && state->place != nullptr ? *state->place : g_start;
}

void move_to(const FolderAndMask& place) noexcept {
  raw_syscall(SYS_fchdir, place.directory.load(std::memory_order_relaxed));
  raw_syscall(SYS_umask, place.mask.load(std::memory_order_relaxed));
}

void move_kernel_thread(void* identity, uint64_t& state) {
  const FolderAndMask& place = place_of(static_cast<const job::Rank*>(identity));
  const uint64_t wanted = place.number.load(std::memory_order_acquire);
  if (state == wanted) return;
  move_to(place);
  state = wanted;
}

int open_here() { return ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC); }

mode_t mask_here() {
  const mode_t mask = NEXT(umask)(0);
  NEXT(umask)(mask);
  return mask;
}

// The rank that wants a place of its own; null: the process has one for all.
job::Rank* asking_rank() {
  job::Rank* rank = is_forked_child() ? nullptr : own_rank();
  const bool can_have = rank != nullptr && rank->libc != nullptr &&
                        rank->instance != nullptr &&
                        sched::kernel_threads_have_directories();
  return can_have ? rank : nullptr;
}

// Before the first change: the place that all ranks have.
void remember_start() {
  if (g_start.directory.load(std::memory_order_relaxed) >= 0) return;
  g_start.directory.store(open_here(), std::memory_order_relaxed);
  g_start.mask.store(mask_here(), std::memory_order_relaxed);
  sched::set_switch_hook(&move_kernel_thread);
}

// Called after the calling kernel thread has changed its own.
void remember_change(job::Rank& rank) {
  auto& state = *rank.libc;
  if (state.place == nullptr)
    state.place = new FolderAndMask;  // lives on with its threads
  const int before = state.place->directory.load(std::memory_order_relaxed);
  state.place->directory.store(open_here(), std::memory_order_relaxed);
  state.place->mask.store(mask_here(), std::memory_order_relaxed);
  const uint64_t number = g_changes.fetch_add(1, std::memory_order_relaxed) + 1;
  state.place->number.store(number,
                            std::memory_order_release);  // pairs with the acquire above
  if (before >= 0) ::close(before);
  if (sched::Execution::self().is_ult()) sched::switch_hook_state() = number;
}

template <class Change>
auto change(Change call) {
  job::Rank* rank = asking_rank();
  if (rank == nullptr) return call();
  const std::lock_guard lock(g_mutex);
  const int error = errno;
  remember_start();
  errno = error;
  const auto result = call();
  const int after = errno;
  remember_change(*rank);
  errno = after;
  return result;
}

}  // namespace

void enter_working_directory(const job::Rank& rank) noexcept {
  if (rank.instance == nullptr) return;  // a singleton is a process
  sched::take_own_directory();
  if (sched::switch_hook() != nullptr) move_to(place_of(&rank));
}

}  // namespace mpc::interpose

MPC_EXPORT int chdir(const char* path) noexcept {
  return mpc::interpose::change([&] { return NEXT(chdir)(path); });
}
MPC_EXPORT int fchdir(int fd) noexcept {
  return mpc::interpose::change([&] { return NEXT(fchdir)(fd); });
}
MPC_EXPORT mode_t umask(mode_t mask) noexcept {
  return mpc::interpose::change([&] { return NEXT(umask)(mask); });
}
