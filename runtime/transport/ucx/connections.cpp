// Establishes all connections at once, and ends them by force:
// for jobs that continue when a process has died.
//
//   greet (0) -> all others have greeted -> flush -> greet (1) -> all have -> flush -> done
//
// UCX establishes a connection by messages of its own, and asserts if the connection fails while
// the answer to one of them still waits in a queue. A greeting establishes the connection; an
// arriving greeting means that the other side has done so; the flush means that no answer waits
// here. What the first round has brought on other connections is answered before the second one
// ends. A process that waits polls until all others have finished (the launcher says when), so none
// exits before all have sent everything.
#include <utility>

#include "runtime/transport/ucx/ucx_net.h"

namespace mpc::transport::ucx {

void UcxNet::make_connections(Completion& completion) noexcept {
  leave(*new Greet(completion));
}

void UcxNet::lose(int peer) noexcept { leave(*new Loss(peer)); }

void UcxNet::greet_all(uint64_t round) noexcept {
  greeting_.round = round;
  for (int peer = 0; peer < config_.processes; ++peer)
    if (peer != config_.process) send_note(peer, HeadKind::kGreeting, round);
  is_poll_due_ = true;
}

// Within progress(): its caller has both locks, which the analysis does not see.
void UcxNet::take_greeting(const Head& head) noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  if (head.number < kRounds) ++greeting_.come[head.number];
}

// Called from progress(), or from flush_peers().
void UcxNet::flushed() noexcept MPC_NO_THREAD_SAFETY_ANALYSIS {
  greeting_.is_flushing = false;
  is_poll_due_ = true;
}

Completion* UcxNet::advance_greeting() noexcept {
  if (greeting_.is_flushing) return nullptr;
  if (!greeting_.is_flushed) {
    if (greeting_.come[greeting_.round] < config_.processes - 1) return nullptr;
    greeting_.is_flushed = true;
    greeting_.is_flushing = true;
    ucp_->flush_peers();
    if (greeting_.is_flushing) return nullptr;
  }
  greeting_.is_flushed = false;
  if (greeting_.round + 1 == kRounds) return std::exchange(greeting_.waiting, nullptr);
  greet_all(greeting_.round + 1);
  return nullptr;
}

}  // namespace mpc::transport::ucx
