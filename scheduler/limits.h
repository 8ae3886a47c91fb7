#pragma once
// Limits: which limit of the system stops more threads, and what to do about it.
//
// Role:      turns "Resource temporarily unavailable" into an advice.
// Users:     scheduler.
// Threads:   any.
// See also:  docs/scheduler.md section "Limits".

#include <string>

#include "base/result.h"

namespace mpc::sched {

// The limit nearest to being hit by `more` threads of this process, with numbers and remedy.
std::string thread_limit_advice(long more);

// Would `count` more threads exceed a known limit? A cheap check before a large job is begun.
// Errors: kNoMem with the limit and the remedy.
Result<> check_thread_limits(long count);

}  // namespace mpc::sched
