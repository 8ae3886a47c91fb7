#include "mpi/spawn/port_name.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "mpi.h"

namespace mpc::mpi {

uint64_t job_number() noexcept {
  static const uint64_t number = [] {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
      random = now_ns() ^ static_cast<uint64_t>(::getpid()) << 40;
    return random | 1;  // never 0
  }();
  return number;
}

uint64_t new_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // a number only
}

std::string text_of(const PortName& name) {
  std::string here = fmt::format("mpc:{:x}:{:x}", name.job, name.port);
  if (name.slot == 0) return here;
  std::string all = fmt::format("{}:{:x}:{}", here, name.slot, name.folder);
  return all.size() < MPI_MAX_PORT_NAME ? all : here;
}

std::optional<PortName> read_port_name(const char* text) {
  const std::string whole(text, ::strnlen(text, MPI_MAX_PORT_NAME));
  if (whole.size() == MPI_MAX_PORT_NAME) return std::nullopt;
  unsigned long long job = 0, port = 0;
  unsigned slot = 0;
  int end = 0, folder = 0;
  if (std::sscanf(whole.c_str(), "mpc:%16llx:%16llx%n:%8x:%n", &job, &port, &end, &slot,
                  &folder) < 2)
    return std::nullopt;
  PortName name{job, port, 0, ""};
  if (static_cast<size_t>(end) == whole.size()) return name;
  if (folder == 0 || whole[static_cast<size_t>(folder)] != '/') return std::nullopt;
  name.slot = static_cast<int>(slot);
  name.folder = whole.substr(static_cast<size_t>(folder));
  return name;
}

}  // namespace mpc::mpi
