#pragma once
// SpawnRequest: what the arguments and info keys of MPI_Comm_spawn ask for.
//
// Role:      the program with its folder, arguments, number of ranks and hosts, in the form the job needs.
// Users:     mpi/spawn/spawn_calls.cpp.
// Threads:   any execution of the rank: paths are relative to its working directory.
// See also:  MPI-4.1 sections 11.8.2 (arguments) and 11.8.4 (info keys).

#include <optional>
#include <string_view>

#include "mpi/objects/error.h"
#include "mpi/objects/info.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/spawned_words.h"

namespace mpc::mpi {

struct SpawnRequest {
  job::AppSpec app;
  job::SpawnedPlace place;
};

// argv: without the program's name, up to a null pointer; null: none. info: may be null.
// Errors: MPI_ERR_SPAWN (no such program, folder or host), MPI_ERR_ARG, MPI_ERR_INFO_VALUE.
Err read_request(const char* command, char* const* argv, int maxprocs, Info* info,
                 SpawnRequest* out);

// The value of the info key soft, as in "2:8:2,12": the largest of its numbers that is at most
// `most`. Nothing: there is none, or the text has another form.
std::optional<int> largest_of(std::string_view soft, int most) noexcept;

}  // namespace mpc::mpi
