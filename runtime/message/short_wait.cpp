#include "runtime/message/short_wait.h"

#include <sched.h>

namespace mpc::msg {

void ShortWait::once() noexcept {
  if (++turns_ < 1000) {
    __builtin_ia32_pause();
  } else {
    sched_yield();  // its core may be ours
  }
}

}  // namespace mpc::msg
