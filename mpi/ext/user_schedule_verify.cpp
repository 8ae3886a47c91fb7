// MPCX_Schedule_verify: the schedules of all members meet, and the last one to come proves them.
#include <fmt/format.h>

#include <numeric>
#include <string>

#include "mpi/ext/user_schedule.h"
#include "mpi/objects/meeting.h"
#include "nbc/schedule/verify.h"
#include "runtime/datatype/cursor.h"

namespace mpc::mpi {

namespace {

// The proof keeps some 60 bytes for each byte, and a matrix of nodes.
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

// What a member brings: lives until all have gone on, as they wait in the room.
struct MemberSchedule {
  const nbc::Schedule* schedule = nullptr;
  const std::vector<int64_t>* slot_bytes = nullptr;
  std::vector<nbc::VerifyType> types;

  bool is_too_large() const {
    return schedule->nodes().size() > kMostNodes ||
           std::accumulate(slot_bytes->begin(), slot_bytes->end(), int64_t{0}) >
               kMostBytes;
  }
  void show_to(nbc::Verifier& verifier, int rank) const {
    std::vector<const nbc::VerifyType*> list;
    for (const nbc::VerifyType& type : types) list.push_back(&type);
    verifier.set_schedule(rank, *schedule, std::move(list));
    for (size_t slot = 0; slot < slot_bytes->size(); ++slot) {
      if ((*slot_bytes)[slot] == 0) continue;
      // The user's buffers hold something from the beginning.
      verifier.set_buffer(
          rank, static_cast<uint16_t>(slot), 0,
          std::vector<nbc::Symbol>(static_cast<size_t>((*slot_bytes)[slot]),
                                   verifier.symbols().atom()));
    }
  }
};

// Holds pointers to what its members have, so it works in one address space only; see
// is_in_one_memory() in mpi/objects/meeting.cpp.
struct VerifyRoom final : Room {
  std::vector<MemberSchedule> members;
  int error = MPI_SUCCESS;
  std::string text;

  void conclude(Ids&) override {
    for (size_t rank = 0; rank < members.size(); ++rank) {
      if (!members[rank].is_too_large()) continue;
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
    const std::string& message = proof.error().message;  // then comes a whole schedule
    text = message.substr(0, message.find('\n'));
  }
};

}  // namespace

Err UserSchedule::verify() {
  if (comm_->is_inter())
    return fail(MPI_ERR_COMM,
                "MPCX_Schedule_verify: not for communicators of two groups");
  MemberSchedule mine{schedule_.get(), &slot_bytes_, {}};
  for (const dt::Datatype* type : types_) mine.types.push_back(describe(*type));
  const auto room = meet<VerifyRoom>(
      comm_->self(), meeting_key(MeetingKind::kVerify, *comm_),
      {comm_->size(), nullptr},
      [&](VerifyRoom& r) {
        r.members.resize(static_cast<size_t>(comm_->size()));
        r.members[static_cast<size_t>(comm_->rank())] = std::move(mine);
      },
      "MPCX_Schedule_verify");
  if (room->error == MPI_SUCCESS) return kSuccess;
  return fail(room->error, room->text);
}

}  // namespace mpc::mpi
