#pragma once
// Settle: a collective of all its members' calls, carried out by one of them.
//
// Role:      compares the calls, and writes what each member receives. Nobody else acts meanwhile.
// Users:     nbc/direct/later.cpp.
// Threads:   the caller has synchronized with all members, and they wait for it.
// See also:  nbc/direct/pending_state.h (what is written into the calls).

#include <cstddef>
#include <span>

namespace mpc::nbc::direct {

struct Pending;

// A member's call, and what it sends: packed, aligned as any type.
struct Given {
  Pending* call;
  const unsigned char* data;
};

// Memory that settle() needs: for two values of a reduction, or all blocks of an allgather.
size_t room_for(const Pending& call, size_t members) noexcept;

// `given` by member. If the calls differ each is told with whom (Pending::wrong_member), and nothing is moved.
// `room`: as much as all calls want. Switches: no. Reductions are done in the order of ranks.
void settle(std::span<const Given> given, unsigned char* room) noexcept;

}  // namespace mpc::nbc::direct
