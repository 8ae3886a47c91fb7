#pragma once
// Heap: installs the ranks' allocator before the process has allocated anything.
//
// Role:      decides whether libmpc_heap.so is to be used (job.allocator; not where another
//            allocator, a sanitizer or valgrind is in place), adds it to LD_PRELOAD when mpcrun
//            executes itself again, and hides it from the ranks afterwards.
// Users:     tools/mpcrun/main.cpp.
// Threads:   the main thread.
// See also:  docs/design/0017-heaps.md; runtime/heap.

#include "runtime/job/launch.h"

namespace mpc::tools {

// Caller: mpcrun, before it executes itself again. If the heap is not preloaded, the reason is
// passed to the second start, which knows the level of the log.
void preload_heap(const job::JobSpec& spec);

// Caller: the second start. LD_PRELOAD is again what the user gave.
void hide_heap();

}  // namespace mpc::tools
