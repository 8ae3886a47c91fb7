// Bodies of MPI-4.1 sections 11.9.2, 11.9.3 and 11.10.5: groups that meet at a port, or by a socket.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/info.h"
#include "mpi/objects/rank_state.h"
#include "mpi/spawn/link.h"
#include "mpi/spawn/socket_hello.h"
#include "runtime/job/job_number.h"

namespace mpc::mpi::impl {
namespace {

constexpr uint64_t kSocketMark = 0x6d70632d6a6f696e;  // "mpc-join"

// The info key timeout, in seconds, as in MPICH; 0: there is none, or its text is not a number.
double seconds_of(Info* info) {
  if (info == nullptr) return 0;
  const std::lock_guard lock(info->mutex);
  const std::string* const text = info->hints.find("timeout");
  return text != nullptr ? std::max(std::strtod(text->c_str(), nullptr), 0.0) : 0;
}

Err link(Comm& comm, int root, const char* port_name, PortSide side, Info* info,
         const char* what, MPI_Comm* out) {
  double seconds = seconds_of(info);
  if (seconds == 0 && side == PortSide::kConnect) seconds = connect_seconds();
  Comm* made = nullptr;
  MPC_MPI_TRY(link_at_port(comm, root, port_name, side, seconds, what, &made));
  *out = made->handle();
  return kSuccess;
}

// The socket connects two ranks of different jobs: one accepts at its port, and the other one
// connects to it. If that is not possible both get MPI_COMM_NULL (MPI-4.1 section 11.10.5).
Err join_jobs(Comm& self, int fd, const SocketHello& mine, const SocketHello& theirs,
              MPI_Comm* intercomm) {
  constexpr char kWhat[] = "MPI_Comm_join";
  constexpr double kMostSeconds = 60;
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, self);
  SocketPort own, other;
  const bool accepts = mine.job < theirs.job;
  // The other one opens none: on another host it would be known elsewhere then.
  const std::string port = accepts ? mpi::open_port(self.self()) : "";
  port.copy(own.name, sizeof own.name - 1);
  Err error = exchange(fd, &own, &other, sizeof own);
  if (!error) {
    other.name[sizeof other.name - 1] = '\0';
    Match met;
    error = meet_at_port(self.self(), accepts ? own.name : other.name,
                         accepts ? PortSide::kAccept : PortSide::kConnect, kMostSeconds,
                         &met);
    if (!error) {
      const Learnt learnt = learn_at_port(self, key, met, kWhat);
      Comm* made = nullptr;
      error = join_groups(self, key, &learnt, kWhat, &made);
      if (!error) *intercomm = made->handle();
      end_match(met);
    } else {
      error = kSuccess;
    }
  }
  if (accepts) (void)mpi::close_port(port.c_str());
  return error;
}

}  // namespace

Err open_port(Info*, char* port_name) {
  const std::string name = mpi::open_port(*this_rank().rank);
  std::memcpy(port_name, name.c_str(), name.size() + 1);
  return kSuccess;
}

Err close_port(const char* port_name) { return mpi::close_port(port_name); }

Err comm_accept(const char* port_name, Info* info, int root, Comm& comm,
                MPI_Comm* newcomm) {
  return link(comm, root, port_name, PortSide::kAccept, info, "MPI_Comm_accept",
              newcomm);
}

Err comm_connect(const char* port_name, Info* info, int root, Comm& comm,
                 MPI_Comm* newcomm) {
  return link(comm, root, port_name, PortSide::kConnect, info, "MPI_Comm_connect",
              newcomm);
}

Err comm_join(int fd, MPI_Comm* intercomm) {
  constexpr char kWhat[] = "MPI_Comm_join";
  Comm& self = *this_rank().self;
  SocketHello mine{kSocketMark, job::job_number(), job::new_number(),
                   self.self().world_rank, 0};
  SocketHello theirs;
  MPC_MPI_TRY(exchange(fd, &mine, &theirs, sizeof mine));
  *intercomm = MPI_COMM_NULL;
  // MPI-4.1 section 11.10.5: where both cannot talk, the call succeeds with MPI_COMM_NULL.
  if (theirs.mark != mine.mark) return kSuccess;
  if (theirs.job != mine.job) return join_jobs(self, fd, mine, theirs, intercomm);
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, self);
  Learnt learnt;
  meet_other_leader(self.self(), key, self.group(), theirs.world_rank,
                    {kPlaceOfPorts | std::min(mine.number, theirs.number),
                     std::max(mine.number, theirs.number), kWhat},
                    &learnt);
  Comm* made = nullptr;
  MPC_MPI_TRY(join_groups(self, key, &learnt, kWhat, &made));
  *intercomm = made->handle();
  return kSuccess;
}

}  // namespace mpc::mpi::impl
