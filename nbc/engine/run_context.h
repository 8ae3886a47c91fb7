#pragma once
// RunContext: the state of an execution that runs nodes: the ready nodes, and its limits.
//
// Role:      the trampoline of the engine: a completion that arrives while nodes are running
//            adds to the list that is processed further up the stack, so that the stack does
//            not grow with the length of a chain of nodes.
// Users:     nbc/engine.
// Threads:   each execution has its own.
// See also:  docs/completion.md (picture).

#include "nbc/engine/ready_list.h"

namespace mpc::nbc {

struct RunContext {
  ReadyList ready;
  // run_all() is processing the list, perhaps further up the stack.
  bool is_running = false;
  // The rank whose non-blocking start this is, and how many nodes of other ranks it still runs
  // before it hands them off; null: no such start.
  const job::Rank* starter = nullptr;
  int64_t budget = 0;
  // The collective of that start. An execution that completes it here need not tell its rank: the
  // rank is still in the start, so nobody waits for it. Only compared.
  const Collective* starting = nullptr;

  // The caller's. Functions of the engine pass it on as an argument. It must still be a
  // thread_local: between a start and the completions inside it lies runtime/message, whose
  // callback carries the request and nothing about its caller. (It belongs to the user-level
  // thread, as every thread_local here.)
  static RunContext& here() noexcept { return t_here; }

 private:
  static thread_local constinit RunContext t_here
      __attribute__((tls_model("initial-exec")));
};

inline thread_local constinit RunContext RunContext::t_here;

}  // namespace mpc::nbc
