#include "mpi/spawn/ports.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <unordered_map>

#include "base/mutex.h"
#include "mpi.h"
#include "runtime/message/message.h"

namespace mpc::mpi {
namespace {

// On the stack of who waits. It stands in its port until somebody takes it out.
struct Caller {
  job::Rank* rank;
  Side side;
  Match match;                       // before is_over
  std::atomic<bool> is_over{false};  // with match.other < 0: the port has been closed
};

// Callers of one side: who finds one of the other side takes it out instead.
struct Port {
  std::deque<Caller*> callers;
};

constinit Mutex g_lock;
// Never destroyed: ranks may still come while the process ends.
std::unordered_map<uint64_t, Port>& ports() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<uint64_t, Port>;
  return *all;
}

Err no_port(const char* name) {
  return fail(
      MPI_ERR_PORT,
      fmt::format("'{}' is no port that is open in this process of the job (jobs "
                  "that were started apart cannot connect)",
                  std::string(name, ::strnlen(name, MPI_MAX_PORT_NAME))));
}

// False: not of this job.
bool read_name(const char* name, uint64_t* number) noexcept {
  unsigned long long job = 0, port = 0;
  int end = 0;
  if (std::sscanf(name, "mpc:%16llx:%16llx%n", &job, &port, &end) != 2) return false;
  *number = port;
  return name[end] == '\0' && job == job_number();
}

class PortReason final : public sched::WaitReason {
 public:
  PortReason(Side side, const char* name) noexcept : side_(side), name_(name) {}
  std::string text() const override {
    return side_ == Side::kAccept
               ? fmt::format("MPI_Comm_accept: waits for MPI_Comm_connect at {}", name_)
               : fmt::format("MPI_Comm_connect: waits for MPI_Comm_accept at {}",
                             name_);
  }

 private:
  Side side_;
  const char* name_;
};

// Under the lock: the other one leaves when it has got that.
void end_wait(Caller& caller, Match match) MPC_REQUIRES(g_lock) {
  caller.match = match;
  // release pairs with is_over().
  caller.is_over.store(true, std::memory_order_release);
  msg::notify(*caller.rank);
}

bool is_over(void* caller) noexcept {
  return static_cast<Caller*>(caller)->is_over.load(std::memory_order_acquire);
}

// The time is looked at now and then: a rank's waits for messages have none.
void wait_until(Caller& caller, uint64_t end_ns, const sched::WaitReason& why) {
  constexpr uint64_t kTurnNs = 1'000'000;
  sched::Execution& self = sched::Execution::self();
  for (uint64_t now; !is_over(&caller) && (now = sched::now_ns()) < end_ns;) {
    self.park_until(std::min(end_ns, now + kTurnNs), why);
    msg::progress(*caller.rank);
  }
}

// Either a match, or `mine` stands in the port.
Err come(uint64_t port, const char* name, Caller& mine) {
  const Locked lock(g_lock);
  const auto found = ports().find(port);
  if (found == ports().end()) return no_port(name);
  std::deque<Caller*>& callers = found->second.callers;
  if (callers.empty() || callers.front()->side == mine.side) {
    callers.push_back(&mine);
    return kSuccess;
  }
  Caller& other = *callers.front();
  callers.pop_front();
  const uint64_t number = new_number();
  mine.match = {other.rank->world_rank, number};
  mine.is_over.store(true, std::memory_order_relaxed);  // the caller's own
  end_wait(other, {mine.rank->world_rank, number});
  return kSuccess;
}

// Whatever happens after it, nobody has `mine`. False: nobody had come.
bool leave(uint64_t port, Caller& mine) {
  const Locked lock(g_lock);
  if (is_over(&mine)) return true;
  std::erase(ports().find(port)->second.callers, &mine);
  return false;
}

}  // namespace

uint64_t job_number() noexcept {
  static const uint64_t number = [] {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
      random = sched::now_ns() ^ static_cast<uint64_t>(::getpid()) << 40;
    return random;
  }();
  return number;
}

uint64_t new_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // a number only
}

std::string open_port() {
  const uint64_t number = new_number();
  const Locked lock(g_lock);
  ports().try_emplace(number);
  return fmt::format("mpc:{:x}:{:x}", job_number(), number);
}

Err close_port(const char* name) {
  uint64_t number = 0;
  if (!read_name(name, &number)) return no_port(name);
  const Locked lock(g_lock);
  const auto found = ports().find(number);
  if (found == ports().end()) return no_port(name);
  for (Caller* const caller : found->second.callers) end_wait(*caller, {});
  ports().erase(found);
  return kSuccess;
}

Err meet_at_port(job::Rank& self, const char* name, Side side, double most_seconds,
                 Match* out) {
  uint64_t port = 0;
  if (!read_name(name, &port)) return no_port(name);
  Caller mine{&self, side, {}};
  MPC_MPI_TRY(come(port, name, mine));
  const PortReason why(side, name);
  if (most_seconds > 0) {
    wait_until(mine, sched::now_ns() + static_cast<uint64_t>(most_seconds * 1e9), why);
  } else if (!is_over(&mine)) {
    msg::wait_until(self, nullptr, 0, &is_over, &mine, why);
  }
  if (!leave(port, mine))
    return fail(MPI_ERR_PORT,
                fmt::format("nobody has come to {} within {} s", name, most_seconds));
  if (mine.match.other < 0)
    return fail(MPI_ERR_PORT, fmt::format("{} has been closed", name));
  *out = mine.match;
  return kSuccess;
}

}  // namespace mpc::mpi
