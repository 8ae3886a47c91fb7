// MPI_Ibarrier without messages: translates MPI's arguments for nbc/direct/later.h.
#include <fmt/format.h>

#include "base/trace.h"
#include "mpi/coll/direct.h"
#include "mpi/coll/direct_choice.h"
#include "mpi/coll/direct_common.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"

namespace mpc::mpi {
namespace {

constexpr trace::Site kAct{"direct", "act", {"collective", "bytes"}, true, true};

// The request of such a barrier. The communicator may be freed before it completes.
struct LaterBarrier final : Several {
  LaterBarrier(std::shared_ptr<nbc::direct::Team> its_team, uint64_t its_number)
      : team(std::move(its_team)), number(its_number) {}
  bool is_over() override { return team->later().is_over(number); }
  std::string text() const override {
    return fmt::format("{} of {} members are there", team->later().arrived(number),
                       team->size());
  }
  const std::shared_ptr<nbc::direct::Team> team;
  const uint64_t number;
};

}  // namespace

std::optional<Err> direct_ibarrier(Comm& comm, Request** request) {
  // For few members no team is created just for this.
  if (comm.size() <= nbc::direct::kMostSharing || !may_go_direct(comm) ||
      later_way(comm.team(), nbc::Coll::kBarrier) != Way::kMeeting)
    return {};
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace::begin(kAct, {trace::text("barrier"), 0});
  const std::shared_ptr<nbc::direct::Team>& team = comm.shared_team();
  const uint64_t number = team->later().arrive(comm.rank(), comm.self());
  if (is_traced) [[unlikely]]
    trace::end(kAct);
  Request* const made =
      Request::make(*rank_state(), RequestKind::kMeeting, &comm, "MPI_Ibarrier");
  made->several = std::make_unique<LaterBarrier>(team, number);
  made->is_active = true;
  *request = made;
  return kSuccess;
}

}  // namespace mpc::mpi
