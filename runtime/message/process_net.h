#pragma once
// ProcessNet: the network between this process and the others of its job.
//
// Role:      loads the library that carries messages, tells others how to reach this process, and
//            connects it with them.
// Users:     runtime/message/network.cpp.
// Threads:   the process's main thread; net() any.
// See also:  runtime/transport/load_net.h, runtime/wireup/wireup.h, scheduler/poll/poller.h.

#include <memory>

#include "base/result.h"
#include "runtime/transport/net_module.h"
#include "runtime/wireup/wireup.h"
#include "scheduler/scheduler.h"

namespace mpc::msg {

class ProcessNet {
 public:
  // Called before a program is loaded. Errors: kUnsupported, kSystem.
  static Result<std::unique_ptr<ProcessNet>> load(wireup::Wireup& wireup);
  // Called after the exchange. From now on the scheduler's workers and the ranks that wait poll.
  // Ownership: the receiver and the scheduler outlive the connection. Errors: kSystem.
  Result<> connect(transport::Receiver& receiver, sched::Scheduler& scheduler);
  // Caller: no thread polls any more.
  void disconnect() noexcept;
  transport::Net& net() const noexcept { return module_->net(); }
  // As the module's function. Caller: any, between connect() and disconnect().
  void make_connections(transport::Completion& completion) noexcept {
    module_->make_connections(completion);
  }
  void lose(int process) noexcept { module_->lose(process); }
  // The same; if so, polls once. Caller: as lose(), not a rank.
  bool takes_what_is_left(int process) noexcept {
    if (!module_->has_left(process)) return false;
    module_->events().poll();
    return true;
  }
  // May these processes, of one host, wait for each other in memory that they share, with nobody who
  // tells them of a death? Caller: all of them get the same answer.
  static bool may_share_memory() noexcept;

 private:
  ProcessNet(wireup::Wireup& wireup,
             std::unique_ptr<transport::NetModule> module) noexcept
      : wireup_(wireup), module_(std::move(module)) {}

  wireup::Wireup& wireup_;
  const std::unique_ptr<transport::NetModule> module_;
  sched::Poller* poller_ = nullptr;  // of the connected scheduler
};

// The network of this process; null: there is none.
ProcessNet* process_net() noexcept;

}  // namespace mpc::msg
