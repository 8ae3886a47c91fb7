#pragma once
// LauncherLink: the process's end of its connection with the launcher.
//
// Role:      sends reports, hands orders on. When the launcher is gone the process ends.
// Users:     runtime/wireup/several.cpp.
// Threads:   tell() any, signal handlers too; a thread of its own waits for orders.
// See also:  runtime/wireup/record.h.

#include <functional>
#include <mutex>
#include <string_view>

#include "base/result.h"
#include "runtime/wireup/record.h"

namespace mpc::wireup {

class LauncherLink {
 public:
  using Handler = std::function<void(Order)>;

  explicit LauncherLink(int socket) noexcept : socket_(socket) {}
  // Never stopped: it lives as long as the process. Errors: kSystem.
  Result<> start();
  void tell(Report kind, int status, std::string_view text) noexcept;
  void set_handler(Handler handler);
  // See Wireup::hold_end().
  std::unique_lock<std::mutex> hold_end() { return std::unique_lock(end_); }

 private:
  static void* listen(void* self);
  void obey(Order order);

  const int socket_;
  std::mutex end_;  // held while the process must not end by an order
  std::mutex mutex_;
  Handler handler_;
};

}  // namespace mpc::wireup
