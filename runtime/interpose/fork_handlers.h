#pragma once
// Fork handlers: those that a rank has registered by pthread_atfork().
//
// Role:      forgets the handlers of a module that is unloaded.
// Users:     runtime/interpose/exit.cpp.
// Threads:   any thread of the rank.
// See also:  docs/limits.md; pthread_atfork(3).

namespace mpc::interpose {

// `dso` identifies the module, as for __cxa_finalize().
void drop_fork_handlers(const void* dso);

}  // namespace mpc::interpose
