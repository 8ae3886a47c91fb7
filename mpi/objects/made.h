#pragma once
// Made: the objects that a rank has, and the calls that created them (mpi.check=full).
//
// Role:      the list of objects that MPI_Finalize reports as not freed, with places.
// Users:     mpi/objects: object.h records them, check.cpp lists them.
// Threads:   any.
// See also:  mpi/objects/object.h, docs/checking.md.

#include <vector>

#include "mpi/objects/call_site.h"
#include "mpi/objects/object.h"

namespace mpc::mpi {

struct Made {
  Kind kind{};
  CallSite site;  // its call may be null: none was under way
  const Object* object = nullptr;
};

// From now on the objects of this job's ranks are recorded. A second call has no effect.
void note_objects(int ranks);
// The objects that a rank has now, in no order.
std::vector<Made> objects_of(int world_rank);

// Called by its rank with each recorded request that is about to end, while it still has its
// status.
using RequestHook = void (*)(const Object& request);
void at_end_of_requests(RequestHook hook);

}  // namespace mpc::mpi
