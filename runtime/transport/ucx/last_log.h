#pragma once
// LastLog: the last line that UCX wanted to print.
//
// Role:      becomes a part of our own report of what failed.
// Users:     runtime/transport/ucx/ucp_worker.cpp.
// Threads:   any, UCX's own thread included.

#include <cstdio>
#include <string>

#include "base/spin_lock.h"

namespace mpc::transport::ucx {

class LastLog {
 public:
  static constexpr size_t kMostBytes = 240;
  void keep(const char* text) noexcept {
    const Locked locked(lock_);
    std::snprintf(text_, sizeof text_, "%s", text);
  }
  // Empty if there was none since the last call.
  std::string take() {
    char copy[kMostBytes];
    {
      const Locked locked(lock_);
      std::snprintf(copy, sizeof copy, "%s", text_);
      text_[0] = '\0';
    }
    return copy;
  }

 private:
  SpinLock<> lock_;
  char text_[kMostBytes] MPC_GUARDED_BY(lock_) = "";
};

// UCX has one log, and so have all modules of a process.
inline LastLog& last_log() noexcept {
  static constinit LastLog log;
  return log;
}

}  // namespace mpc::transport::ucx
