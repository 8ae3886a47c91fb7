#pragma once
// Loop: one thread that waits for many files.
//
// Role:      calls who watches a file when there is something to read there, or room to write.
// Users:     tools/mpclaunch.
// Threads:   one; post() any.
// See also:  poll(2).

#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace mpc::launch {

class Loop {
 public:
  using Call = std::function<void()>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;

  // As long as there is something to read, or the other end is gone. May be called again although
  // there is nothing: the file does not block. Ownership: the descriptor stays the caller's.
  void watch(int fd, Call readable);
  // The same, but after all others of a turn.
  void watch_last(int fd, Call readable);
  // As long as there is room. Null: not any more. Caller: it is watched.
  void want_room(int fd, Call writable);
  // Before it is closed.
  void forget(int fd);
  // To be called in one of the next turns. Caller: any thread.
  void post(Call call);
  // Waits for something at most so long (-1: without end), and calls.
  void turn(int timeout_ms);

 private:
  struct Watch {
    Call readable, writable;
  };
  void take_posted();

  std::map<int, Watch> watched_;
  int last_ = -1;
  int wake_ = -1;  // eventfd
  std::mutex mutex_;
  std::vector<Call> posted_;
};

}  // namespace mpc::launch
