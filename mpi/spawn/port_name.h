#pragma once
// PortName: what the name of a port says.
//
// Role:      tells which job has the port, which of its ports it is, and where other jobs find it.
// Users:     mpi/spawn/ports.cpp.
// Threads:   plain data.
// See also:  runtime/wireup/place.h, runtime/job/job_number.h.
//
//   mpc:JOB:PORT                its process is not open to other processes
//   mpc:JOB:PORT:SLOT:PLACE     SLOT: the process's; numbers are in hexadecimal digits

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/wireup/place.h"

namespace mpc::mpi {

struct PortName {
  uint64_t job = 0, port = 0;
  int slot = 0;  // 0: none
  wireup::Place place;
};

std::string text_of(const PortName& name);
// `text` may be anything, also longer than MPI allows. Nothing: it is not the name of a port.
std::optional<PortName> read_port_name(const char* text);

}  // namespace mpc::mpi
