#pragma once
// Loop: one thread that waits for many files.
//
// Role:      calls the watcher of a file when there is something to read there, or room to write.
// Users:     tools/mpclaunch.
// Threads:   one; post() any.
// See also:  poll(2).

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace mpc::launch {

class Loop {
 public:
  using Call = std::function<void()>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;

  // Calls `readable` while there is something to read, or if the other end is closed. It may be
  // called although there is nothing, so the file must not block. Ownership: the caller keeps the
  // descriptor.
  void watch(int fd, Call readable);
  // The same, but after all others of a turn.
  void watch_last(int fd, Call readable);
  // Calls `writable` while there is room; null: no longer. Needs: the file is watched.
  void want_room(int fd, Call writable);
  // Nothing happens at this file until then; 0: no rest.
  void rest(int fd, Deadline until_ns);
  // Caller: before it closes the file.
  void forget(int fd);
  // `call` is called in one of the next turns. Caller: any thread.
  void post(Call call);
  // Waits for events for at most `timeout_ms` (-1: no limit), and makes the calls.
  void turn(int timeout_ms);

 private:
  struct Watch {
    Call readable, writable;
    Deadline rests_until_ns = 0;
  };
  void take_posted();

  std::map<int, Watch> watched_;
  int last_ = -1;
  int wake_ = -1;  // eventfd
  std::mutex mutex_;
  std::vector<Call> posted_;
};

}  // namespace mpc::launch
