// Bodies of MPI-4.1 section 11.9.4: names under which ports are found.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/mutex.h"
#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/error.h"
#include "mpi/objects/rank_state.h"
#include "mpi/spawn/far_ports.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi::impl {
namespace {

constinit Mutex g_lock;
// The ports of this job by their names. Never destroyed: ranks may still ask while the process ends.
std::map<std::string, std::string, std::less<>>& names() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::map<std::string, std::string, std::less<>>;
  return *all;
}

// What this job has published, which its ranks find first.
std::optional<std::string> find_here(const char* service_name) {
  const Locked lock(g_lock);
  const auto found = names().find(std::string_view(service_name));
  if (found == names().end()) return std::nullopt;
  return found->second;
}

job::Job& this_job() { return *this_rank().rank->job; }

// A job keeps its names for itself where another one has them: programs that use them among their own
// ranks only can be started several times.
void publish_to_others(const char* service_name, const char* port_name) {
  wireup::Lobby* const lobby = lobby_of(this_job());
  if (lobby == nullptr) return;
  const auto published = lobby->publish(service_name, port_name);
  if (!published)
    log::warn("MPI_Publish_name: '{}' is not known to other jobs: {}", service_name,
              published.error().message);
  else if (!*published)
    log::warn(
        "MPI_Publish_name: another job has published '{}': other jobs find that "
        "one, and this job its own",
        service_name);
}

}  // namespace

Err publish_name(const char* service_name, Info*, const char* port_name) {
  if (::strnlen(port_name, MPI_MAX_PORT_NAME) >= MPI_MAX_PORT_NAME)
    return fail(MPI_ERR_PORT,
                fmt::format("the name of the port is longer than {} characters",
                            MPI_MAX_PORT_NAME - 1));
  {
    const Locked lock(g_lock);
    if (!names().try_emplace(service_name, port_name).second)
      return fail(MPI_ERR_SERVICE,
                  fmt::format("the name '{}' is published already", service_name));
  }
  publish_to_others(service_name, port_name);
  return kSuccess;
}

Err unpublish_name(const char* service_name, Info*, const char*) {
  {
    const Locked lock(g_lock);
    if (names().erase(service_name) == 0)
      return fail(
          MPI_ERR_SERVICE,
          fmt::format("the name '{}' is not published in this job", service_name));
  }
  if (wireup::Lobby* const lobby = msg::abroad::lobby()) lobby->unpublish(service_name);
  return kSuccess;
}

Err lookup_name(const char* service_name, Info*, char* port_name) {
  std::optional<std::string> found = find_here(service_name);
  if (!found)
    if (wireup::Lobby* const lobby = lobby_of(this_job()))
      found = lobby->look_up(service_name);
  if (!found || found->size() >= MPI_MAX_PORT_NAME)
    return fail(MPI_ERR_NAME,
                fmt::format("the name '{}' is published neither in this job nor in "
                            "another one of this user that runs on this host",
                            service_name));
  port_name[found->copy(port_name, found->size())] = '\0';
  return kSuccess;
}

}  // namespace mpc::mpi::impl
