#include "mpi/io/collective_access.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "mpi/io/two_phase.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/status.h"
#include "runtime/io/collective.h"
#include "runtime/io/pool.h"

namespace mpc::mpi {
namespace {

// The members of one process meet here; those of other processes have a room of their own.
struct AccessRoom final : Room, std::enable_shared_from_this<AccessRoom> {
  std::vector<io::Part> parts;
  std::vector<PendingRef> members;
  std::optional<io::Target> target;
  std::optional<io::Collective> access;
  bool is_write = false, is_blocking = true;
  std::atomic<bool> must_begin{false};

  void visit(const PendingRef& member) {
    const Access& wanted = member->access;
    member->index = members.size();
    members.push_back(member);
    parts.emplace_back(wanted.view(), wanted.begin(), wanted.buffer());
    if (target) return;
    File& file = member->file();
    io::Tuning tuning = file.tuning;
    if (file.is_atomic)  // each access is atomic by itself
      tuning.collective_reads = tuning.collective_writes = io::Switch::kDisable;
    target.emplace(file.share().target(tuning));
    is_write = wanted.is_write();
  }

  void conclude(Ids&) override {
    access.emplace(*target, std::move(parts), is_write);
    // release: the thread that begins the access sees `access`
    must_begin.store(!is_blocking, std::memory_order_release);
  }
  // Begins a non-blocking access, once. The last member to arrive does this. Not within conclude():
  // to begin an access may poll, and an arrival may need the lock of a meeting. Caller: members,
  // after the meeting.
  void begin() {
    if (must_begin.exchange(false, std::memory_order_acquire)) work_in_background();
  }

  void work() {
    if (!access->work()) return;
    for (const PendingRef& member : members) {
      member->access.set_outcome(access->outcome(member->index));
      member->complete();
    }
  }

  void work_in_background() {
    if (!access->has_windows()) {
      for (const PendingRef& member : members) move_in_background(member, 0);
      return;
    }
    const Count tasks = std::min<Count>(io::pool_threads(), access->window_count());
    for (Count i = 0; i < tasks; ++i)
      io::run_soon([room = shared_from_this()] {
        io::note_thread_access();
        room->work();
      });
  }
};

// Ends when all members of the room have arrived, and its data have been moved.
class PendingTogether final : public Pending {
 public:
  using Pending::Pending;
  bool is_over() override {
    if (room != nullptr && !detail::is_over(*room)) return false;
    if (!Pending::is_over()) return false;
    room.reset();  // the room holds this object
    return true;
  }
  std::shared_ptr<AccessRoom> room;  // null: it is known to be over
};

Members neighbours(File& file) { return {file.comm().members().here, nullptr}; }

// A member whose arguments are wrong takes part without data, so that the others need not wait.
Err prepare(Pending& pending, Direction direction, Count offset, const Data& data) {
  Count etypes = 0;
  Err error = pending.access.prepare(pending.file(), direction, data, &etypes);
  if (!error) error = pending.access.place(offset);
  if (error) pending.access.make_empty();
  return error;
}

}  // namespace

Err access_all(const char* call, File& file, Direction direction, Count offset,
               const Data& data, MPI_Status* status) {
  if (file.comm().size() == 1) return access_at(file, direction, offset, data, status);
  const auto pending = std::make_shared<Pending>(file, call);
  const Err wrong = prepare(*pending, direction, offset, data);
  const auto finish = [&]() -> Err {
    if (wrong) return wrong;
    set_status(status, pending->access.status());
    return pending->access.error();
  };
  // In atomic mode each access is atomic by itself.
  if (!file.comm().is_in_one_process() && !file.is_atomic &&
      exchange_and_access(call, file, pending->access)) {
    pending->complete();
    pending->finish();
    return finish();
  }
  const auto room = meet<AccessRoom>(
      file.self(), meeting_key(MeetingKind::kFile, file.comm()), neighbours(file),
      [&](AccessRoom& r) { r.visit(pending); }, call);
  if (room->access->has_windows()) {
    room->work();
    pending->wait();
  } else {
    pending->access.run();
    pending->complete();
    pending->finish();
  }
  return finish();
}

Err start_all(const char* call, File& file, Direction direction, Count offset,
              const Data& data, PendingRef* out) {
  auto pending = std::make_shared<PendingTogether>(file, call);
  const Err wrong = prepare(*pending, direction, offset, data);
  pending->room = start_to_meet<AccessRoom>(
      file.self(), meeting_key(MeetingKind::kFile, file.comm()), neighbours(file),
      [&](AccessRoom& r) {
        r.is_blocking = false;
        r.visit(pending);
      });
  if (detail::is_over(*pending->room)) pending->room->begin();
  if (wrong) pending->wait();  // there is no request to wait for
  if (!wrong) *out = std::move(pending);
  return wrong;
}

}  // namespace mpc::mpi
