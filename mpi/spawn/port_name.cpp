#include "mpi/spawn/port_name.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "mpi.h"

namespace mpc::mpi {

std::string text_of(const PortName& name) {
  std::string here = fmt::format("mpc:{:x}:{:x}", name.job, name.port);
  if (name.slot == 0) return here;
  const std::string process = fmt::format("{}:{:x}:", here, name.slot);
  std::string all =
      process + wireup::text_of(name.place, MPI_MAX_PORT_NAME - 1 - process.size());
  return all.size() < MPI_MAX_PORT_NAME ? all : here;
}

std::optional<PortName> read_port_name(const char* text) {
  const std::string whole(text, ::strnlen(text, MPI_MAX_PORT_NAME));
  if (whole.size() == MPI_MAX_PORT_NAME) return std::nullopt;
  unsigned long long job = 0, port = 0;
  unsigned slot = 0;
  int end = 0, place = 0;
  if (std::sscanf(whole.c_str(), "mpc:%16llx:%16llx%n:%8x:%n", &job, &port, &end, &slot,
                  &place) < 2)
    return std::nullopt;
  PortName name{job, port, 0, {}};
  if (static_cast<size_t>(end) == whole.size()) return name;
  const auto read = place != 0
                        ? wireup::read_place(whole.substr(static_cast<size_t>(place)))
                        : std::nullopt;
  if (!read) return std::nullopt;
  name.slot = static_cast<int>(slot);
  name.place = *read;
  return name;
}

}  // namespace mpc::mpi
