#pragma once
// load_net: opens the network between the processes of a job.
//
// Role:      finds libmpc-net-ucx.so next to libmpi_abi (lib/mpc, installed and in the build
//            folder), loads it such that it does not touch signals, mmap and the environment of the
//            ranks, and hides from it which rank calls it. A job of one process never calls this.
// Users:     code that starts a process of a job that has several; tests/unit/transport.
// Threads:   one thread, before ranks run.
// See also:  runtime/transport/net_module.h, docs/design/0021-ucx.md.
//
// Order at the start of a process:
//   load_net()                  before any program is loaded: a library that is already loaded is
//                               not made private to ranks
//   module->address()           sent to all other processes
//   module->connect(peers, r)   with the addresses that they have sent
//   ranks run; module->events() is polled, module->net() is called
//   delete                      when no rank runs and all processes say that they have finished

#include <memory>

#include "base/result.h"
#include "runtime/transport/net_module.h"

namespace mpc::transport {

// Caller: the main thread, before a program is loaded and before ranks run. Cost: 10 to 30 ms.
// Errors: kNotFound (the library, or UCX behind it, is missing: the message says which package
// helps), kSystem.
Result<std::unique_ptr<NetModule>> load_net(const NetConfig& config);

// The setting net.host_segment.
bool uses_host_segment() noexcept;

}  // namespace mpc::transport
