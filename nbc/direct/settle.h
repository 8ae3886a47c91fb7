#pragma once
// Settle: a collective of all its members' calls, carried out by one of them.
//
// Role:      compares the calls, and moves the data from buffer to buffer. Nobody else acts meanwhile.
// Users:     nbc/direct/later.cpp.
// Threads:   the caller has synchronized with all members, and they wait for it.
// See also:  nbc/direct/pending.h (what is written into the calls).

#include <span>
#include <vector>

namespace mpc::nbc::direct {

struct Pending;

// `calls` by member. If they differ each is told with whom (Pending::wrong_member), and nothing is moved. `room`
// is memory that is used again. Switches: no. Reductions are done in the order of ranks.
void settle(std::span<Pending* const> calls, std::vector<unsigned char>& room) noexcept;

}  // namespace mpc::nbc::direct
