#pragma once
// copy_jointly(): a long copy that is no message, made by two cores.
//
// Role:      puts and gets in memory: the target, if it waits, does its part, as of a long message.
// Users:     mpi/rma.
// Threads:   any execution of a rank.
// See also:  runtime/message/shared_copy.h, docs/design/0015-shared-copies.md, docs/windows.md.

#include <cstddef>

#include "runtime/job/rank.h"

namespace mpc::msg {

// Whose memory is the source: for the report of a crash, which names the rank whose buffer is wrong.
enum class Copied : bool { kFromOther, kToOther };

// Copies n bytes, together with `other` if that one waits actively on another core, or begins to. False: nothing was
// done, because the copy is short (setting message.shared_copy), the ranges overlap, or somebody else
// has offered a copy to it. Caller: an execution of a rank; the memory at
// one side is that rank's own, at the other side `other`'s, which lives in this process until
// this returns. Switches: no; waits for the piece that `other` is copying, some microseconds.
bool copy_jointly(job::Rank& other, void* to, const void* from, size_t n,
                  Copied which) noexcept;

}  // namespace mpc::msg
