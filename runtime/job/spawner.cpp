#include "runtime/job/spawner.h"

namespace mpc::job {
namespace {

std::string& port_of_spawner() noexcept {
  static auto* const port = new std::string;  // never freed: ranks may ask at any time
  return *port;
}

}  // namespace

const std::string& spawner() noexcept { return port_of_spawner(); }
void set_spawner(const std::string& port) { port_of_spawner() = port; }

}  // namespace mpc::job
