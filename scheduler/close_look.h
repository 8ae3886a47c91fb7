#pragma once
// CloseLook: an execution that waits for one message polls one source by itself, for as long as this object lives.
//
// Role:      stands for the looker of an active wait (SpinBudget), without its budget and its turns: meanwhile no
//            computing rank is interrupted, no other rank polls eagerly, no source is removed.
// Users:     runtime/message/quick_remote.
// Threads:   one execution, that neither parks nor switches meanwhile.
// See also:  scheduler/poll/poller.h, docs/design/0020-polling.md.

namespace mpc::sched {

class Poller;
class Worker;

class CloseLook {
 public:
  // Begins, unless may_look_closely() is false, another rank polls eagerly, or the caller comes from within a poll.
  CloseLook() noexcept;
  ~CloseLook() {
    if (poller_ != nullptr) end();
  }
  CloseLook(const CloseLook&) = delete;

  bool has_begun() const noexcept { return poller_ != nullptr; }
  // The caller has polled. has_found: the source had anything.
  void note_poll(bool has_found) noexcept {
    ++polls_;
    has_found_ = has_found_ || has_found;
  }

 private:
  void end() noexcept;

  Poller* poller_ = nullptr;  // null: it has not begun
  Worker* worker_;            // null: a kernel thread
  int polls_ = 0;
  bool has_found_ = false;
};

}  // namespace mpc::sched
