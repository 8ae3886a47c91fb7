#include "runtime/interpose/fork_locks.h"

#include <pthread.h>

#include <mutex>
#include <new>

#include "runtime/interpose/libc_state.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/rank_linker.h"

namespace mpc::interpose {
namespace {

struct Held {
  bool is_held = false;
  loader::RankLinker* linker = nullptr;  // null: the rank has none
};
thread_local constinit Held t_held;

// The child's thread has another number than the one that has locked them. Before the handlers of the rank's libraries.
void free_in_child() {
  if (!t_held.is_held) return;
  const Held held = t_held;
  t_held = {};
  new (&loader::dynamic_linker_mutex()) std::recursive_mutex;
  if (held.linker == nullptr) return;
  new (&held.linker->locks().list) std::recursive_mutex;
  new (&held.linker->locks().loading) std::recursive_mutex;
}

// First of all: the other handlers of the runtime look up functions of libc.
__attribute__((constructor(101))) void register_handler() {
  ::pthread_atfork(nullptr, nullptr, &free_in_child);
}

}  // namespace

ForkLocks::ForkLocks() {
  const job::Rank* const rank = own_rank();
  // Made now if there is none: another thread may be about to.
  loader::RankLinker* const linker = rank != nullptr && rank->instance != nullptr
                                         ? &rank->instance->linker()
                                         : nullptr;
  std::recursive_mutex& of_process = loader::dynamic_linker_mutex();
  // Whatever order others have, they do not wait for each other.
  if (linker != nullptr)
    std::lock(linker->locks().loading, linker->locks().list, of_process);
  else
    of_process.lock();
  t_held = {true, linker};
}

ForkLocks::~ForkLocks() {
  if (!t_held.is_held) return;  // the child
  const Held held = t_held;
  t_held = {};
  loader::dynamic_linker_mutex().unlock();
  if (held.linker == nullptr) return;
  held.linker->locks().list.unlock();
  held.linker->locks().loading.unlock();
}

}  // namespace mpc::interpose
