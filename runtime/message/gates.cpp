// Gates: where all living processes meet, in a job that continues
// when one of them dies: see losses.h.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "runtime/job/job.h"
#include "runtime/message/control.h"
#include "runtime/message/losses.h"
#include "runtime/message/message.h"
#include "runtime/message/process_net.h"
#include "runtime/wireup/wireup.h"
#include "scheduler/execution.h"

namespace mpc::msg {
namespace {

class GateReason final : public sched::WaitReason {
 public:
  explicit GateReason(const char* what) : what_(what) {}
  std::string text() const override {
    return fmt::format("{}: waits for the other processes that live", what_);
  }
  // A message of the launcher ends it, which may be that a process has died.
  bool can_end_by_itself() const override { return true; }

 private:
  const char* what_;
};

bool is_set(void* flag) {
  // Acquire pairs with the release of the thread that sets it.
  return static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_acquire);
}

struct Connected : transport::Completion {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): it has no other field
  explicit Connected(job::Rank& waiting) : Completion{&are_made}, rank(waiting) {}
  static void are_made(Completion& self, transport::Outcome) noexcept {
    auto& connected = static_cast<Connected&>(self);
    job::Rank& rank = connected.rank;
    // It may be destroyed after this. Release pairs with is_set().
    connected.is_done.store(true, std::memory_order_release);
    notify(rank);
  }
  job::Rank& rank;
  std::atomic<bool> is_done{false};
};

// UCX fails in an assertion of its own if a process dies while a connection to it is being set up.
// So all connections are set up while a death still ends the job.
void make_connections(job::Rank& self, const char* what) {
  Connected connected(self);
  take_left_by(
      [](int process) noexcept { return process_net()->takes_what_is_left(process); });
  close_lost_by([](int process) noexcept { process_net()->lose(process); });
  process_net()->make_connections(connected);
  wait_until(self, nullptr, 0, &is_set, &connected.is_done, GateReason(what));
}

// Where the ranks of this process meet: the last one arrives for the process.
struct GateHere {
  std::mutex mutex;
  int arrived = 0;  // under the mutex
  // Likewise. Shared: the launcher's message arrives on another thread.
  std::shared_ptr<std::atomic<bool>> is_open;
};
GateHere g_gates[wireup::kGates];

}  // namespace

void pass_gate(job::Rank& self, Gate gate, const char* what) {
  GateHere& here = g_gates[static_cast<size_t>(gate)];
  const job::RankRange ranks = self.job->local_ranks();
  begin_to_serve();
  bool is_last = false;
  std::shared_ptr<std::atomic<bool>> is_open;
  {
    const std::lock_guard lock(here.mutex);
    if (here.arrived == 0) here.is_open = std::make_shared<std::atomic<bool>>(false);
    is_open = here.is_open;
    is_last = ++here.arrived == ranks.end - ranks.first;
    if (is_last) here.arrived = 0;  // MPI_Finalize may come for the second time
  }
  if (is_last) {
    if (gate == Gate::kInit) make_connections(self, what);
    self.job->wireup()->arrive_at(gate, [is_open, job = self.job, ranks] {
      is_open->store(true, std::memory_order_release);  // pairs with is_set()
      for (int r = ranks.first; r < ranks.end; ++r) notify(job->rank(r));
    });
  }
  wait_until(self, nullptr, 0, &is_set, is_open.get(), GateReason(what));
  end_to_serve();
}

}  // namespace mpc::msg
