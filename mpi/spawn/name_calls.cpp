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
// Names published by this process that other jobs do not find: they cannot be told, or another job
// has published the same name. Never destroyed: ranks may still ask while the process ends.
std::map<std::string, std::string, std::less<>>& names() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::map<std::string, std::string, std::less<>>;
  return *all;
}

// Looks among this job's own names, which its ranks find first.
std::optional<std::string> find_here(const char* service_name) {
  const Locked lock(g_lock);
  const auto found = names().find(std::string_view(service_name));
  if (found == names().end()) return std::nullopt;
  return found->second;
}

job::Job& this_job() { return *this_rank().rank->job; }

enum class Publicity { kEverybody, kThisProcess, kIsThere };

// If another job has published a name, this job keeps its own one to itself. So a program that uses
// names only among its own ranks can be started several times.
Publicity publish_to_others(const char* service_name, const char* port_name) {
  wireup::Lobby* const lobby = lobby_of(this_job());
  if (lobby == nullptr) return Publicity::kThisProcess;
  using Published = wireup::Lobby::Published;
  const auto published = lobby->publish(service_name, port_name);
  if (!published) {
    log::warn("MPI_Publish_name: '{}' is not known to other jobs: {}", service_name,
              published.error().message);
    return Publicity::kThisProcess;
  }
  if (*published == Published::kOwn) return Publicity::kIsThere;
  if (*published == Published::kNow) return Publicity::kEverybody;
  log::warn(
      "MPI_Publish_name: another job has published '{}': other jobs find that "
      "one, and this job its own",
      service_name);
  return Publicity::kThisProcess;
}

}  // namespace

Err publish_name(const char* service_name, Info*, const char* port_name) {
  if (::strnlen(port_name, MPI_MAX_PORT_NAME) >= MPI_MAX_PORT_NAME)
    return fail(MPI_ERR_PORT,
                fmt::format("the name of the port is longer than {} characters",
                            MPI_MAX_PORT_NAME - 1));
  Publicity publicity = find_here(service_name)
                            ? Publicity::kIsThere
                            : publish_to_others(service_name, port_name);
  if (publicity == Publicity::kThisProcess) {
    const Locked lock(g_lock);
    if (!names().try_emplace(service_name, port_name).second)
      publicity = Publicity::kIsThere;
  }
  if (publicity == Publicity::kIsThere)
    return fail(MPI_ERR_SERVICE,
                fmt::format("the name '{}' is published already", service_name));
  return kSuccess;
}

Err unpublish_name(const char* service_name, Info*, const char*) {
  bool is_gone = false;
  {
    const Locked lock(g_lock);
    is_gone = names().erase(service_name) != 0;
  }
  // Any process of the job may have published it.
  if (!is_gone)
    if (wireup::Lobby* const lobby = this_job().has_other_processes()
                                         ? lobby_of(this_job())
                                         : msg::abroad::lobby())
      is_gone = lobby->unpublish(service_name);
  if (!is_gone)
    return fail(
        MPI_ERR_SERVICE,
        fmt::format("the name '{}' is not published in this job", service_name));
  return kSuccess;
}

Err lookup_name(const char* service_name, Info*, char* port_name) {
  std::optional<std::string> found = find_here(service_name);
  if (!found)
    found = msg::abroad::look_up_name(service_name,
                                      [] { return open_to_others(this_job()); });
  if (!found || found->size() >= MPI_MAX_PORT_NAME)
    return fail(MPI_ERR_NAME,
                fmt::format("the name '{}' is published neither in this job nor in "
                            "another one of this user whose first process runs on the "
                            "same host",
                            service_name));
  port_name[found->copy(port_name, found->size())] = '\0';
  return kSuccess;
}

}  // namespace mpc::mpi::impl
