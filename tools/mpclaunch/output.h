#pragma once
// Output: the output of processes of other hosts, on its way to mpcrun's standard output and error.
//
// Role:      keeps their lines whole, and writes them on a thread of its own, so that a slow reader
//            (less) holds up neither signals nor the other end of a connection.
// Users:     tools/mpclaunch/head.h.
// Threads:   that of the loop; the writer is inside.
// See also:  runtime/job/console.h, tools/mpclaunch/outlet.h (the daemon's end).

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

class Output {
 public:
  // A host's text was written: there is room for so many more bytes. Called on the loop's thread.
  using Taken = std::function<void(int host, size_t bytes)>;
  // Text was lost for the first time. Called on the loop's thread.
  using Lost = std::function<void(int fd, int error)>;

  Output(Loop& loop, Taken taken, Lost lost);
  ~Output();
  Output(const Output&) = delete;

  void take(int host, int fd, std::string_view text);
  // Nothing more comes from this host: the rest is written although it is not a whole line.
  void end_of(int host);
  // Everything that can be written has been written.
  bool is_drained();

 private:
  struct Piece {
    int host = 0, fd = 0;
    size_t taken_bytes = 0;  // there is room for as many again when it is written
    std::string text;
  };
  void put(int host, int fd, std::string text, size_t taken_bytes);
  void write();

  Loop& loop_;
  const Taken taken_;
  const Lost lost_;
  std::map<std::pair<int, int>, std::string> begun_;  // lines, by host and descriptor
  bool has_thread_ = false;
  pthread_t thread_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;  // guarded by mutex_; the first one is being written
  bool is_over_ = false;      // guarded by mutex_
};

}  // namespace mpc::launch
