#pragma once
// Control: messages between processes, where no rank sends and no rank receives.
//
// Role:      carries what the processes of a job tell each other for their ranks: what meetings
//            have gathered, who rests and what ranks do, later values of blocking collectives. It knows
//            no MPI.
// Users:     mpi/objects (meetings), runtime/message/job_watch, runtime/rma, mpi/io.
// Threads:   see each function.
// See also:  runtime/message/control_end.h, docs/design/0019-virtual-processes.md.

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/message/message.h"

namespace mpc::msg {

// What a message is for. Each channel has an order and a handler of its own.
enum class ControlChannel : uint8_t {
  kMeeting,  // mpi/objects/net_exchange.h
  kBridge,   // blocking collectives over several processes (not in use yet)
  kDeadlock,  // who rests, and what a report says of its ranks: runtime/message/job_watch.h
  kWindow,  // one-sided communication: runtime/rma/port.h
  kFile,    // shared file pointers: mpi/io/shared_pointer.h
  kPort,    // who comes to a port from another job: mpi/spawn/far_ports.h
};
inline constexpr int kControlChannels = static_cast<int>(ControlChannel::kPort) + 1;

// What process `here` does with what `from` has sent to it. It is outside work, so no deadlock is
// reported, until the handler has returned; but for kDeadlock, which must not be activity itself.
// Caller: the net, without locks; one at a time in a process. May send control messages, unpark,
// and take locks that nobody holds while he calls the net; must not wait. Ownership: the bytes are
// the caller's.
using ControlHandler = void (*)(void* argument, int here, int from,
                                std::span<const std::byte> message) noexcept;

// Caller: one thread, while there is no network.
void set_control_handler(ControlChannel channel, ControlHandler handler,
                         void* argument) noexcept;

// From process `here`, which is one of this address space, to another one.
// Caller: any execution or thread, without locks that a handler takes. Switches: no.
// Ownership: the bytes are the caller's again when it returns.
// Order: what was sent first, by a call that had returned or by the same handler, comes first
// on the same channel between the same processes; nothing is ordered against messages of ranks.
// Cost: the bytes go as messages of at most the net's eager limit.
void send_control(int here, int to, ControlChannel channel,
                  std::span<const std::byte> message);

// From begin to end other processes may wait for what a handler answers, whatever the ranks here do: what
// comes interrupts ranks that compute. Caller: any, without locks. Cost: see sched::Demand.
void begin_to_serve() noexcept;
void end_to_serve() noexcept;

// Waits until ready(argument) is true, which a handler makes it, and then notifies the rank.
// Switches: yes.
void wait_for_control(job::Rank& self, Predicate ready, void* argument,
                      const sched::WaitReason& why);

}  // namespace mpc::msg
