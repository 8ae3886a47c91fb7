#include "mpi/coll/bridge.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "mpi/objects/comm_make.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/host_map.h"
#include "runtime/job/job.h"
#include "runtime/job/losses.h"
#include "runtime/message/process_net.h"

namespace mpc::mpi {

using nbc::direct::HostMeeting;
using nbc::direct::HostMemory;

Bridge::~Bridge() {
  if (inside != nullptr) end_comm(inside);
  if (between != nullptr) end_comm(between);
}

namespace {

// A communicator that is used some times only does not need memory for it, whose creation takes as
// long as some messages.
constexpr uint32_t kCallsBeforeMeeting = 4;
// Each has a line that the last one reads.
constexpr size_t kMostProcesses = 256;

const ProcessList& processes_of(const Comm& comm) {
  return comm.group()->processes(comm.self().job->processes());
}

// All members get the same answers. Without two members in one process there is nothing to gain from
// two levels. Nor are there two if the job goes on when a process dies: members of a process would wait
// without messages for one that has failed.
bool has_two_levels(const Comm& comm) {
  return !job::losses::are_survived() &&
         static_cast<int>(processes_of(comm).processes().size()) < comm.size();
}

bool may_share_memory(const Comm& comm) {
  if (comm.spans_jobs() || msg::process_net() == nullptr ||
      !msg::ProcessNet::may_share_memory())
    return false;
  const job::HostMap& hosts = job::host_map();
  const auto processes = processes_of(comm).processes();
  return processes.size() <= kMostProcesses &&
         std::ranges::all_of(processes, [&](int process) {
           return hosts.host_of(process) == hosts.host_of(processes.front());
         });
}

void make_levels(Comm& comm, Bridge& bridge, const char* call) {
  const int process = comm.self().job->processes().process_of(comm.self().world_rank);
  // Members of several processes meet, and no step of that can fail.
  if (split_comm(comm, processes_of(comm).number_of(process), 0, call,
                 &bridge.inside) ||
      split_comm(comm, bridge.inside->rank() == 0 ? 0 : MPI_UNDEFINED, 0, call,
                 &bridge.between))
    return;
  // The name by which reports say where a rank waits.
  bridge.inside->name = comm.display_name() + " (in its process)";
  if (bridge.between == nullptr) return;
  bridge.between->name = comm.display_name() + " (between processes)";
  // It is used for what does not fit into shared memory, and needs none of its own.
  bridge.between->bridge = std::make_shared<Bridge>();
  bridge.between->bridge->calls = kCallsBeforeMeeting;
}

// --- memory that the processes share -------------------------------------------------------------

// The first process makes it, and the others open it.
struct MemoryRoom final : Room {
  mutable std::unique_ptr<HostMemory> memory;
  int processes = 0;

  void pack(ByteWriter& out) const override {
    if (index == 0) memory = HostMemory::make(processes);
    out.put(memory != nullptr ? memory->name() : HostMemory::Name{});
  }
  void merge(ByteReader& in) override {
    const auto name = in.get<HostMemory::Name>();
    if (name.memory.number >= 0) name_ = name;
  }
  void conclude(Ids&) override {
    if (index != 0 && name_.memory.number >= 0)
      memory = HostMemory::open(name_, processes);
  }

 private:
  HostMemory::Name name_;
};

// All must have opened it.
struct OpenedRoom final : Room {
  bool is_open = true;
  void pack(ByteWriter& out) const override { out.put(is_open); }
  void merge(ByteReader& in) override { is_open = in.get<bool>() && is_open; }
};

void make_meeting(Comm& comm, Bridge& bridge, const char* call) {
  const ProcessList& list = processes_of(comm);
  const std::string what = std::string(call) + " on " + comm.display_name();
  const auto memory = meet<MemoryRoom>(
      comm.self(), meeting_key(MeetingKind::kBridge, comm), comm.members(),
      [&](MemoryRoom& room) {
        room.processes = static_cast<int>(list.processes().size());
      },
      what.c_str());
  const bool is_here = memory->memory != nullptr;
  const auto opened = meet<OpenedRoom>(
      comm.self(), meeting_key(MeetingKind::kBridge, comm), comm.members(),
      [&](OpenedRoom& room) { room.is_open = room.is_open && is_here; }, what.c_str());
  if (!opened->is_open || (bridge.inside != nullptr && bridge.between == nullptr))
    return;
  memory->memory->close_name();
  const job::ProcessMap& map = comm.self().job->processes();
  HostMeeting::Place place;
  place.processes.assign(list.processes().begin(), list.processes().end());
  place.index = list.index_of(map.process_of(comm.self().world_rank));
  place.ranks.assign(place.processes.size(), 0);
  for (int rank = comm.size() - 1; rank >= 0; --rank) {
    const int process = map.process_of(comm.peer_world_rank(rank));
    place.ranks[static_cast<size_t>(list.index_of(process))] = rank;
  }
  // Communicators without a common member may have the same context id.
  place.id = place_of(comm.collective_context(), comm.peer_world_rank(0));
  bridge.meeting =
      std::make_unique<HostMeeting>(std::move(memory->memory), std::move(place));
}

}  // namespace

Bridge* bridge_of(Comm& comm, const char* call) {
  if (comm.is_in_one_process() || comm.is_inter()) return nullptr;
  if (comm.bridge == nullptr) [[unlikely]] {
    comm.bridge = std::make_shared<Bridge>();
    if (has_two_levels(comm)) make_levels(comm, *comm.bridge, call);
    if (!may_share_memory(comm)) comm.bridge->calls = kCallsBeforeMeeting;
  }
  Bridge& bridge = *comm.bridge;
  if (bridge.calls < kCallsBeforeMeeting && ++bridge.calls == kCallsBeforeMeeting)
      [[unlikely]]
    make_meeting(comm, bridge, call);
  return bridge.inside != nullptr || bridge.meeting != nullptr ? &bridge : nullptr;
}

}  // namespace mpc::mpi
