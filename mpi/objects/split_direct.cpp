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

// With more members one of them sorts for all.
constexpr int kMostTelling = 32;

// The data that a member tells the others.
struct Told {
  int color, key;
  msg::ContextId
      context;  // from the first member: for all parts, which have no member in common
  int unused = 0;
};

Err run_split(Comm& comm, const nbc::direct::Call& call, const char* what) {
  const CollectiveReason reason(what, comm);
  const nbc::direct::Outcome outcome =
      nbc::direct::run(comm.team(), comm.rank(), comm.self(), call, reason);
  if (outcome.mismatch == nullptr) [[likely]]
    return kSuccess;
  return fail(MPI_ERR_NOT_SAME, fmt::format("{}: calls differ between the ranks: {}",
                                            what, *outcome.mismatch));
}

// Gives all members what each of them tells.
Err tell_all(Comm& comm, const Told& mine, Told* all, const char* what) {
  nbc::direct::Call call;
  call.coll = nbc::Coll::kAllgather;
  call.op_code = nbc::direct::kSplits;
  call.send = &mine;
  call.recv = all;
  call.is_send_plain = call.is_recv_plain = true;
  call.send_block = call.recv_block = call.recv_step = sizeof(Told);
  return run_split(comm, call, what);
}

// What one member of many brings, and gets.
struct SplitCall final : nbc::direct::Call {
  SplitCall(Comm& communicator, int its_color, int its_key)
      : comm(communicator), color(its_color), sort_key(its_key) {
    coll = nbc::Coll::kAllgather;
    op_code = nbc::direct::kSplits;
    send_block = sizeof(SplitCall);  // not the same as with few members
    decide = [](nbc::direct::Team& team) { decide_for_all(team); };
  }
  static void decide_for_all(nbc::direct::Team& team);

  Comm& comm;
  const int color, sort_key;
  // Written by the member that decides:
  mutable GroupRef part;  // null: no color
  mutable int rank = 0;   // in it
  mutable msg::ContextId context = 0;
};

// Members in the order of colors, then of keys, then of ranks.
struct ByColor {
  uint64_t color_and_key;
  int member;
  bool operator<(const ByColor& other) const noexcept {
    return color_and_key != other.color_and_key ? color_and_key < other.color_and_key
                                                : member < other.member;
  }
};

const SplitCall& call_of(nbc::direct::Team& team, int member) noexcept {
  return static_cast<const SplitCall&>(*team.member(member).call);
}

std::vector<ByColor> places_of(nbc::direct::Team& team) {
  constexpr uint32_t kSign = 0x80000000;  // signed keys in the order of unsigned ones
  std::vector<ByColor> places;
  places.reserve(static_cast<size_t>(team.size()));
  for (int m = 0; m < team.size(); ++m) {
    const SplitCall& call = call_of(team, m);
    if (call.color == MPI_UNDEFINED) continue;
    const auto color = static_cast<uint64_t>(static_cast<uint32_t>(call.color));
    places.push_back({color << 32 | (static_cast<uint32_t>(call.sort_key) ^ kSign), m});
  }
  if (!std::is_sorted(places.begin(), places.end()))
    std::sort(places.begin(), places.end());
  return places;
}

void SplitCall::decide_for_all(nbc::direct::Team& team) {
  const GroupRef& group = call_of(team, 0).comm.group();
  const msg::ContextId context = call_of(team, 0).context;
  const std::vector<ByColor> places = places_of(team);
  for (auto first = places.begin(); first != places.end();) {
    const int color = call_of(team, first->member).color;
    const auto end = std::find_if(first, places.end(), [&](const ByColor& place) {
      return call_of(team, place.member).color != color;
    });
    std::vector<int> members;
    members.reserve(static_cast<size_t>(end - first));
    for (auto at = first; at != end; ++at)
      members.push_back(group->world_rank(at->member));
    const GroupRef part = GroupTable::make(std::move(members));
    for (auto at = first; at != end; ++at) {
      const SplitCall& call = call_of(team, at->member);
      call.part = part;
      call.rank = static_cast<int>(at - first);
      call.context = context;
    }
    first = end;
  }
}

// One sorts, all others stand still meanwhile.
Err split_many(Comm& comm, int color, int key, const char* what, Comm** out) {
  SplitCall call(comm, color, key);
  // The first member's context is that of all parts, which have no member in common.
  if (comm.rank() == 0) call.context = new_context(comm.self());
  MPC_MPI_TRY(run_split(comm, call, what));
  if (call.part == nullptr) return kSuccess;
  Comm::Spec spec;
  spec.group = std::move(call.part);
  spec.rank = call.rank;
  spec.context = call.context;
  *out = create_comm(comm, spec);
  return kSuccess;
}

}  // namespace

bool may_split_directly(const Comm& comm) noexcept { return may_go_direct(comm); }

Err split_directly(Comm& comm, int color, int key, const char* what, Comm** out) {
  *out = nullptr;
  if (comm.size() > kMostTelling) return split_many(comm, color, key, what, out);
  const int size = comm.size(), me = comm.rank();
  std::array<Told, kMostTelling> all;
  const Told mine{color, key, me == 0 ? new_context(comm.self()) : 0};
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
