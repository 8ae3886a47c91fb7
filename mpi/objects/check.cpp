#include "mpi/objects/check.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "mpi/objects/fault.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {
namespace {

using dt::Count;
using nbc::Coll;

constexpr const char* kLevels[] = {"off", "args", "full"};
constexpr int kFull = 2;
EnumSetting setting_check("mpi.check", 1, kLevels, 3,
                          "What is checked of a program: args (the arguments of each "
                          "call by itself; off is the "
                          "same, as that costs next to nothing) or full (also types of "
                          "messages, collectives of all members, "
                          "buffers in use, what is left at the end: docs/checking.md). "
                          "For debugging: all takes longer");

// What all members have to agree on; has_data is false where amounts may differ.
struct Claim {
  std::string name;
  int rank = 0;
  int root = 0;
  std::string op;  // empty: none
  bool has_data = false;
  dt::SignatureHash data;
  Count elements = 0;
  int world_rank = 0;
  Place place;
};

void put_claim(ByteWriter& out, const Claim& claim) {
  out.put_text(claim.name);
  out.put(claim.rank);
  out.put(claim.root);
  out.put_text(claim.op);
  out.put(claim.has_data);
  out.put(claim.data);
  out.put(claim.elements);
  out.put(claim.world_rank);
  out.put_text(claim.place.path);
  out.put(claim.place.offset);
}

Claim get_claim(ByteReader& in) {
  Claim claim;
  claim.name = in.get_text();
  claim.rank = in.get<int>();
  claim.root = in.get<int>();
  claim.op = in.get_text();
  claim.has_data = in.get<bool>();
  claim.data = in.get<dt::SignatureHash>();
  claim.elements = in.get<Count>();
  claim.world_rank = in.get<int>();
  claim.place.path = in.get_text();
  claim.place.offset = in.get<uint64_t>();
  return claim;
}

struct Amount {
  const dt::Datatype* type;
  Count count;
};

// Of MPI-4.1 chapter 6: the side whose type signature is the same at all members. At the root of a
// gather or scatter it is what each of the others has one block of. None where counts differ.
Amount common_amount(const CollectiveCall& call) {
  const nbc::Shape& shape = call.shape;
  const nbc::CollTraits& traits = nbc::traits_of(shape.coll);
  const bool has_counts = traits.is_irregular() || shape.coll == Coll::kReduceScatter;
  if (traits.recv == nbc::Layout::kNone || has_counts || traits.is_neighborhood)
    return {nullptr, 0};
  const bool is_root = shape.rank == shape.root;
  const bool is_sent = traits.gathers_on_the_way() &&
                       is_root != (traits.root == nbc::RootRole::kReceives);
  return is_sent ? Amount{call.send_type, shape.send_count}
                 : Amount{call.recv_type, shape.recv_count};
}

Claim claim_of(const Comm& comm, const CollectiveCall& call) {
  Claim claim;
  claim.world_rank = comm.self().world_rank;
  claim.place = place_of(call_place());
  claim.name = call.name;
  claim.rank = call.shape.rank;
  claim.root = call.shape.root;
  if (call.op != nullptr) {
    const char* const name = call.op->name();
    claim.op = name != nullptr ? name : "an operation of the user's";
  }
  const Amount amount = common_amount(call);
  claim.has_data = amount.type != nullptr;
  if (claim.has_data) {
    claim.data = dt::hash_repeat(amount.type->signature_hash(), amount.count);
    claim.elements = amount.count;
  }
  return claim;
}

// "" or how the two differ.
std::string difference(const Claim& a, const Claim& b) {
  if (a.name != b.name) return "different functions";
  if (a.root != b.root) return fmt::format("root {} and root {}", a.root, b.root);
  if (!a.op.empty() && !b.op.empty() && a.op != b.op)
    return fmt::format("{} and {}", a.op, b.op);
  if (a.has_data && b.has_data && a.data != b.data)
    return fmt::format("data of different number or basic types, {} and {} elements",
                       a.elements, b.elements);
  return {};
}

// With whom this member disagrees, and in what.
struct Quarrel {
  std::string text;  // empty: none
  Claim other;
};

void report(const Comm& comm, const Claim& mine, const Quarrel& quarrel) {
  const Claim& other = quarrel.other;
  report_fault("collective calls differ", mine.place, other.place, [&] {
    return fmt::format("{} on {}\n  {} of rank {}\n  {} of rank {}", quarrel.text,
                       comm.display_name(), call_at(mine.name.c_str(), mine.place),
                       mine.world_rank, call_at(other.name.c_str(), other.place),
                       other.world_rank);
  });
}

struct CheckRoom final : Room {
  std::vector<Claim> claims;  // that of the first one here, then some that differ

  Quarrel quarrel_of(const Claim& mine) const {
    for (const Claim& other : claims) {
      std::string text = difference(mine, other);
      if (!text.empty()) return {std::move(text), other};
    }
    return {};
  }
  void add(const Claim& mine) {
    constexpr size_t kEnough = 4;
    if (claims.empty() || (claims.size() < kEnough && !quarrel_of(mine).text.empty()))
      claims.push_back(mine);
  }
  void pack(ByteWriter& out) const override {
    out.put(claims.size());
    for (const Claim& claim : claims) put_claim(out, claim);
  }
  void merge(ByteReader& in) override {
    for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n)
      claims.push_back(get_claim(in));
  }
};

// Waits for nobody: with the first one of this process.
Quarrel compare_here(Comm& comm, const Claim& mine) {
  Quarrel quarrel;
  const int here = comm.members().here;
  detail::enter(
      comm.self(), meeting_key(MeetingKind::kCheck, comm), {here, nullptr},
      []() -> std::shared_ptr<Room> { return std::make_shared<CheckRoom>(); }, false,
      [&](Room& room, bool is_first) {
        auto& check = static_cast<CheckRoom&>(room);
        if (is_first)
          check.claims.push_back(mine);
        else
          quarrel = check.quarrel_of(mine);
      });
  return quarrel;
}

// With all members, once they have come. Switches: yes.
Quarrel compare_everywhere(Comm& comm, const Claim& mine) {
  return meet<CheckRoom>(
             comm.self(), meeting_key(MeetingKind::kCheck, comm), comm.members(),
             [&](CheckRoom& room) { room.add(mine); }, mine.name.c_str())
      ->quarrel_of(mine);
}

}  // namespace

bool is_checking() noexcept { return setting_check.get() == kFull; }

void compare_with_others(Comm& comm, const CollectiveCall& call) {
  if (comm.is_inter() || comm.size() == 1) return;
  const Claim mine = claim_of(comm, call);
  const Quarrel quarrel = comm.is_in_one_process() || !call.may_wait
                              ? compare_here(comm, mine)
                              : compare_everywhere(comm, mine);
  if (!quarrel.text.empty()) report(comm, mine, quarrel);
}

}  // namespace mpc::mpi
