#pragma once
// Made: the objects that a rank has, and the calls that have made them (mpi.check=full).
//
// Role:      what MPI_Finalize lists as not freed, with places.
// Users:     mpi/objects: object.h notes, check.cpp lists.
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

// From now on the objects of this job's ranks are noted. Again: nothing.
void note_objects(int ranks);
// What a rank has now, in no order.
std::vector<Made> objects_of(int world_rank);

// Called with each noted request that is about to end, while it still has its status; by its rank.
using RequestHook = void (*)(const Object& request);
void at_end_of_requests(RequestHook hook);

}  // namespace mpc::mpi
