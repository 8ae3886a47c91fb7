#pragma once
// Opening of the Modex: the library that wraps the process manager's client is loaded.
//
// Role:      what a job of one process never does.
// Users:     runtime/wireup (several, guest).
// Threads:   the process's main thread.
// See also:  runtime/wireup/modex.h.

#include <memory>

#include "base/result.h"
#include "runtime/wireup/modex.h"

namespace mpc::wireup {

// Errors: kUnsupported: there is no such library; kSystem: there is nobody to exchange with.
Result<std::unique_ptr<Modex>> open_modex();

}  // namespace mpc::wireup
