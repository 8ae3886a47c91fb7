#pragma once
// Limits: which system limit prevents more threads, and what to do about it.
//
// Role:      turns "Resource temporarily unavailable" into advice; says how large stacks
//            may be.
// Users:     scheduler, runtime/job.
// Threads:   any.
// See also:  docs/scheduler.md sections "Limits" and "Stacks".

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace mpc::sched {

// Describes the limit that `more` additional threads of this process would hit first, with numbers
// and the remedy.
std::string thread_limit_advice(long more);

// Would `count` more threads exceed a known limit? A cheap check before a large job starts.
// Errors: kNoMem with the limit and the remedy.
Result<> check_thread_limits(long count);

// RLIMIT_AS (ulimit -v); 0: none.
size_t address_space_limit() noexcept;
// vm.max_map_count.
size_t most_mappings() noexcept;

// The stack of a rank.
inline constexpr size_t kDefaultStackBytes = 8u << 20;
inline constexpr size_t kUnlimitedStack = SIZE_MAX;
// RLIMIT_STACK (ulimit -s), but at least kDefaultStackBytes; kUnlimitedStack if it says so.
size_t stack_limit() noexcept;
// `wanted`, or less if each of so many ranks cannot get that much of the address space and
// of the machine's memory.
size_t possible_stack_bytes(size_t wanted, size_t ranks) noexcept;

}  // namespace mpc::sched
