#include "mpi/objects/check.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "mpi/objects/block_claims.h"
#include "mpi/objects/callers_room.h"
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
  uint64_t counts = 0;  // of all blocks: their numbers, hashed
  int world_rank = 0;
  CodePlace place;
};

void put_claim(ByteWriter& out, const Claim& claim) {
  out.put_text(claim.name);
  out.put(claim.rank);
  out.put(claim.root);
  out.put_text(claim.op);
  out.put(claim.has_data);
  out.put(claim.data);
  out.put(claim.elements);
  out.put(claim.counts);
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
  claim.counts = in.get<uint64_t>();
  claim.world_rank = in.get<int>();
  claim.place.path = in.get_text();
  claim.place.offset = in.get<uint64_t>();
  return claim;
}

struct Amount {
  const dt::Datatype* type;
  Count count;
};

// The side whose type signature is the same at all members (MPI-4.1 chapter 6). At the root of a
// gather or scatter it is the side of which each other member has one block. Empty where counts
// differ: see
// mpi/objects/block_claims.h.
Amount common_amount(const CollectiveCall& call) {
  const nbc::Shape& shape = call.shape;
  const nbc::CollTraits& traits = nbc::traits_of(shape.coll);
  if (traits.recv == nbc::Layout::kNone || traits.is_irregular() ||
      traits.is_neighborhood)
    return {nullptr, 0};
  if (shape.coll == Coll::kReduceScatter)
    return {call.recv_type, std::accumulate(shape.recv_counts.begin(),
                                            shape.recv_counts.end(), Count{0})};
  const bool is_root = shape.rank == shape.root;
  const bool is_sent = traits.gathers_on_the_way() &&
                       is_root != (traits.root == nbc::RootRole::kReceives);
  return is_sent ? Amount{call.send_type, shape.send_count}
                 : Amount{call.recv_type, shape.recv_count};
}

// For MPI_Reduce_scatter, whose members have to give the same counts.
uint64_t hash_of_counts(const CollectiveCall& call) noexcept {
  if (call.shape.coll != Coll::kReduceScatter) return 0;
  uint64_t sum = 1;
  for (const Count count : call.shape.recv_counts)
    sum = (sum ^ static_cast<uint64_t>(count)) * 0x9e3779b97f4a7c15u + (sum >> 31);
  return sum;
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
    claim.counts = hash_of_counts(call);
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
  if (a.counts != b.counts) return "blocks of different numbers of elements";
  return {};
}

// The member with which this one disagrees, and in what.
struct Quarrel {
  std::string text;  // empty: none
  Claim other;
  // For a disagreement about one block: its description by sender and receiver. Otherwise empty.
  std::string mine_of_block, others_of_block;
};

void report(const Comm& comm, const Claim& mine, const Quarrel& quarrel) {
  const Claim& other = quarrel.other;
  report_fault("collective calls differ", mine.place, other.place, [&] {
    return fmt::format("{} on {}\n  {} of rank {}{}\n  {} of rank {}{}", quarrel.text,
                       comm.display_name(), call_at(mine.name.c_str(), mine.place),
                       mine.world_rank, quarrel.mine_of_block,
                       call_at(other.name.c_str(), other.place), other.world_rank,
                       quarrel.others_of_block);
  });
}

// A member with blocks of its own.
struct Member {
  Claim claim;
  BlockClaims blocks;
  bool is_here = true;  // in the process of the room
};

// One block that is sent from one member to the other, and that the two describe differently.
Quarrel quarrel_of_block(const Member& mine, const Member& other, bool is_mine_sent,
                         const BlockClaim& sent, const BlockClaim& received) {
  const auto sends = [&](const Member& to) {
    return fmt::format(": sends {} to rank {}", sent.text(), to.claim.rank);
  };
  const auto receives = [&](const Member& from) {
    return fmt::format(": receives {} from rank {}", received.text(), from.claim.rank);
  };
  return {"a block is not received as what it is sent as", other.claim,
          is_mine_sent ? sends(other) : receives(other),
          is_mine_sent ? receives(mine) : sends(mine)};
}

// Compares the blocks that one sends and the other one expects, in both directions; stops at the
// first difference.
Quarrel quarrel_between(const Member& mine, const Member& other) {
  const int me = mine.claim.rank, peer = other.claim.rank;
  const auto look = [&](const Member& sender, const Member& receiver) -> Quarrel {
    const bool is_mine = &sender == &mine;
    for (const BlockClaim& received : receiver.blocks.all_from(sender.claim.rank)) {
      const BlockClaim* const sent =
          sender.blocks.to(receiver.claim.rank, received.channel);
      if (sent != nullptr && !fits(*sent, received))
        return quarrel_of_block(mine, other, is_mine, *sent, received);
    }
    return {};
  };
  Quarrel quarrel = look(mine, other);
  if (quarrel.text.empty() && me != peer) quarrel = look(other, mine);
  return quarrel;
}

