// quick_receive() while somebody hears of matches: mpcrun --profile, --trace.
#include "base/traffic.h"
#include "runtime/message/quick_receive.h"
#include "runtime/message/quick_receiving.h"

namespace mpc::msg {

bool receive_if_watched(Mailbox& mine, const RecvArgs& args, Status* status) noexcept {
  if (!traffic::is_watched() || quick::is_wanted_by_others<true>(mine) ||
      mine.attention.load(std::memory_order_relaxed))
    return false;
  return quick::receive<true>(mine, args, status);
}

}  // namespace mpc::msg
