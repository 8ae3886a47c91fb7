#pragma once
// Remote: sends to other processes, and receives from them, as the rest of this folder sees them.
//
// Role:      what send.cpp, work.cpp, cancel.cpp and lifetime.cpp call where the other side is not
//            in this address space.
// Users:     runtime/message.
// Threads:   as the functions of message.h with the same names.
// See also:  runtime/message/endpoint.h, docs/design/0019-virtual-processes.md.

#include "runtime/message/eager_pool.h"
#include "runtime/message/message.h"

namespace mpc::msg::remote {

[[gnu::cold]] void start_send(job::Rank& self, Request& request, const SendArgs& args);
// Switches: yes.
[[gnu::cold]] Status send(job::Rank& self, const SendArgs& args,
                          const sched::WaitReason& why);
// send.cpp: the setting message.eager_limit.
size_t eager_limit() noexcept;
// Not by `kind`: of a send within this process a receiver may be changing it.
inline bool is_remote(const Operation& op) noexcept {
  return op.is_send && op.mailbox == nullptr;
}
// A send in any state: the other process is asked, not the rank. Switches: yes.
void cancel(job::Rank& self, Operation& send);

// A matched receive takes its message. True: it is filled. False: the data are on their way, and
// the receive is completed, and given back to Mailbox::copies, when they have come.
// Caller: no lock held.
[[gnu::cold]] bool take_parcel(Operation& receive, Block& parcel) noexcept;

// Parcels with their data, chained by next_free, that no receive will take. Caller: no lock held.
void release(Block* parcels, int own_rank) noexcept;

// The rank of this mailbox ends: no process reads or writes memory of its operations any more.
// Caller: no lock held.
void forget(Mailbox& mine) noexcept;

}  // namespace mpc::msg::remote
