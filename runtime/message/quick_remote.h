#pragma once
// quick_remote: a blocking receive from a rank of another process of this host, whose message comes at once.
//
// Role:      the short way of recv(): the data go from memory that both processes have mapped to the user's buffer. The
//            receive is not posted, and the rank does not count as one that polls.
// Users:     runtime/message/receive.cpp.
// Threads:   any execution of the rank.
// See also:  runtime/message/quick_receive.h (within a process), docs/design/0051-near-messages.md.

#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

// True: received, and *status is filled. False: nothing has changed, post the receive.
// Caller: there are other processes. Switches: no. Cost: 2 us, if nothing comes.
bool quick_receive_from_process(Mailbox& mine, const RecvArgs& args,
                                Status* status) noexcept;

// The same for other waits of the rank's main execution, in two parts. The network that it may look at for some 2 us,
// before it counts as one that polls; null: not now.
transport::Net* near_net(Mailbox& mine) noexcept;
// False: the rank has something else to do.
bool may_look_near(const Mailbox& mine) noexcept;

}  // namespace mpc::msg
