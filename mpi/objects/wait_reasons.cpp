#include "mpi/objects/wait_reasons.h"

#include "runtime/job/neighbours.h"
#include "runtime/job/wait_partner.h"

namespace mpc::mpi {
namespace {

std::string rank_text(int rank) {
  switch (rank) {
    case MPI_ANY_SOURCE:
      return "MPI_ANY_SOURCE";
    case MPI_PROC_NULL:
      return "MPI_PROC_NULL";
    default:
      return fmt::format("rank {}", rank);
  }
}

bool explain(const sched::WaitReason& reason, job::WaitPartner& partner) {
  const auto* p2p = dynamic_cast<const P2pReason*>(&reason);
  if (p2p == nullptr) return false;
  const int rank = p2p->partner();
  // A profile has no row for a rank of another job.
  partner.rank = rank >= 0 && job::neighbours::slot_of(rank) != 0 ? -1 : rank;
  return true;
}

[[gnu::constructor]] void register_source() { job::add_partner_source(explain); }

}  // namespace

int world_rank_of(const Comm& comm, int peer) noexcept {
  return peer >= 0 && peer < comm.peer_count() ? comm.peer_world_rank(peer) : -1;
}

std::string describe_p2p(const char* what, Count count, const char* direction, int peer,
                         int tag, const Comm* comm) {
  const std::string length =
      count == kNoCount ? std::string()
                        : fmt::format(" of {} element{}", count, count == 1 ? "" : "s");
  return fmt::format(
      "{}{} {} {}, tag {}, {}", what, length, direction, rank_text(peer),
      tag == MPI_ANY_TAG ? std::string("MPI_ANY_TAG") : fmt::format("{}", tag),
      comm == nullptr ? std::string("no communicator") : comm->display_name());
}

}  // namespace mpc::mpi
