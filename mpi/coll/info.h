#pragma once
// Info: what `mpcinfo collectives` prints: which way each collective would take.
//
// Role:      asks the functions that choose in a job (mpi/coll/direct_choice.h, nbc::select, nbc::plan_tree), for a job that
//            is not there, and shows where each answer comes from.
// Users:     tools/mpcinfo through the exported function.
// Threads:   one.
// See also:  docs/collectives.md, section "Limits".

#include <cstddef>
#include <cstdint>

struct MpcCollectivesQuery {
  const char* machine;     // "" for this one; else as topo::Machine::by_name()
  const char* collective;  // "allreduce"; "" for all
  int ranks;               // of one process; 0: as many as there are cores
  int comm_cores;          // -1: as mpcrun without --comm-cores
  const int64_t* sizes;    // bytes
  size_t size_count;
  bool is_csv;
};

// As a text or as CSV, after the settings of the environment have been read. Returns an exit status.
extern "C" __attribute__((visibility("default"))) int mpc_info_collectives(
    const MpcCollectivesQuery* query);
