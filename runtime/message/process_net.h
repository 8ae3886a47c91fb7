#pragma once
// ProcessNet: the network between this process and the others of its job.
//
// Role:      loads the library that carries messages, tells others how this process is reached, and
//            connects it with them.
// Users:     runtime/message/network.cpp.
// Threads:   the process's main thread; net() any.
// See also:  runtime/transport/load_net.h, runtime/wireup/wireup.h.

#include <memory>

#include "base/result.h"
#include "runtime/message/net_driver.h"
#include "runtime/transport/net_module.h"
#include "runtime/wireup/wireup.h"

namespace mpc::msg {

class ProcessNet {
 public:
  // Before a program is loaded. Errors: kNotFound, kSystem.
  static Result<std::unique_ptr<ProcessNet>> load(wireup::Wireup& wireup);
  // After the exchange. Ownership: the receiver outlives it. Errors: kSystem.
  Result<> connect(transport::Receiver& receiver);
  transport::Net& net() const noexcept { return module_->net(); }

 private:
  ProcessNet(wireup::Wireup& wireup,
             std::unique_ptr<transport::NetModule> module) noexcept
      : wireup_(wireup), module_(std::move(module)), driver_(module_->events()) {}

  wireup::Wireup& wireup_;
  const std::unique_ptr<transport::NetModule> module_;
  NetDriver driver_;  // ends before the module
};

}  // namespace mpc::msg
