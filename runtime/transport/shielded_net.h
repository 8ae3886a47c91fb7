#pragma once
// ShieldedNet: a net module that does not see which rank calls it.
//
// Role:      the libraries behind a network call libc. On a rank's stack these calls would use the
//            rank's environment, threads and file locks (runtime/interpose), so each call
//            into the module runs without a rank's identity. The module calls completions and the
//            receiver, so they have no identity either.
// Users:     runtime/transport/load_net.cpp.
// Threads:   as NetModule, Net and EventSource.
// See also:  docs/design/0002-identity.md, docs/design/0021-ucx.md.

#include <memory>

#include "runtime/transport/net_module.h"

namespace mpc::transport {

std::unique_ptr<NetModule> make_shielded_net(std::unique_ptr<NetModule> module);

}  // namespace mpc::transport
