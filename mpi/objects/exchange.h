#pragma once
// Exchange: the second level of a meeting: each process tells all others what it has gathered.
//
// Role:      an allgather of bytes among processes. The room of a process hands over what its
//            members have left, and is called when the other processes' bytes are there.
// Users:     mpi/objects/meeting.cpp; implemented by mpi/objects/net_exchange.h.
// Threads:   any.
// See also:  docs/design/0006-meetings.md; runtime/job/process_map.h.

#include <functional>
#include <span>
#include <vector>

#include "mpi/objects/byte_stream.h"
#include "mpi/objects/meeting_key.h"

namespace mpc::mpi {

class Exchange {
 public:
  // Receives the bytes of all processes in the order in which they were named. Called once, on any
  // thread, perhaps before allgather() returns, and without a lock of the exchange. It must not
  // wait for anything.
  using Deliver = std::function<void(std::vector<Bytes>)>;

  virtual ~Exchange() = default;
  // The part of the process at `index` of `processes`; all of them must name the same key and
  // the same processes, each once. Returns at once. Caller: any, without locks. Switches: no.
  // The key can be used again, for the same processes, as soon as this call has returned and
  // delivered in this process: other processes may be behind.
  virtual void allgather(const MeetingKey& key, std::span<const int> processes,
                         int index, Bytes mine, Deliver deliver) = 0;
};

}  // namespace mpc::mpi
