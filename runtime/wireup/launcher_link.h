#pragma once
// LauncherLink: the process's end of its connection with the
// launcher, which decides about the job's end.
//
// Role:      sends reports, passes orders on. The other end is the launcher, or process 0, which
//            replaces it (runtime/wireup/steward.h).
// Users:     runtime/wireup (several, guest).
// Threads:   tell() any, also signal handlers; a thread of its own waits for orders.
// See also:  runtime/wireup/record.h.

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>

#include "base/result.h"
#include "runtime/wireup/record.h"

namespace mpc::wireup {

class LauncherLink {
 public:
  using Handler = std::function<void(Order order, int number)>;
  // The other end. If the launcher dies the process ends; without process 0 it ends as
  // when ordered to, within seconds.
  enum class Other { kLauncher, kProcess0 };

  explicit LauncherLink(int socket, Other other = Other::kLauncher) noexcept
      : socket_(socket), other_(other) {}
  // Never stopped: it lives as long as the process. Errors: kSystem.
  Result<> start();
  void tell(Report kind, int status, std::string_view text) noexcept;
  void set_handler(Handler handler);
  // See Wireup::on_loss(), Wireup::arrive_at().
  void set_loss_handler(std::function<void(int process)> handler);
  void arrive_at(Gate gate, std::function<void()> passed);
  // See Wireup::hold_end().
  std::unique_lock<std::mutex> hold_end() { return std::unique_lock(end_); }

  // Everything has been reported, and the process would end with this status. Waits for
  // Order::kLeave; returns the job's status. Only for Other::kProcess0.
  int part(int status) noexcept;
  // The same for the thread that receives orders: the process ends when kLeave comes.
  void part_later(int status) noexcept;

 private:
  static void* listen(void* self);
  void obey(Order order, int number);
  void lose(int process);
  void pass(int gate);
  void leave(int status);
  void lose_other();

  const int socket_;
  const Other other_;
  std::mutex end_;  // held while the process must not end by an order
  std::mutex mutex_;
  Handler handler_;
  std::function<void(int process)> on_loss_;
  std::array<std::function<void()>, kGates> passed_;
  std::condition_variable left_;
  bool has_left_ = false;  // kLeave has come
  int job_status_ = 0;
  bool ends_when_left_ = false;  // only for the listening thread
};

}  // namespace mpc::wireup
