// pthread_atfork(): handlers that a rank, or one of its libraries, has registered run where this
// rank forks, not where another one does.
//
// The archive part of libc that every module is linked with passes pthread_atfork() on to
// __register_atfork(), with a variable that identifies the module.

#include <pthread.h>

#include <mutex>
#include <utility>
#include <vector>

#include "runtime/interpose/fork_handlers.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void*) noexcept;

namespace mpc::interpose {

struct ForkHandlers {
  struct Entry {
    void (*prepare)();
    void (*parent)();
    void (*child)();
    void* dso;
  };
  std::mutex mutex;
  std::vector<Entry> entries;  // in the order of registration; guarded by `mutex`
};

namespace {

using Entries = std::vector<ForkHandlers::Entry>;

// Those that run at the fork() that the calling thread is in.
thread_local constinit Entries* t_running = nullptr;

// Source: POSIX.1 pthread_atfork(): the last one first, then the first one first.
void prepare() {
  LibcState* state = is_forked_child() ? nullptr : libc_state();
  if (state == nullptr || state->fork_handlers == nullptr) return;
  {
    const std::lock_guard lock(state->fork_handlers->mutex);
    t_running = new Entries(state->fork_handlers->entries);
  }
  for (auto entry = t_running->rbegin(); entry != t_running->rend(); ++entry)
    if (entry->prepare != nullptr) entry->prepare();
}

template <void (*ForkHandlers::Entry::*kWhich)()>
void finish() {
  const Entries* entries = std::exchange(t_running, nullptr);
  if (entries == nullptr) return;
  for (const ForkHandlers::Entry& entry : *entries)
    if (entry.*kWhich != nullptr) (entry.*kWhich)();
  delete entries;
}

void add(LibcState& state, const ForkHandlers::Entry& entry) {
  // After the runtime's own: those of ranks run while the runtime's locks are free.
  static std::once_flag once;
  std::call_once(once, [] {
    ::pthread_atfork(&prepare, &finish<&ForkHandlers::Entry::parent>,
                     &finish<&ForkHandlers::Entry::child>);
  });
  {
    const std::lock_guard lock(state.mutex);
    if (state.fork_handlers == nullptr) state.fork_handlers = new ForkHandlers;
  }
  const std::lock_guard lock(state.fork_handlers->mutex);
  state.fork_handlers->entries.push_back(entry);
}

}  // namespace

void drop_fork_handlers(const void* dso) {
  LibcState* state = libc_state();
  if (state == nullptr || state->fork_handlers == nullptr) return;
  const std::lock_guard lock(state->fork_handlers->mutex);
  std::erase_if(state->fork_handlers->entries,
                [&](const ForkHandlers::Entry& entry) { return entry.dso == dso; });
}

}  // namespace mpc::interpose

MPC_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* dso) noexcept {
  using mpc::interpose::LibcState;
  LibcState* state =
      mpc::interpose::instance_at(dso) != nullptr && !mpc::interpose::is_forked_child()
          ? mpc::interpose::libc_state()
          : nullptr;
  if (state == nullptr)
    return MPC_NEXT(__register_atfork, decltype(&::__register_atfork))(prepare, parent,
                                                                       child, dso);
  mpc::interpose::add(*state, {prepare, parent, child, dso});
  return 0;
}
