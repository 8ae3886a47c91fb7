#pragma once
// The Fortran bindings whose arguments the list cannot convert: arrays of strings, callbacks
// that C calls differently.
//
// Role:      bodies of records with "f77_by_hand". Their arguments are those that Fortran passes,
//            then the lengths of the strings. Each returns an error code.
// Users:     generated f77_CHAPTER.cpp, f08_CHAPTER.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/fortran/convert.h.

#include <cstddef>

#include "mpi.h"

namespace mpc::mpi::fortran {

int grequest_start(void* query_fn, void* free_fn, void* cancel_fn,
                   MPI_Aint* extra_state, MPI_Fint* request);

int register_datarep(char* datarep, void* read_conversion_fn, void* write_conversion_fn,
                     void* dtype_file_extent_fn, MPI_Aint* extra_state,
                     size_t datarep_length);
int register_datarep_c(char* datarep, void* read_conversion_fn,
                       void* write_conversion_fn, void* dtype_file_extent_fn,
                       MPI_Aint* extra_state, size_t datarep_length);

int comm_spawn(char* command, char* argv, MPI_Fint* maxprocs, MPI_Fint* info,
               MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
               MPI_Fint* array_of_errcodes, size_t command_length, size_t argv_length);
int comm_spawn_multiple(MPI_Fint* count, char* array_of_commands, char* array_of_argv,
                        MPI_Fint* array_of_maxprocs, MPI_Fint* array_of_info,
                        MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
                        MPI_Fint* array_of_errcodes, size_t commands_length,
                        size_t argv_length);

}  // namespace mpc::mpi::fortran
