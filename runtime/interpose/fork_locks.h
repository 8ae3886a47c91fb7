#pragma once
// ForkLocks: a forked child finds the locks of the dynamic linker's part free.
//
// Role:      its own rank's, which another thread of the rank may hold at the fork, and the process's, in which another rank
//            may be. The rank may be a program without threads, whose child may call anything.
// Users:     runtime/interpose (fork()).
// Threads:   the one that forks.
// See also:  runtime/loader/rank_linker.h, runtime/interpose/fork_handlers.h; POSIX.1 fork().

namespace mpc::interpose {

// Lives while fork() runs. Before all handlers of pthread_atfork(): whoever holds one of these locks may want one of theirs.
class ForkLocks {
 public:
  ForkLocks();
  ~ForkLocks();
  ForkLocks(const ForkLocks&) = delete;
};

}  // namespace mpc::interpose
