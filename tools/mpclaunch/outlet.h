#pragma once
// Outlet: the output of the processes of a host, on its way to the head of the job.
//
// Role:      pipes for standard output and error; reads them as long as the head has room.
// Users:     tools/mpclaunch/daemon.h.
// Threads:   that of the loop.
// See also:  tools/mpclaunch/output.h, the head's end.

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "tools/mpclaunch/loop.h"

namespace mpc::launch {

class Outlet {
 public:
  using Pass = std::function<void(int fd, std::string_view text)>;

  Outlet(Loop& loop, Pass pass) : loop_(loop), pass_(std::move(pass)) {}
  ~Outlet();
  Outlet(const Outlet&) = delete;

  // `is_one`: both are one pipe, which keeps their order. Errors: kSystem.
  Result<> open(bool is_one);
  // The ends to which the processes write. Close them when all are started.
  int output() const noexcept { return inner_[0]; }
  int error() const noexcept { return inner_[1] >= 0 ? inner_[1] : inner_[0]; }
  void close_inner();
  // The head has received so many bytes.
  void taken(size_t bytes);
  // Passes on what is there. True: everything was passed on.
  bool drain();

 private:
  enum class State { kEmpty, kFull };
  State read(int which);
  void watch();

  Loop& loop_;
  const Pass pass_;
  int inner_[2] = {-1, -1}, outer_[2] = {-1, -1};  // [1]: unused if both are one
  size_t room_bytes_ = 0;

 public:
  // Less than the head's kernel buffers. So a head that is stopped (Ctrl-Z) does not look like one
  // that is lost, for which the kernel has had no room for seconds.
  static constexpr size_t kRoomBytes = 48 << 10;
};

}  // namespace mpc::launch
