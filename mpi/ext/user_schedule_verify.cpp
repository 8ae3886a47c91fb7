// MPCX_Schedule_verify: the schedules of all members meet, and the last member to come proves them.
#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "mpi/ext/user_schedule.h"
#include "mpi/objects/meeting.h"
#include "nbc/schedule/verify.h"
#include "runtime/datatype/cursor.h"

namespace mpc::mpi {

namespace {

// The proof needs some 60 bytes of memory for each byte, and a matrix of nodes.
constexpr int64_t kMostBytes = 1 << 20;
constexpr size_t kMostNodes = 10000;

nbc::VerifyType describe(const dt::Datatype& type) {
  nbc::VerifyType out;
  out.extent = type.extent();
  out.blocks.clear();
  for (dt::Cursor c(nullptr, type.layout(), 1, type.extent(), 0);
       c.leaf() != nullptr;) {
    const Count bytes = c.contiguous_bytes();
    out.blocks.emplace_back(
        static_cast<int64_t>(reinterpret_cast<intptr_t>(c.position())), bytes);
    c.pass_bytes(bytes);
  }
  return out;
}

// --- in bytes, for other processes --------------------------------------------------------------

struct Edge {
  nbc::NodeId before, after;
};

void put_schedule(ByteWriter& out, const nbc::Schedule& schedule) {
  const std::span<const nbc::Node> nodes = schedule.nodes();
  std::vector<Edge> edges;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const nbc::NodeId after : schedule.successors(nodes[i]))
      edges.push_back({static_cast<nbc::NodeId>(i), after});
  out.put_all(nodes);
  out.put_all(std::span<const Edge>(edges));
  out.put(schedule.scratch_bytes());
}

// Reads a schedule; its nodes keep their numbers.
std::shared_ptr<const nbc::Schedule> get_schedule(ByteReader& in) {
  nbc::ScheduleBuilder builder;
  for (nbc::Node node : in.get_all<nbc::Node>()) {
    // finish() computes them again.
    node.first_successor = node.successor_count = node.predecessor_count = 0;
    builder.node(builder.nop()) = node;
  }
  for (const Edge& edge : in.get_all<Edge>()) builder.connect(edge.before, edge.after);
  builder.scratch(in.get<int64_t>(), 0, 0);
  auto schedule = builder.finish();
  CHECK(schedule.ok(), "another process tells a schedule that is none");
  return *schedule;
}

struct Block {
  int64_t offset, bytes;
};

void put_type(ByteWriter& out, const nbc::VerifyType& type) {
  std::vector<Block> blocks;
  for (const auto& [offset, bytes] : type.blocks) blocks.push_back({offset, bytes});
  out.put(type.extent);
  out.put_all(std::span<const Block>(blocks));
}

nbc::VerifyType get_type(ByteReader& in) {
  nbc::VerifyType type;
  type.extent = in.get<int64_t>();
  type.blocks.clear();
  for (const Block& block : in.get_all<Block>())
    type.blocks.emplace_back(block.offset, block.bytes);
  return type;
}

// ------------------------------------------------------------------------------------------------

// What a member brings.
struct MemberSchedule {
  std::shared_ptr<const nbc::Schedule> schedule;  // null: not received, or too large
  std::vector<int64_t> slot_bytes;
  std::vector<nbc::VerifyType> types;
  bool is_too_large = false;

  MemberSchedule() = default;
  MemberSchedule(std::shared_ptr<const nbc::Schedule> mine, std::vector<int64_t> bytes)
      : schedule(std::move(mine)), slot_bytes(std::move(bytes)) {
    is_too_large =
        schedule->nodes().size() > kMostNodes ||
        std::accumulate(slot_bytes.begin(), slot_bytes.end(), int64_t{0}) > kMostBytes;
    if (is_too_large) schedule = nullptr;
  }
  bool has_come() const { return schedule != nullptr || is_too_large; }

  void put_to(ByteWriter& out) const {
    out.put(is_too_large);
    if (is_too_large) return;
    put_schedule(out, *schedule);
    out.put_all(std::span<const int64_t>(slot_bytes));
    out.put(types.size());
    for (const nbc::VerifyType& type : types) put_type(out, type);
  }
  static MemberSchedule get_from(ByteReader& in) {
    MemberSchedule member;
    member.is_too_large = in.get<bool>();
    if (member.is_too_large) return member;
    member.schedule = get_schedule(in);
    member.slot_bytes = in.get_all<int64_t>();
    for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n)
      member.types.push_back(get_type(in));
    return member;
  }
  void show_to(nbc::Verifier& verifier, int rank) const {
    std::vector<const nbc::VerifyType*> list;
    for (const nbc::VerifyType& type : types) list.push_back(&type);
    verifier.set_schedule(rank, *schedule, std::move(list));
    for (size_t slot = 0; slot < slot_bytes.size(); ++slot) {
      if (slot_bytes[slot] == 0) continue;
      // The user's buffers hold data from the beginning.
      verifier.set_buffer(
          rank, static_cast<uint16_t>(slot), 0,
          std::vector<nbc::Symbol>(static_cast<size_t>(slot_bytes[slot]),
                                   verifier.symbols().atom()));
    }
  }
};

struct VerifyRoom final : Room {
  std::vector<MemberSchedule> members;  // by rank
  int error = MPI_SUCCESS;
  std::string text;

  void pack(ByteWriter& out) const override {
    for (size_t rank = 0; rank < members.size(); ++rank) {
      if (!members[rank].has_come()) continue;
      out.put(static_cast<int>(rank));
      members[rank].put_to(out);
    }
  }
  void merge(ByteReader& in) override {
    while (!in.is_at_end()) {
      const auto rank = static_cast<size_t>(in.get<int>());
      CHECK(rank < members.size(), "another process tells the schedule of no rank");
      members[rank] = MemberSchedule::get_from(in);
    }
  }

  void conclude(Ids&) override {
    for (size_t rank = 0; rank < members.size(); ++rank) {
      if (!members[rank].is_too_large) continue;
      error = MPI_ERR_COUNT;
      text = fmt::format(
          "MPCX_Schedule_verify: the schedule of rank {} has more than {} nodes or "
          "{} bytes of buffers; prove smaller counts",
          rank, kMostNodes, kMostBytes);
      return;
    }
    nbc::Verifier verifier(static_cast<int>(members.size()));
    verifier.allow_short_messages();
    for (size_t rank = 0; rank < members.size(); ++rank)
      members[rank].show_to(verifier, static_cast<int>(rank));
    const Result<> proof = verifier.run();
    if (proof) return;
    error = MPI_ERR_ARG;
    const std::string& message = proof.error().message;  // a whole schedule follows
    text = message.substr(0, message.find('\n'));
  }
};

}  // namespace

Err UserSchedule::verify() {
  if (comm_->is_inter())
    return fail(MPI_ERR_COMM,
                "MPCX_Schedule_verify: not for communicators of two groups");
  MemberSchedule mine(schedule_, slot_bytes_);
  for (const dt::Datatype* type : types_) mine.types.push_back(describe(*type));
  const auto room = meet<VerifyRoom>(
      comm_->self(), meeting_key(MeetingKind::kVerify, *comm_), comm_->members(),
      [&](VerifyRoom& r) {
        r.members.resize(static_cast<size_t>(comm_->size()));
        r.members[static_cast<size_t>(comm_->rank())] = std::move(mine);
      },
      "MPCX_Schedule_verify");
  if (room->error == MPI_SUCCESS) return kSuccess;
  return fail(room->error, room->text);
}

}  // namespace mpc::mpi
