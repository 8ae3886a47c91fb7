#pragma once
// Control: messages between processes, where no rank sends and no rank receives.
//
// Role:      carries what the processes of a job tell each other for their ranks: what meetings
//            have gathered, which processes rest and what ranks do, later
//            values of blocking collectives. It knows no MPI.
// Users:     mpi/objects (meetings), runtime/message/job_watch, runtime/rma, mpi/io.
// Threads:   see each function.
// See also:  runtime/message/control_end.h, docs/design/0019-virtual-processes.md.

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/message/message.h"
#include "runtime/transport/net.h"

namespace mpc::msg {

// The purpose of a message. Each channel has its own order and handler.
enum class ControlChannel : uint8_t {
  kMeeting,  // mpi/objects/net_exchange.h
  kBridge,   // blocking collectives over several processes (not in use yet)
  // Which processes rest, what a report says of ranks: runtime/message/job_watch.h.
  kDeadlock,
  kWindow,  // one-sided communication: runtime/rma/port.h
  kFile,    // shared file pointers: mpi/io/shared_pointer.h
  kPort,    // arrivals at a port from another job: mpi/spawn/far_ports.h
};
inline constexpr int kControlChannels = static_cast<int>(ControlChannel::kPort) + 1;

// What process `here` does with the bytes that `from` has sent to it. Until
// the handler has returned it is outside work, so no deadlock is reported;
// except for kDeadlock, which must not be activity itself.
// Caller: the net, without locks; one at a time in a process. May send control messages, unpark,
// and acquire locks that no thread holds while it calls the net;
// must not wait. Ownership: the bytes are the caller's.
using ControlHandler = void (*)(void* argument, int here, int from,
                                std::span<const std::byte> message) noexcept;

// Caller: one thread, while there is no network.
void set_control_handler(ControlChannel channel, ControlHandler handler,
                         void* argument) noexcept;

// Told that a connection begins with a process of another job (runtime/message/abroad.h), perhaps after earlier ones: what
// was sent and received on the channel before has gone with its process. Nothing has arrived yet. Caller: any thread,
// without locks; must not wait.
using ControlPeerHandler = void (*)(int here, int peer) noexcept;
void set_control_peer_handler(ControlChannel channel,
                              ControlPeerHandler handler) noexcept;

// Sends from process `here`, which is in this address space, to another process.
// Caller: any execution or thread that holds no lock that a handler acquires. Switches: no.
// Ownership: the bytes are the caller's again when it returns.
// Order: what was sent first, by a call that had returned or by the same handler, arrives first
// on the same channel between the same processes; there is no order relative to messages of ranks.
// Cost: the bytes are sent as messages of at most the net's eager limit.
void send_control(int here, int to, ControlChannel channel,
                  std::span<const std::byte> message);

// --- many bytes -----------------------------------------------------------------------------------
// They stay with their sender until the receiver fetches or refuses them; nobody copies them in between.

// One end of such a transfer. Ownership: the net's from offer_control() or fetch_control() until over().
struct ControlTransfer : transport::Completion {
  // Called once: the net does not touch the memory any more. May destroy `self`, and do what a
  // ControlHandler may do. Caller: the net, perhaps before the call that has started it has returned.
  using Over = void (*)(ControlTransfer& self, transport::Outcome outcome) noexcept;
  ControlTransfer(int process, Over function) noexcept
      : Completion{&done}, here(process), over(function) {}
  const int here;
  const Over over;

 private:
  static void done(Completion& self, transport::Outcome outcome) noexcept;
};

// What the receiver learns.
struct ControlOffer {
  int from = 0;
  uint64_t id = 0;
  bool flag = false;
  size_t bytes = 0;
  transport::Bulk bulk = 0;
};

// Is given each offer, once. Caller and duties: as ControlHandler. Each offer wants one call of
// fetch_control() or refuse_control(), there or later.
using ControlOfferHandler = void (*)(void* argument, int here,
                                     const ControlOffer& offer) noexcept;
void set_control_offer_handler(ControlChannel channel, ControlOfferHandler handler,
                               void* argument) noexcept;

// `id` and `flag` are the caller's. Order: none, not even to messages on the same channel.
// Caller, switches: as send_control().
void offer_control(int here, int to, ControlChannel channel, uint64_t id, bool flag,
                   const transport::Source& source, ControlTransfer& transfer);
void fetch_control(int here, const ControlOffer& offer, const transport::Target& target,
                   ControlTransfer& transfer);
void refuse_control(int here, const ControlOffer& offer);

// From begin to end other processes may wait for a handler's answer, whatever the ranks here do:
// what arrives interrupts ranks that have computed for a while. Caller: any, without locks. Cost: see sched::Demand.
void begin_to_serve() noexcept;
void end_to_serve() noexcept;
// The same, from now on, if the caller goes on to compute: it has started something long. Caller: as above.
void serve_at_once() noexcept;

// Waits until ready(argument) is true; a handler makes it true and then notifies the rank.
// Switches: yes.
void wait_for_control(job::Rank& self, Predicate ready, void* argument,
                      const sched::WaitReason& why);

}  // namespace mpc::msg
