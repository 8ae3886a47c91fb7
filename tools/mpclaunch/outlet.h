#pragma once
// Outlet: what the processes of a host print, on its way to the head of the job.
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
  // For the processes to write to. Close them when all are started.
  int output() const noexcept { return inner_[0]; }
  int error() const noexcept { return inner_[1] >= 0 ? inner_[1] : inner_[0]; }
  void close_inner();
  // The head has taken so much.
  void taken(size_t bytes);
  // Passes on what is there. True: all of it.
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
  // Less than what the head's kernel keeps: a head that is stopped (Ctrl-Z) shall not look like one
  // that is gone, for whom the kernel finds no room for seconds.
  static constexpr size_t kRoomBytes = 48 << 10;
};

}  // namespace mpc::launch
