#pragma once
// Remote: sends to and receives from other processes, as the rest of this folder sees them.
//
// Role:      called by send.cpp, work.cpp, cancel.cpp and lifetime.cpp where the other side is not
//            in this address space.
// Users:     runtime/message.
// Threads:   as the functions of message.h with the same names.
// See also:  runtime/message/endpoint.h, docs/design/0019-virtual-processes.md.

#include "runtime/message/eager_pool.h"
#include "runtime/message/message.h"

namespace mpc::msg::remote {

void start_send(job::Rank& self, Request& request, const SendArgs& args);
// Switches: yes.
Status send(job::Rank& self, const SendArgs& args, const sched::WaitReason& why);
// send.cpp: the setting message.eager_limit.
size_t eager_limit() noexcept;
// Not by `kind`: a receiver may be changing the kind of a send within this process.
inline bool is_remote(const Operation& op) noexcept {
  return op.is_send && op.mailbox == nullptr;
}
// Cancels a send in any state: the other process is asked, not the rank. Switches: yes.
void cancel(job::Rank& self, Operation& send);

// A matched receive takes its message. True: it is filled. False: the data are on their way; when
// they have come the receive is completed, and removed from the count Mailbox::copies.
// Caller: holds no lock.
[[gnu::cold]] bool take_parcel(Operation& receive, Block& parcel) noexcept;

// Parcels with their data, chained by next_free, that no receive will take. Caller: holds no lock.
void release(Block* parcels, int own_rank) noexcept;

// The rank of this mailbox ends: afterwards no process reads or writes memory of its operations.
// Caller: holds no lock.
void forget(Mailbox& mine) noexcept;

}  // namespace mpc::msg::remote