struct CheckRoom final : CallersRoom {
  std::vector<Claim> claims;  // that of the first member here, then some that differ
  std::unordered_map<int, Member> members;  // by rank; of calls with blocks
  size_t kept_blocks = 0;

  Quarrel quarrel_of(const Claim& mine) const {
    for (const Claim& other : claims) {
      std::string text = difference(mine, other);
      if (!text.empty()) return {std::move(text), other, {}, {}};
    }
    return {};
  }
  void add_claim(const Claim& mine) {
    constexpr size_t kEnough = 4;
    if (claims.empty() || (claims.size() < kEnough && !quarrel_of(mine).text.empty()))
      claims.push_back(mine);
  }
  // Compares with the members of this process that have come, or with those of other processes.
  Quarrel quarrel_of_blocks(const Member& mine, bool is_here) const {
    const auto look = [&](const Member& other) -> Quarrel {
      if (other.is_here != is_here || other.claim.name != mine.claim.name) return {};
      return quarrel_between(mine, other);
    };
    const BlockClaims& blocks = mine.blocks;
    const bool has_few = !blocks.out_to_all.has_value() &&
                         blocks.in.size() + blocks.out.size() < members.size();
    if (!has_few) {
      for (const auto& [rank, other] : members)
        if (Quarrel quarrel = look(other); !quarrel.text.empty()) return quarrel;
      return {};
    }
    for (const auto* list : {&blocks.in, &blocks.out}) {
      for (const BlockClaim& block : *list) {
        const auto found = members.find(block.peer);
        if (found == members.end()) continue;
        if (Quarrel quarrel = look(found->second); !quarrel.text.empty())
          return quarrel;
      }
    }
    return {};
  }
  // Compares the member with itself and with those that have come before it.
  Quarrel add_member(const Member& mine) {
    constexpr size_t kMostBlocks = size_t{1} << 22;  // 250 MB; later ones are not kept
    if (mine.blocks.is_empty()) return {};
    Quarrel quarrel = quarrel_between(mine, mine);
    if (quarrel.text.empty()) quarrel = quarrel_of_blocks(mine, true);
    kept_blocks += mine.blocks.in.size() + mine.blocks.out.size();
    if (kept_blocks <= kMostBlocks) members.emplace(mine.claim.rank, mine);
    return quarrel;
  }

  void pack(ByteWriter& out) const override {
    out.put(claims.size());
    for (const Claim& claim : claims) put_claim(out, claim);
    out.put(members.size());
    for (const auto& [rank, member] : members) {
      put_claim(out, member.claim);
      put_blocks(out, member.blocks);
    }
  }
  void merge(ByteReader& in) override {
    for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n)
      claims.push_back(get_claim(in));
    for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n) {
      Member member;
      member.claim = get_claim(in);
      member.blocks = get_blocks(in);
      member.is_here = false;
      const int rank = member.claim.rank;
      members.emplace(rank, std::move(member));
    }
  }
};

// Compares with the members of this process that have come; waits for none.
Quarrel compare_here(Comm& comm, const Member& mine, const char* name) {
  Quarrel quarrel;
  const int here = comm.members().here;
  detail::enter(
      comm.self(), meeting_key(MeetingKind::kCheck, comm), {here, nullptr},
      []() -> std::shared_ptr<Room> { return std::make_shared<CheckRoom>(); }, false,
      [&](Room& room, bool is_first) {
        auto& check = static_cast<CheckRoom&>(room);
        if (is_first)
          check.claims.push_back(mine.claim);
        else
          quarrel = check.quarrel_of(mine.claim);
        if (quarrel.text.empty()) quarrel = check.add_member(mine);
        check.add(comm, {mine.claim.world_rank, name, mine.claim.place});
      });
  return quarrel;
}

// Compares with all members, once they have come. Switches: yes.
Quarrel compare_everywhere(Comm& comm, const Member& mine) {
  Quarrel of_blocks;
  const auto room = meet<CheckRoom>(
      comm.self(), meeting_key(MeetingKind::kCheck, comm), comm.members(),
      [&](CheckRoom& r) {
        r.add_claim(mine.claim);
        of_blocks = r.add_member(mine);
      },
      mine.claim.name.c_str());
  Quarrel quarrel = room->quarrel_of(mine.claim);
  if (!quarrel.text.empty()) return quarrel;
  return of_blocks.text.empty() ? room->quarrel_of_blocks(mine, false) : of_blocks;
}

}  // namespace

bool is_checking() noexcept { return setting_check.get() == kFull; }

void compare_with_others(Comm& comm, const CollectiveCall& call) {
  if (comm.is_inter()) return;
  const dt::Datatype* const pair[] = {call.send_type, call.recv_type};
  const Member mine{claim_of(comm, call), blocks_of(call.shape, pair, call.many_types)};
  const bool waits = !comm.is_in_one_process() && call.may_wait;
  const Quarrel quarrel =
      waits ? compare_everywhere(comm, mine) : compare_here(comm, mine, call.name);
  if (!quarrel.text.empty()) report(comm, mine.claim, quarrel);
}

}  // namespace mpc::mpi
