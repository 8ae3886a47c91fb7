#pragma once
// Loopback: a network between the virtual processes of one process.
//
// Role:      carries messages as a network would: as bytes, later, and in an order of its own. So
//            the path of messages between processes is tested on any machine.
// Users:     runtime/message, when job.virtual_processes is more than 1.
// Threads:   make and start by one thread before ranks run; a thread of its own delivers.
// See also:  runtime/transport/net.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "runtime/transport/net.h"

namespace mpc::transport {

struct LoopbackConfig {
  uint64_t seed = 0;     // 0: in the order of sending, at once
  int64_t delay_ns = 0;  // otherwise: at most this late
  size_t eager_bytes = 16 << 10;
  // True: messages under way count as outside work (scheduler/outside_work.h) for the check whether
  // all ranks rest. False: that check counts what is sent and received, as with a real network.
  bool is_outside_work = true;
  // The settings net.loopback_seed and net.loopback_delay_us.
  static LoopbackConfig from_settings() noexcept;
};

class Loopback {
 public:
  static std::unique_ptr<Loopback> make(int processes, const LoopbackConfig& config);
  virtual ~Loopback() = default;  // stops its thread; undelivered messages are dropped
  virtual Net& end_of(int process) noexcept = 0;
  // Starts one end per process, which exist until this is destroyed.
  // `prepare`: the thread calls it first, or null.
  // Errors: kSystem.
  virtual Result<> start(std::vector<Receiver*> receivers, void (*prepare)()) = 0;
};

}  // namespace mpc::transport
