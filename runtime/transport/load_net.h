#pragma once
// load_net: opens the network between the processes of a job.
//
// Role:      finds libmpc-net-ucx.so beside libmpi_abi (lib/mpc, installed and in the build folder),
//            loads it such that it leaves signals, mmap and the environment of the ranks alone, and
//            keeps from it which rank calls it. A job of one process never comes here.
// Users:     whoever starts a process of a job that has several; tests/unit/transport.
// Threads:   one thread, before ranks run.
// See also:  runtime/transport/net_module.h, docs/design/0021-ucx.md.
//
// Order at the start of a process:
//   load_net()                  before any program is loaded: a library that is there already is
//                               not made private to ranks
//   module->address()           to all other processes
//   module->connect(peers, r)   with what they have told
//   ranks run; module->events() is polled, module->net() is called
//   delete                      when no rank runs and all processes have said that they are done

#include <memory>

#include "base/result.h"
#include "runtime/transport/net_module.h"

namespace mpc::transport {

// Caller: the main thread, before a program is loaded and before ranks run. Cost: 10 to 30 ms.
// Errors: kNotFound (the library, or UCX behind it, is missing: the message says which package
// helps), kSystem.
Result<std::unique_ptr<NetModule>> load_net(const NetConfig& config);

}  // namespace mpc::transport
