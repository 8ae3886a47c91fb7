#include "mpi/objects/check.h"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace {

using dt::Count;
using nbc::Coll;

BoolSetting setting_check(
    "mpi.check", false,
    "Compare what the members of each collective call, and list at MPI_Finalize what "
    "was left: handles, requests, messages. For debugging: collectives take longer");

// What all members have to agree on; has_data is false where amounts may differ.
struct Claim {
  std::string name;
  int rank = 0;
  int root = 0;
  std::string op;  // empty: none
  bool has_data = false;
  dt::SignatureHash data;
  Count elements = 0;
};

void put_claim(ByteWriter& out, const Claim& claim) {
  out.put_text(claim.name);
  out.put(claim.rank);
  out.put(claim.root);
  out.put_text(claim.op);
  out.put(claim.has_data);
  out.put(claim.data);
  out.put(claim.elements);
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

Claim claim_of(const CollectiveCall& call) {
  Claim claim;
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

// "" or how the two differ, as this rank sees it.
std::string difference(const Claim& mine, const Claim& other) {
  if (mine.name != other.name)
    return fmt::format("rank {} calls {} there", other.rank, other.name);
  if (mine.root != other.root)
    return fmt::format("root {} here, {} on rank {}", mine.root, other.root,
                       other.rank);
  if (!mine.op.empty() && !other.op.empty() && mine.op != other.op)
    return fmt::format("{} here, {} on rank {}", mine.op, other.op, other.rank);
  if (mine.has_data && other.has_data && mine.data != other.data)
    return fmt::format(
        "the data differ in number or basic types: a count of {} here, of {} on rank "
        "{}",
        mine.elements, other.elements, other.rank);
  return {};
}

struct CheckRoom final : Room {
  std::vector<Claim> claims;  // that of the first one here, then some that differ

  std::string difference_from(const Claim& mine) const {
    std::string text;
    for (const Claim& other : claims)
      if (text = difference(mine, other); !text.empty()) break;
    return text;
  }
  void add(const Claim& mine) {
    constexpr size_t kEnough = 4;
    if (claims.empty() || (claims.size() < kEnough && !difference_from(mine).empty()))
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
std::string compare_here(Comm& comm, const Claim& mine) {
  std::string text;
  const int here = comm.members().here;
  detail::enter(
      comm.self(), meeting_key(MeetingKind::kCheck, comm), {here, nullptr},
      []() -> std::shared_ptr<Room> { return std::make_shared<CheckRoom>(); }, false,
      [&](Room& room, bool is_first) {
        std::vector<Claim>& claims = static_cast<CheckRoom&>(room).claims;
        if (is_first)
          claims.push_back(mine);
        else
          text = difference(mine, claims.front());
      });
  return text;
}

// With all members, once they have come. Switches: yes.
std::string compare_everywhere(Comm& comm, const Claim& mine) {
  return meet<CheckRoom>(
             comm.self(), meeting_key(MeetingKind::kCheck, comm), comm.members(),
             [&](CheckRoom& room) { room.add(mine); }, mine.name.c_str())
      ->difference_from(mine);
}

std::string handles_left(int world_rank) {
  const std::atomic<int>* counts = g_object_counts.load(std::memory_order_acquire);
  std::string text;
  for (int kind = 1; kind < kKindCount; ++kind) {
    const int n =
        counts[world_rank * kKindCount + kind].load(std::memory_order_relaxed);
    if (n <= 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        count_of(n, static_cast<Kind>(kind)));
  }
  return text;
}

}  // namespace

bool is_checking() noexcept { return setting_check.get(); }

Err compare_with_others(Comm& comm, const CollectiveCall& call) {
  if (comm.is_inter() || comm.size() == 1) return kSuccess;
  const Claim mine = claim_of(call);
  const std::string text = comm.is_in_one_process() || !call.may_wait
                               ? compare_here(comm, mine)
                               : compare_everywhere(comm, mine);
  if (text.empty()) return kSuccess;
  return fail(MPI_ERR_NOT_SAME, fmt::format("{}: {} (mpi.check)", call.name, text));
}

void count_objects(int ranks) {
  static std::once_flag once;
  if (!is_checking()) return;
  std::call_once(once, [ranks] {
    // For ever: objects may end after main().
    auto* counts = new std::atomic<int>[static_cast<size_t>(ranks) * kKindCount] {};
    g_object_counts.store(counts, std::memory_order_release);
  });
}

void report_what_is_left(RankState& state) {
  if (!is_checking()) return;
  const std::string handles = handles_left(state.rank->world_rank);
  if (!handles.empty())
    log::line(log::Level::kWarn,
              fmt::format("MPI_Finalize: not freed, or not completed: {}", handles));
  const msg::Unreceived messages = msg::unreceived(*state.rank);
  if (messages.count > 0)
    log::line(log::Level::kWarn,
              fmt::format("MPI_Finalize: {} never received; the oldest: {} bytes from "
                          "rank {} of its communicator, tag {}",
                          messages.count == 1
                              ? std::string("a message was")
                              : fmt::format("{} messages were", messages.count),
                          messages.bytes, messages.source, messages.tag));
}

}  // namespace mpc::mpi
