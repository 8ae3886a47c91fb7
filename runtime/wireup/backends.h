#pragma once
// Backends: the kinds of Wireup that connect() chooses from.
//
// Role:      one process, or several that a launcher has started: ours, or another one with PMIx.
// Users:     runtime/wireup.
// Threads:   the process's main thread.
// See also:  runtime/wireup/wireup.h.

#include <memory>

#include "runtime/wireup/starter.h"
#include "runtime/wireup/wireup.h"

namespace mpc::wireup {

std::unique_ptr<Wireup> alone();
// Loads the library behind it. The descriptors are of kLauncherVariable.
// Errors: kSystem, kUnsupported.
Result<std::unique_ptr<Wireup>> several(int socket, int console_memory);
// Loads the library behind it. Alone, if the launcher has started one process only. A text only in
// those that have to say it. Errors: kSystem, kUnsupported, kArg.
Result<std::unique_ptr<Wireup>> guest(const Starter& starter,
                                      const Wireup::Terms& terms);

}  // namespace mpc::wireup
