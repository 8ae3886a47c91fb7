// Ring, for builds without liburing.

#include "runtime/io/ring.h"

namespace mpc::io {

Result<std::unique_ptr<Ring>> Ring::open(int) {
  return {Errc::kUnsupported, "this MPI was built without liburing"};
}

}  // namespace mpc::io
