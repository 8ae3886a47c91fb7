// Calls of a rank's threads that concern the rank's main thread: see main_thread.h.
#include "runtime/interpose/main_thread.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {

MainThread& main_thread_of(const job::Rank& rank) noexcept {
  return rank.libc->main_thread;
}

job::Rank* rank_with_main_thread(pthread_t thread) noexcept {
  job::Rank* rank = own_rank();
  if (rank == nullptr || rank->instance == nullptr || rank->libc == nullptr)
    return nullptr;
  if (pthread_equal(main_thread_of(*rank).id, thread) == 0 || is_forked_child())
    return nullptr;
  return rank;
}

}  // namespace mpc::interpose

using namespace mpc::interpose;

namespace {
constexpr size_t kNameBytes = 16;  // of a thread, with the zero: prctl(2)
}

MPC_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  mpc::job::Rank* rank = rank_with_main_thread(thread);
  if (rank == nullptr) return NEXT(pthread_setname_np)(thread, name);
  if (std::strlen(name) >= kNameBytes) return ERANGE;
  MainThread& main = main_thread_of(*rank);
  const std::lock_guard lock(main.mutex);
  main.name = name;
  return 0;
}
MPC_EXPORT int pthread_getname_np(pthread_t thread, char* name, size_t size) noexcept {
  mpc::job::Rank* rank = rank_with_main_thread(thread);
  if (rank == nullptr) return NEXT(pthread_getname_np)(thread, name, size);
  if (size < kNameBytes) return ERANGE;
  MainThread& main = main_thread_of(*rank);
  const std::lock_guard lock(main.mutex);
  const std::string text =
      main.name.empty() ? program_invocation_short_name : main.name;
  name[text.copy(name, kNameBytes - 1)] = '\0';
  return 0;
}

// No thread has to join it: the scheduler does.
MPC_EXPORT int pthread_detach(pthread_t thread) noexcept {
  mpc::job::Rank* rank = rank_with_main_thread(thread);
  if (rank == nullptr) return NEXT(pthread_detach)(thread);
  MainThread& main = main_thread_of(*rank);
  const std::lock_guard lock(main.mutex);
  return std::exchange(main.is_detached, true) ? EINVAL : 0;
}

// Libc would unwind the thread that sleeps below the rank.
MPC_EXPORT int pthread_cancel(pthread_t thread) {
  mpc::job::Rank* rank = rank_with_main_thread(thread);
  if (rank == nullptr) return NEXT(pthread_cancel)(thread);
  rank->job->abort(
      1, fmt::format("mpcrun: rank {} called pthread_cancel() for its main thread, "
                     "which is not possible; the job is ended. Let the main thread "
                     "return, or call pthread_exit() itself",
                     rank->world_rank));
  return EINVAL;  // not reached
}
