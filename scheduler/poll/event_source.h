#pragma once
// EventSource: something outside the job's memory that has news now and then, such as a network.
//
// Role:      any thread without better work polls it; where none does, its descriptor wakes a
//            thread that sleeps. It is no task: an idle job with a source is still idle.
// Users:     implemented by nets of several processes (runtime/transport/net_module.h).
// Threads:   see each function.
// See also:  docs/design/0019-virtual-processes.md.

namespace mpc::sched {

class EventSource {
 public:
  virtual ~EventSource() = default;

  // Checks once for news and does what follows from it (messages are matched, ranks unparked).
  // Never waits: if another thread is polling, it returns at once. True: something has happened.
  // Caller: any thread or execution that holds no lock. Switches: no.
  virtual bool poll() noexcept = 0;

  // Becomes readable when there is news after arm() has returned true. Stays the same.
  virtual int descriptor() const noexcept = 0;

  // True: everything that comes from now on makes the descriptor readable.
  // False: there is news already; poll again. Polling ends the arming. May
  // be called again, and by several threads. Caller: as poll().
  virtual bool arm() noexcept = 0;
};

}  // namespace mpc::sched
