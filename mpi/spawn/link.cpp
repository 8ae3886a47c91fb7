#include "mpi/spawn/link.h"

#include "base/settings.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi {
namespace {

// MPI-4.1 section 11.9.3: an attempt to connect times out eventually if nobody accepts.
IntSetting connect_limit{"mpi.connect_timeout",
                         60,
                         "s",
                         "How long MPI_Comm_connect waits for MPI_Comm_accept if its "
                         "info key timeout says nothing else; 0: without end",
                         0,
                         1'000'000};

}  // namespace

double connect_seconds() { return static_cast<double>(connect_limit.get()); }

Learnt learn_at_port(Comm& comm, const MeetingKey& key, const Match& met,
                     const char* what) {
  Learnt learnt;
  meet_other_leader(comm.self(), key, comm.group(), met.other,
                    {kPlaceOfPorts | met.number, met.job, what}, &learnt);
  return learnt;
}

void end_match(const Match& match) {
  if (match.connection != 0) msg::abroad::end_use(match.slot, match.connection);
}

Err link_at_port(Comm& comm, int root, const char* port_name, PortSide side,
                 double seconds, const char* what, Comm** out) {
  const bool leads = comm.rank() == root;
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, comm);
  Learnt mine;
  Match met;
  if (leads) {
    const Err error = meet_at_port(comm.self(), port_name, side, seconds, &met);
    mine = error ? failed(error.code, last_error_message())
                 : learn_at_port(comm, key, met, what);
  }
  const Err error = join_groups(comm, key, leads ? &mine : nullptr, what, out);
  end_match(met);
  return error;
}

}  // namespace mpc::mpi
