// Bodies of MPI-4.1 section 11.3: sessions and their process sets.

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <string>

#include "mpi/impl/sessions.h"
#include "mpi/objects/check.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/objects/process_sets.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/request.h"
#include "mpi/objects/session.h"

namespace mpc::mpi::impl {
namespace {

struct LevelName {
  const char* name;
  int level;
};
constexpr LevelName kLevels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                                 {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                                 {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                                 {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

// The level that the hints ask for; without them the highest one, as in MPICH.
Err find_level(const Info* info, LevelName* out) {
  *out = kLevels[std::size(kLevels) - 1];
  const std::string* asked =
      info == nullptr ? nullptr : info->hints.find("thread_level");
  if (asked == nullptr) return kSuccess;
  for (const LevelName& level : kLevels) {
    if (*asked != level.name) continue;
    *out = level;
    return kSuccess;
  }
  return fail(MPI_ERR_INFO_VALUE,
              fmt::format("thread_level {} is no level of threads", *asked));
}

Err find_set(const char* name, GroupRef* out) {
  *out = members_of_set(*this_rank().rank, name);
  if (*out != nullptr) return kSuccess;
  return fail(MPI_ERR_ARG, fmt::format("there is no process set \"{}\"", name));
}

}  // namespace

Err session_init(Info* info, Errhandler& handler, MPI_Session* session) {
  if (handler.target != ErrhandlerTarget::kAny &&
      handler.target != ErrhandlerTarget::kSession)
    return fail(MPI_ERR_ARG, "the error handler was not made for sessions");
  LevelName level;
  MPC_MPI_TRY(find_level(info, &level));
  InfoHints used;
  used.set("thread_level", level.name);
  if (info != nullptr && info->hints.find("mpi_memory_alloc_kinds") != nullptr)
    used.set("mpi_memory_alloc_kinds", "mpi,system");
  *session =
      Session::begin(attached_rank(), level.level, std::move(used), handler)->handle();
  return kSuccess;
}

Err session_finalize(HandleRef<Session, MPI_Session> ref) {
  RankState& state = this_rank();
  *ref.handle = MPI_SESSION_NULL;
  if (ref->buffer()->attached != nullptr)
    ref->buffer()->attached->flush(*state.rank, "MPI_Session_finalize");
  if (Session::is_last(state)) reap_abandoned(state, true);
  ref->end(state);
  if (!state.may_call()) report_what_is_left(state, "MPI_Session_finalize");
  return kSuccess;
}

Err session_get_info(Session& session, MPI_Info* info_used) {
  *info_used = create_info(session.hints())->handle();
  return kSuccess;
}

Err session_get_num_psets(Session&, Info*, int* count) {
  *count = static_cast<int>(kProcessSets.size());
  return kSuccess;
}

Err session_get_nth_pset(Session&, Info*, int n, int* length, char* name) {
  if (n < 0 || static_cast<size_t>(n) >= kProcessSets.size())
    return fail(MPI_ERR_ARG, fmt::format("there is no process set {}; there are {}", n,
                                         kProcessSets.size()));
  const std::string_view set = kProcessSets[static_cast<size_t>(n)];
  // Cut to the room there is; with 0 only the length is asked for, terminator included.
  if (*length > 0) {
    if (name == nullptr)
      return fail(MPI_ERR_ARG, "the name is a null pointer, and its length is not 0");
    const size_t room = std::min(set.size(), static_cast<size_t>(*length) - 1);
    std::memcpy(name, set.data(), room);
    name[room] = '\0';
  }
  *length = static_cast<int>(set.size()) + 1;
  return kSuccess;
}

Err session_get_pset_info(Session&, const char* name, MPI_Info* info) {
  GroupRef members;
  MPC_MPI_TRY(find_set(name, &members));
  InfoHints hints;
  hints.set("mpi_size", std::to_string(members->size()));
  *info = create_info(std::move(hints))->handle();
  return kSuccess;
}

Err group_from_session_pset(Session& session, const char* name, MPI_Group* group) {
  GroupRef members;
  MPC_MPI_TRY(find_set(name, &members));
  *group = create_group(std::move(members), session.buffer());
  return kSuccess;
}

}  // namespace mpc::mpi::impl
