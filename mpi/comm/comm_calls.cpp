// Bodies of MPI-4.1 section 7.4: communicators.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/impl/group_comm.h"
#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/objects/job_uses.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/members.h"
#include "mpi/objects/parent.h"
#include "mpi/objects/process_sets.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/several_jobs.h"
#include "mpi/objects/topology.h"
#include "mpi/objects/try_to_meet.h"
#include "nbc/overlap/tree_split.h"
#include "runtime/job/host_map.h"
#include "runtime/job/job.h"

namespace mpc::mpi::impl {
namespace {

// The hints that a communicator stores: those that MPI-4.1 section 7.4.4 defines, and our own
// (nbc/overlap/tree_split.h). Others are ignored, as MPI_Comm_get_info shows.
void keep_hints(Comm& comm, const InfoHints& given) {
  for (const auto& [key, value] : given.entries()) {
    const bool is_ours = key == "mpc_nbc_split" && nbc::parse_split(value) >= -1;
    if (!is_ours && !key.starts_with("mpi_assert_") && key != "mpi_memory_alloc_kinds")
      continue;
    if (!comm.hints) comm.hints = std::make_unique<InfoHints>();
    comm.hints->set(key, value);
  }
}

// Gives a duplicate what it inherits from `comm`, attributes included. If a copy function fails,
// the duplicate is destroyed again.
Err furnish(Comm* made, Comm& comm, const InfoHints* hints, MPI_Comm* newcomm) {
  made->topology = comm.topology;
  if (hints != nullptr) keep_hints(*made, *hints);
  Err e;
  try {
    e = comm.attributes.copy_to(made->attributes, comm.handle());
  } catch (...) {  // an exception of a copy function
    end_comm(made);
    throw;
  }
  if (e) {
    end_comm(made);
    *newcomm = MPI_COMM_NULL;
    return e;
  }
  *newcomm = made->handle();
  return kSuccess;
}

Err duplicate(Comm& comm, const InfoHints* hints, MPI_Comm* newcomm) {
  MPC_MPI_TRY(check_members("MPI_Comm_dup", comm));
  return furnish(duplicate_plain(comm), comm, hints, newcomm);
}

// A duplicate whose context ids may arrive later, when all members have asked for more of them.
struct PendingDuplicate final : Several {
  PendingDuplicate(Duplication duplication, const char* name)
      : later(std::move(duplication)), call(name) {
    later.made()->retain();
  }
  ~PendingDuplicate() override { later.made()->drop(); }
  bool is_over() override { return later.is_over(); }
  std::string text() const override {
    return fmt::format("{}: waits for the other members", call);
  }
  Duplication later;
  const char* call;
};

// Complete at once, unless context ids have to be agreed on.
Err start_duplicate(const char* call, Comm& comm, const InfoHints* hints,
                    MPI_Comm* newcomm, Request** request) {
  MPC_MPI_TRY(check_members(call, comm));
  Duplication duplication(comm);
  MPC_MPI_TRY(furnish(duplication.made(), comm, hints, newcomm));
  const bool is_over = duplication.is_over();
  *request = Request::make(
      this_rank(), is_over ? RequestKind::kDone : RequestKind::kMeeting, &comm, call);
  (*request)->is_active = true;
  if (!is_over)
    (*request)->several =
        std::make_unique<PendingDuplicate>(std::move(duplication), call);
  return kSuccess;
}

// The part of the machine that a rank belongs to, by the name of a hardware resource;
// MPI_UNDEFINED for an unknown name. All processes are on one host, and each core is a worker of
// one of them; with several hosts this becomes the number of the host.
int resource_of(job::Rank& rank, std::string_view resource) {
  if (resource == "mpi_shared_memory" || resource == "machine" || resource == "node" ||
      resource == "hwloc://Machine")
    return 0;
  if (resource == "core" || resource == "hwloc://Core")
    return rank.job->place_of(rank.world_rank);
  return MPI_UNDEFINED;
}

// The first member of the caller's part of this process set; MPI_UNDEFINED for an unknown name.
int first_of_set(const job::Rank& rank, const std::string& name) {
  const GroupRef members = members_of_set(rank, name);
  return members == nullptr ? MPI_UNDEFINED : members->world_rank(0);
}

// The color of MPI_COMM_TYPE_HW_GUIDED and MPI_COMM_TYPE_RESOURCE_GUIDED (MPI-4.1 section 7.4.2).
int guided_color(job::Rank& rank, int type, const Info* info) {
  if (info == nullptr) return MPI_UNDEFINED;
  if (const std::string* resource = info->hints.find("mpi_hw_resource_type"))
    return resource_of(rank, *resource);
  const std::string* set = type == MPI_COMM_TYPE_RESOURCE_GUIDED
                               ? info->hints.find("mpi_pset_name")
                               : nullptr;
  return set == nullptr ? MPI_UNDEFINED : first_of_set(rank, *set);
}

}  // namespace

Err comm_rank(Comm& comm, int* rank) {
  *rank = comm.rank();
  return kSuccess;
}

Err comm_size(Comm& comm, int* size) {
  *size = comm.size();
  return kSuccess;
}

Err comm_group(Comm& comm, MPI_Group* group) {
  *group = create_group(comm.group(), comm.session_buffer());
  return kSuccess;
}

Err comm_compare(Comm& a, Comm& b, int* result) {
  if (&a == &b) {
    *result = MPI_IDENT;
  } else if (a.is_inter() != b.is_inter()) {
    *result = MPI_UNEQUAL;
  } else {
    const int local = compare_groups(*a.group(), *b.group());
    const int remote = compare_groups(*a.remote_group(), *b.remote_group());
    const int worse = std::max(local, remote);
    *result = worse == MPI_IDENT ? MPI_CONGRUENT : worse;
  }
  return kSuccess;
}
static_assert(MPI_IDENT < MPI_CONGRUENT && MPI_CONGRUENT < MPI_SIMILAR &&
              MPI_SIMILAR < MPI_UNEQUAL);

Err comm_dup(Comm& comm, MPI_Comm* newcomm) {
  return duplicate(comm, comm.hints.get(), newcomm);
}

Err comm_dup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm) {
  return duplicate(comm, info == nullptr ? nullptr : &info->hints, newcomm);
}

