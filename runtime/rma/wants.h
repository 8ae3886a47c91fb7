#pragma once
// Wants: what the first of the operations that wait for a target waits for.
//
// Role:      for reports.
// Users:     runtime/rma, mpi/rma.
// Threads:   plain data.
// See also:  docs/design/0049-queued-epochs.md.

#include <cstdint>

namespace mpc::rma {

enum class Wants : uint8_t { kNothing, kLock, kPost, kFence };

}  // namespace mpc::rma
