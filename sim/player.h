#pragma once
// Player: executes the schedules of all ranks on a simulated machine.
//
// Role:      a discrete-event simulation of one non-blocking collective with computation:
//            every rank starts it, computes, and waits. The schedules are the real ones.
// Users:     sim/experiment.h, tests.
// Threads:   one; deterministic: the same input gives the same times.
// See also:  docs/overlap-model.md (what is simulated and what is not), sim/placement.h,
//            sim/node_table.h, sim/progress_threads.h, sim/events.h, sim/traffic.h.
//
// What runs a node:
//   Where::kAny          a progress thread, of a message the receiver's or the sender's, on a
//                        communication core; without one, as kApplication
//   Where::kApplication  the rank's own core: in the start if it can be done then, else in wait
// Receives that are ready at the start are posted by the start, whoever does the other nodes. Of
// send and receive, the side that comes second does the copy. A thread does what became ready
// first, stays on its core if that is free and else takes the closest free one; if none is free,
// the next core that becomes free continues with the thread that has waited longest.
// Between hosts a message begins when both ends are posted, in the background as soon as that is noticed;
// then the hosts' links carry it, and it keeps no core busy.

#include <memory>
#include <vector>

#include "base/result.h"
#include "nbc/model/parameters.h"
#include "nbc/schedule/schedule.h"
#include "sim/placement.h"
#include "topology/machine.h"

namespace mpc::sim {

// What the start of a collective does with application nodes that become ready soon, because
// other ranks' starts make them so (the leaf levels of a reduction).
enum class StartRule : uint8_t {
  kStays,   // does them, as the paper does by blocking messages
  kLeaves,  // leaves them to the wait
};

struct Rules {
  StartRule start = StartRule::kStays;
  bool waits_help = false;  // a rank in wait also runs its own kAny nodes
  bool cores_help = false;  // idle communication cores also run kApplication nodes
  bool all_on_application = false;  // as a blocking call: every node as kApplication
};

struct Run {
  const topo::Machine* machine = nullptr;  // one host
  const nbc::Parameters* parameters = nullptr;
  const Placement* placement = nullptr;
  const std::vector<std::shared_ptr<const nbc::Schedule>>* schedules =
      nullptr;  // by rank
  // Bytes of one element, by BufferRef::type; kByteType has 1.
  int64_t element_bytes = 1;
  double compute_us = 0;  // between start and wait
  Rules rules;
  int hosts = 1;
};

struct Outcome {
  double time_us = 0;              // until the last rank's wait has ended
  double communication_us = 0;     // until the last node has ended
  double helper_busy_us = 0;       // of all communication cores together
  double application_busy_us = 0;  // of application cores, with communication
};

// Errors: kInternal: the schedules do not match or never end.
// Cost: a heap operation for each node and copy; with a limited NUMA bandwidth more.
Result<Outcome> play(const Run& run);

}  // namespace mpc::sim