Err comm_idup(Comm& comm, MPI_Comm* newcomm, Request** request) {
  return start_duplicate("MPI_Comm_idup", comm, comm.hints.get(), newcomm, request);
}

Err comm_idup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm, Request** request) {
  return start_duplicate("MPI_Comm_idup_with_info", comm,
                         info == nullptr ? nullptr : &info->hints, newcomm, request);
}

Err comm_split(Comm& comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED)
    return fail(MPI_ERR_ARG, fmt::format("color {} is negative", color));
  Comm* made = nullptr;
  *newcomm = MPI_COMM_NULL;
  MPC_MPI_TRY(split_comm(comm, color, key, "MPI_Comm_split", &made));
  *newcomm = made == nullptr ? MPI_COMM_NULL : made->handle();
  return kSuccess;
}

Err comm_split_type(Comm& comm, int type, int key, Info* info, MPI_Comm* newcomm) {
  int color = MPI_UNDEFINED;
  job::Rank& rank = comm.self();
  switch (type) {
    case MPI_COMM_TYPE_SHARED:
      // By host, whatever processes its ranks live in: windows between processes of a host can
      // share memory.
      color =
          job::host_map().host_of(rank.job->processes().process_of(rank.world_rank));
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      color = guided_color(rank, type, info);
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      // The next smaller part of the machine that we know is the core.
      color = rank.job->place_of(rank.world_rank);
      break;
    case MPI_UNDEFINED:
      break;
    default:
      return fail(MPI_ERR_ARG, fmt::format("split type {} does not exist", type));
  }
  // Jobs number their workers alike, and share no windows.
  if (comm.spans_jobs() && color != MPI_UNDEFINED) color += job_among(comm) << 20;
  Comm* made = nullptr;
  *newcomm = MPI_COMM_NULL;
  MPC_MPI_TRY(split_comm(comm, color, key, "MPI_Comm_split_type", &made));
  if (made != nullptr && type == MPI_COMM_TYPE_HW_UNGUIDED &&
      made->size() == comm.size() && made->remote_size() == comm.remote_size()) {
    // It must be a strict subset (MPI-4.1 section 7.4.2).
    end_comm(made);
    made = nullptr;
  }
  if (made != nullptr && info != nullptr) keep_hints(*made, info->hints);
  // Tells the user which part of the machine it was (MPI-4.1 section 7.4.2).
  if (made != nullptr && info != nullptr && type == MPI_COMM_TYPE_HW_UNGUIDED)
    info->hints.set("mpi_hw_resource_type", "hwloc://Core");
  *newcomm = made == nullptr ? MPI_COMM_NULL : made->handle();
  return kSuccess;
}

Err comm_create(Comm& comm, Group& group, MPI_Comm* newcomm) {
  const GroupTable& table = *group.table();
  for (const int world_rank : table.world_ranks())
    if (comm.group()->index_of(world_rank) < 0)
      return fail(MPI_ERR_GROUP, fmt::format("world rank {} of the group is not in {}",
                                             world_rank, comm.display_name()));
  if (comm.is_inter()) {
    // Both groups take part, each with its own subgroup.
    const int index = table.index_of(comm.self().world_rank);
    Comm* made = nullptr;
    MPC_MPI_TRY(split_comm(comm, index < 0 ? MPI_UNDEFINED : 0, index,
                           "MPI_Comm_create", &made));
    *newcomm = made == nullptr ? MPI_COMM_NULL : made->handle();
    return kSuccess;
  }
  // Disjoint groups in one call are told apart by their first member (MPI-4.1 section 7.4.2).
  MeetingKey key = meeting_key(MeetingKind::kCreate, comm);
  const bool is_alone = comm.is_in_one_process();
  // In several processes the disjoint groups have the same id.
  const msg::ContextId reserved = is_alone ? 0 : next_context(comm, "MPI_Comm_create");
  const int me = table.index_of(comm.self().world_rank);
  *newcomm = MPI_COMM_NULL;
  if (me < 0) return kSuccess;
  Comm::Spec spec;
  spec.group = group.table();
  spec.rank = me;
  spec.context = reserved;
  if (is_alone) {
    key.place = place_of(comm.local_context(), table.world_rank(0));
    spec.context =
        agree<ContextRoom>(comm.self(), key, table.size(), [&](ContextRoom& r) {
          r.context = new_context(comm.self());
        })->context;
  }
  *newcomm = create_comm(comm, spec)->handle();
  return kSuccess;
}

