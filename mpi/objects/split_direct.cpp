#include "mpi/objects/split_direct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "mpi/objects/go_direct.h"
#include "mpi/objects/wait_reasons.h"
#include "nbc/direct/direct.h"
#include "nbc/direct/key.h"

namespace mpc::mpi {
namespace {

// More members meet in a room, where one of them sorts for all.
constexpr int kMostTelling = 32;

// The data that a member tells the others.
struct Told {
  int color, key;
  msg::ContextId
      context;  // from the first member: for all parts, which have no member in common
  int unused = 0;
};

// Gives all members what each of them tells.
Err tell_all(Comm& comm, const Told& mine, Told* all, const char* what) {
  nbc::direct::Call call;
  call.coll = nbc::Coll::kAllgather;
  call.op_code = nbc::direct::kSplits;
  call.send = &mine;
  call.recv = all;
  call.is_send_plain = call.is_recv_plain = true;
  call.send_block = call.recv_block = call.recv_step = sizeof(Told);
  const CollectiveReason reason(what, comm);
  const nbc::direct::Outcome outcome =
      nbc::direct::run(comm.team(), comm.rank(), comm.self(), call, reason);
  if (outcome.mismatch == nullptr) [[likely]]
    return kSuccess;
  return fail(MPI_ERR_NOT_SAME, fmt::format("{}: calls differ between the ranks: {}",
                                            what, *outcome.mismatch));
}

}  // namespace

bool may_split_directly(const Comm& comm) noexcept {
  return comm.size() <= kMostTelling && may_go_direct(comm);
}

Err split_directly(Comm& comm, int color, int key, const char* what, Comm** out) {
  const int size = comm.size(), me = comm.rank();
  std::array<Told, kMostTelling> all;
  const Told mine{color, key, me == 0 ? new_context(comm.self()) : 0};
  *out = nullptr;
  MPC_MPI_TRY(tell_all(comm, mine, all.data(), what));
  if (color == MPI_UNDEFINED) return kSuccess;
  std::array<int, kMostTelling> order;
  int count = 0;
  for (int i = 0; i < size; ++i)
    if (all[static_cast<size_t>(i)].color == color)
      order[static_cast<size_t>(count++)] = i;
  const auto part = std::span(order).first(static_cast<size_t>(count));
  std::sort(part.begin(), part.end(), [&](int a, int b) {
    const int x = all[static_cast<size_t>(a)].key, y = all[static_cast<size_t>(b)].key;
    return x != y ? x < y : a < b;
  });
  Comm::Spec spec;
  std::vector<int> members;
  members.reserve(part.size());
  for (const int rank : part) {
    if (rank == me) spec.rank = static_cast<int>(members.size());
    members.push_back(comm.group()->world_rank(rank));
  }
  spec.group = GroupTable::make(std::move(members));
  spec.context = all[0].context;
  *out = create_comm(comm, spec);
  return kSuccess;
}

}  // namespace mpc::mpi
