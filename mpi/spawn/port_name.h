#pragma once
// PortName: what the name of a port says.
//
// Role:      which job has the port, which of its ports it is, and where other jobs find that one.
// Users:     mpi/spawn/ports.cpp.
// Threads:   plain data.
// See also:  runtime/wireup/lobby.h, runtime/job/job_number.h.
//
//   mpc:JOB:PORT                its process is open to no others
//   mpc:JOB:PORT:SLOT:FOLDER    the slot is the process's; numbers in hexadecimal digits

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::mpi {

struct PortName {
  uint64_t job = 0, port = 0;
  int slot = 0;  // 0: none
  std::string folder;
};

std::string text_of(const PortName& name);
// Of a text that may be longer than MPI allows, or anything else. Nothing: it is no port's name.
std::optional<PortName> read_port_name(const char* text);

}  // namespace mpc::mpi