Err comm_create_group(Comm& comm, Group& group, int tag, MPI_Comm* newcomm) {
  const GroupRef& table = group.table();
  const int me = table->index_of(comm.self().world_rank);
  *newcomm = MPI_COMM_NULL;
  if (me < 0) return kSuccess;
  for (const int world_rank : table->world_ranks())
    if (comm.group()->index_of(world_rank) < 0)
      return fail(MPI_ERR_GROUP, fmt::format("world rank {} of the group is not in {}",
                                             world_rank, comm.display_name()));
  // Only the members meet: the key is what they have in common.
  auto room = try_to_meet<FoundingRoom>(
      comm.self(),
      key_of_members(MeetingKind::kCreateGroup, table, comm.context(),
                     static_cast<uint32_t>(tag)),
      members_of(comm.self(), *table), [](FoundingRoom&) {}, "MPI_Comm_create_group");
  if (room->is_broken) [[unlikely]]
    return fail_without_member("MPI_Comm_create_group", comm);
  Comm::Spec spec;
  spec.group = table;
  spec.rank = me;
  spec.context = room->ids.first;
  spec.reserve = room->ids.after(1);
  *newcomm = create_comm(comm, spec)->handle();
  return kSuccess;
}

Err comm_free(HandleRef<Comm, MPI_Comm> ref) {
  Comm& comm = *ref.object;
  if (comm.is_predefined())
    return fail(MPI_ERR_COMM, fmt::format("{} cannot be freed", comm.display_name()));
  MPC_MPI_TRY(comm.attributes.remove_all(comm.handle()));
  if (comm.is_inter()) forget_parent(comm.self(), &comm);
  end_comm(&comm);
  *ref.handle = MPI_COMM_NULL;
  return kSuccess;
}

// MPI-4.1 section 11.10.4: as MPI_Comm_free, when all communication of all members is over.
Err comm_disconnect(HandleRef<Comm, MPI_Comm> ref) {
  Comm& comm = *ref.object;
  if (comm.is_predefined())
    return fail(MPI_ERR_COMM,
                fmt::format("{} cannot be disconnected", comm.display_name()));
  reap_abandoned(this_rank(), true, &comm);
  if (comm.send_buffer) comm.send_buffer->flush(comm.self(), "MPI_Comm_disconnect");
  constexpr char kCall[] = "MPI_Comm_disconnect";
  const auto meet_all = [&comm, &kCall] {
    const MeetingKey key = meeting_key_of_everyone(MeetingKind::kBarrier, comm);
    const auto nothing = [](Room&) {};
    const auto room =
        comm.spans_jobs()
            ? try_to_meet<Room>(comm.self(), key, comm.everyone(), nothing, kCall)
            : meet<Room>(comm.self(), key, comm.everyone(), nothing, kCall);
    return room->is_broken ? fail_without_member(kCall, comm) : kSuccess;
  };
  MPC_MPI_TRY(meet_all());
  if (comm.spans_jobs()) {
    // A rank that returns may end. So no rank returns before none of them relies on another one
    // any more.
    comm.bridge.reset();
    release_jobs(&comm);
    MPC_MPI_TRY(meet_all());
  }
  return comm_free(ref);
}

Err comm_set_name(Comm& comm, const char* name) {
  comm.name.assign(name, std::min<size_t>(std::strlen(name), MPI_MAX_OBJECT_NAME - 1));
  return kSuccess;
}

Err comm_get_name(Comm* comm, char* name, int* length) {
  const std::string& text =
      comm != nullptr ? comm->name : abi::handle_name(abi::kCommNull);
  std::memcpy(name, text.c_str(), text.size() + 1);
  *length = static_cast<int>(text.size());
  return kSuccess;
}

Err comm_set_info(Comm& comm, Info* info) {
  if (info != nullptr) keep_hints(comm, info->hints);
  return kSuccess;
}

Err comm_get_info(Comm& comm, MPI_Info* info_used) {
  *info_used = create_info(comm.hints ? *comm.hints : InfoHints{})->handle();
  return kSuccess;
}

}  // namespace mpc::mpi::impl
