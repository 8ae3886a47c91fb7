// Bodies of MPI-4.1 section 11.9.4: names under which ports are found.

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>

#include "base/mutex.h"
#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/error.h"

namespace mpc::mpi::impl {
namespace {

constinit Mutex g_lock;
// The ports of this job by their names. Never destroyed: ranks may still ask while the process ends.
std::map<std::string, std::string, std::less<>>& names() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::map<std::string, std::string, std::less<>>;
  return *all;
}

}  // namespace

Err publish_name(const char* service_name, Info*, const char* port_name) {
  if (::strnlen(port_name, MPI_MAX_PORT_NAME) >= MPI_MAX_PORT_NAME)
    return fail(MPI_ERR_PORT,
                fmt::format("the name of the port is longer than {} characters",
                            MPI_MAX_PORT_NAME - 1));
  const Locked lock(g_lock);
  if (names().try_emplace(service_name, port_name).second) return kSuccess;
  return fail(MPI_ERR_SERVICE,
              fmt::format("the name '{}' is published already", service_name));
}

Err unpublish_name(const char* service_name, Info*, const char*) {
  const Locked lock(g_lock);
  if (names().erase(service_name) != 0) return kSuccess;
  return fail(MPI_ERR_SERVICE,
              fmt::format("the name '{}' is not published in this job", service_name));
}

Err lookup_name(const char* service_name, Info*, char* port_name) {
  const Locked lock(g_lock);
  const auto found = names().find(std::string_view(service_name));
  if (found == names().end())
    return fail(MPI_ERR_NAME, fmt::format("the name '{}' is not published in this job",
                                          service_name));
  std::memcpy(port_name, found->second.c_str(), found->second.size() + 1);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
