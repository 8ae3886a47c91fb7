#include "mpi/spawn/ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "mpi.h"
#include "mpi/spawn/far_ports.h"
#include "mpi/spawn/port_name.h"
#include "runtime/job/job_number.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"
#include "runtime/message/message.h"
#include "scheduler/outside_work.h"

namespace mpc::mpi {
namespace {

namespace neighbours = job::neighbours;

// A rank that waits at a port. If it lives in this process it is on the stack of the waiting rank,
// otherwise in far_callers(). It stays in the port's queue until it is removed.
struct Caller {
  job::Rank* rank = nullptr;  // null: it lives in another process
  PortSide side = PortSide::kConnect;
  int slot = 0;          // the other process: the sender of the knock, or its receiver
  int name = 0;          // of a rank of another process
  uint64_t request = 0;  // number of the knock, known to both processes
  // Written before is_over, for a rank that waits here.
  int met =
      -1;  // the rank on the other side: its name, or its number if it is of this process
  uint64_t number = 0;        // under which both sides meet
  Word word = Word::kClosed;  // if it has met nobody: why
  std::atomic<bool> is_over{false};
};

// All callers are of one side: a rank of the other side removes one instead of joining.
struct Port {
  std::deque<Caller*> callers;
};

constinit Mutex g_lock;
// Never destroyed: ranks may still come while the process ends.
std::unordered_map<uint64_t, Port>& ports() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<uint64_t, Port>;
  return *all;
}
// Callers of other processes that wait at a port of this one.
std::vector<std::unique_ptr<Caller>>& far_callers() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::vector<std::unique_ptr<Caller>>;
  return *all;
}
// Callers of this process that have knocked at a port of another one, by request number.
std::unordered_map<uint64_t, Caller*>& knocks() MPC_REQUIRES(g_lock) {
  static auto* const all = new std::unordered_map<uint64_t, Caller*>;
  return *all;
}

Err no_port(const char* name, const std::string& why) {
  return fail(MPI_ERR_PORT, fmt::format("'{}' is no port that is open: {}",
                                        std::string(name, ::strnlen(name, 256)), why));
}

constexpr char kNotHere[] = "this process has none of that name";

class PortReason final : public sched::WaitReason {
 public:
  PortReason(PortSide side, const char* name) noexcept : side_(side), name_(name) {}
  std::string text() const override {
    return side_ == PortSide::kAccept
               ? fmt::format("MPI_Comm_accept: waits for MPI_Comm_connect at {}", name_)
               : fmt::format("MPI_Comm_connect: waits for MPI_Comm_accept at {}",
                             name_);
  }

 private:
  PortSide side_;
  const char* name_;
};

// Under the lock: the waiter returns once it has acquired that (leave()).
void end_wait(Caller& caller) MPC_REQUIRES(g_lock) {
  // release pairs with is_over().
  caller.is_over.store(true, std::memory_order_release);
  msg::notify(*caller.rank);
}

bool is_over(void* caller) noexcept {
  return static_cast<Caller*>(caller)->is_over.load(std::memory_order_acquire);
}

// Wakes up regularly to check the time: waits for messages have no deadline.
void wait_until(Caller& caller, uint64_t end_ns, const sched::WaitReason& why) {
  constexpr uint64_t kTurnNs = 1'000'000;
  sched::Execution& self = sched::Execution::self();
  for (uint64_t now; !is_over(&caller) && (now = sched::now_ns()) < end_ns;) {
    self.park_until(std::min(end_ns, now + kTurnNs), why);
    msg::progress(*caller.rank);
  }
}

void wait(Caller& caller, double most_seconds, const sched::WaitReason& why) {
  if (most_seconds > 0) {
    wait_until(caller, sched::now_ns() + static_cast<uint64_t>(most_seconds * 1e9),
               why);
  } else if (!is_over(&caller)) {
    msg::wait_until(*caller.rank, nullptr, 0, &is_over, &caller, why);
  }
}

void drop_far(const Caller& caller) MPC_REQUIRES(g_lock) {
  std::erase_if(far_callers(), [&](const auto& each) { return each.get() == &caller; });
}

// An answer to a rank of another process, which then waits at no port any more.
Addressed answer(const Caller& far, Word word, int name = 0, uint64_t number = 0) {
  return {far.slot, {word, false, name, far.request, number}};
}

int name_of(const Caller& caller) {
  return caller.rank != nullptr ? neighbours::name_of(caller.rank->world_rank)
                                : caller.name;
}

// Pairs two callers; the first one has been removed from its port. The connections' thread may be
// the caller, so nothing is connected here: a rank that has met one of another process does that
// itself, in outcome_of().
void match(Caller& first, Caller& second, Letters& letters) MPC_REQUIRES(g_lock) {
  const uint64_t number = job::new_number();
  for (Caller* const each : {&first, &second}) {
    const Caller& other = each == &first ? second : first;
    if (each->rank == nullptr) {
      letters.push_back(answer(*each, Word::kMet, name_of(other), number));
      continue;
    }
    each->met = other.rank != nullptr ? other.rank->world_rank : other.name;
    each->number = number;
  }
  // Last: a rank that is told may go on at once.
  for (Caller* const each : {&first, &second}) {
    if (each->rank != nullptr)
      end_wait(*each);
    else
      drop_far(*each);
  }
}

// Either finds a partner, or puts `mine` into the port's queue. False: there is no such port.
bool come(uint64_t port, Caller& mine, Letters& letters) MPC_REQUIRES(g_lock) {
  const auto found = ports().find(port);
  if (found == ports().end()) return false;
  std::deque<Caller*>& callers = found->second.callers;
  if (callers.empty() || callers.front()->side == mine.side) {
    callers.push_back(&mine);
    return true;
  }
  Caller& other = *callers.front();
  callers.pop_front();
  match(other, mine, letters);
  return true;
}

// After it no other thread can find `mine`. False: nobody has come.
bool leave(uint64_t port, Caller& mine) {
  const Locked lock(g_lock);
  if (is_over(&mine)) return true;
  std::erase(ports().find(port)->second.callers, &mine);
  return false;
}

Err nobody_came(const char* name, double most_seconds) {
  return fail(MPI_ERR_PORT,
              fmt::format("nobody has come to {} within {} s", name, most_seconds));
}

// If the partner is a rank of another job: connects to its process, and keeps the connection in use
// until there is a communicator. Errors: MPI_ERR_PORT.
Err count_on(const char* name, int met, Match* out) {
  out->job = job::job_number();
  out->other = neighbours::rank_of(met);
  const int slot = neighbours::slot_in(met);
  if (out->other < neighbours::kFirstNumber) return kSuccess;  // of this job
  const auto reached = msg::abroad::reach(slot, 0);
  out->slot = slot;
  if (reached) out->connection = msg::abroad::begin_use(slot);
  if (out->connection != 0) return kSuccess;
  return no_port(
      name, reached ? "the job on the other side has ended" : reached.error().message);
}

// The result for a caller whose wait is over.
Err outcome_of(const Caller& caller, const char* name, Match* out) {
  *out = {};
  if (caller.met >= 0) {
    out->other = caller.met;
    out->number = caller.number;
    return neighbours::is_name(caller.met) ? count_on(name, caller.met, out) : kSuccess;
  }
  if (caller.word == Word::kNoPort) return no_port(name, "its job has closed it");
  return fail(MPI_ERR_PORT,
              fmt::format("{} has been closed, or its job has ended", name));
}

// --- ports of this process ----------------------------------------------------------------------------

Err meet_here(job::Rank& self, const char* name, uint64_t port, PortSide side,
              double most_seconds, Match* out) {
  Caller mine;
  mine.rank = &self;
  mine.side = side;
  Letters letters;
  {
    const Locked lock(g_lock);
    if (!come(port, mine, letters)) return no_port(name, kNotHere);
  }
  send(letters);
  // A partner in another process may come at any time, and the deadlock check does not see it. Only
  // ranks of this job accept here, so a rank that connects needs this only if its job has other
  // processes.
  const bool is_for_others =
      msg::abroad::lobby() != nullptr &&
      (side == PortSide::kAccept || self.job->has_other_processes());
  if (is_for_others) sched::begin_outside_work();
  wait(mine, most_seconds, PortReason(side, name));
  if (is_for_others) sched::end_outside_work();
  if (!leave(port, mine)) return nobody_came(name, most_seconds);
  return outcome_of(mine, name, out);
}

// --- ports of other processes --------------------------------------------------------------------------

Err meet_far(job::Rank& self, const char* name, const PortName& port, PortSide side,
             double most_seconds, Match* out) {
  const bool is_of_this_job = port.job == job::job_number();
  if (side == PortSide::kAccept && !is_of_this_job)
    return no_port(name, "it is of another job, and only its own ranks accept there");
  if (port.slot == 0)
    return no_port(name, is_of_this_job
                             ? kNotHere
                             : "it is of another job, which is not open to others");
  const auto lobby = open_to_others(*self.job, wireup::text_of(port.place));
  if (!lobby) return no_port(name, lobby.error().message);
  if (!(*lobby)->place().is_same_lobby(port.place))
    return no_port(
        name,
        fmt::format("its job is known in another folder, or on another host, than "
                    "this one ({}), which has opened ports of its own, or is "
                    "connected: start both with the same mpi.port_folder, or let "
                    "one of them only connect",
                    (*lobby)->place().folder));
  if (const auto reached = msg::abroad::reach(port.slot, port.job); !reached)
    return no_port(name, reached.error().message);
  Caller mine;
  mine.rank = &self;
  mine.slot = port.slot;
  mine.request = job::new_number();
  {
    const Locked lock(g_lock);
    knocks()[mine.request] = &mine;
  }
  const PortReason why(side, name);
  sched::begin_outside_work();
  const auto write = [&](Word word) {
    send({{port.slot,
           {word, side == PortSide::kAccept, neighbours::name_of(self.world_rank),
            mine.request, port.port}}});
  };
  write(Word::kKnock);
  // The process may have ended before it got the knock; note_gone() is not called again for that.
  if (!msg::abroad::reach(port.slot, port.job)) note_gone(port.slot);
  wait(mine, most_seconds, why);
  if (!is_over(&mine)) {
    // The answer to this is final: the other job's thread answers at once, or the job has ended.
    write(Word::kLeave);
    wait(mine, 0, why);
  }
  {
    const Locked lock(g_lock);  // the thread that ended the wait is done with `mine`
  }
  sched::end_outside_work();
  if (mine.word == Word::kLeft && mine.met < 0) return nobody_came(name, most_seconds);
  const Err error = outcome_of(mine, name, out);
  out->job = port.job;
  return error;
}

}  // namespace

void take_letter(int slot, const Letter& letter) noexcept {
  Letters letters;
  {
    const Locked lock(g_lock);
    auto& far = far_callers();
    if (letter.word == Word::kKnock) {
      auto& fresh = *far.emplace_back(std::make_unique<Caller>());
      fresh.slot = slot;
      fresh.side = letter.accepts ? PortSide::kAccept : PortSide::kConnect;
      fresh.name = letter.rank;
      fresh.request = letter.request;
      if (!come(letter.number, fresh, letters)) {
        letters.push_back(answer(fresh, Word::kNoPort));
        drop_far(fresh);
      }
    } else if (letter.word == Word::kLeave) {
      const auto found = std::ranges::find_if(far, [&](const auto& each) {
        return each->slot == slot && each->request == letter.request;
      });
      if (found != far.end()) {  // otherwise it has been sent its result already
        for (auto& [number, port] : ports()) std::erase(port.callers, found->get());
        letters.push_back(answer(**found, Word::kLeft));
        far.erase(found);
      }
    } else if (const auto found = knocks().find(letter.request);
               found != knocks().end() && found->second->slot == slot) {
      Caller& mine = *found->second;
      knocks().erase(found);
      mine.word = letter.word;
      if (letter.word == Word::kMet) {
        mine.met = letter.rank;
        mine.number = letter.number;
      }
      end_wait(mine);
    }
  }
  send(letters);
}

void note_gone(int slot) noexcept {
  const Locked lock(g_lock);
  std::erase_if(far_callers(), [&](const auto& each) MPC_REQUIRES(g_lock) {
    if (each->slot != slot) return false;
    for (auto& [number, port] : ports()) std::erase(port.callers, each.get());
    return true;
  });
  std::erase_if(knocks(), [&](const auto& each) MPC_REQUIRES(g_lock) {
    if (each.second->slot != slot) return false;
    each.second->word = Word::kClosed;
    end_wait(*each.second);
    return true;
  });
}

std::string open_port(job::Rank& self) {
  PortName name{job::job_number(), job::new_number(), 0, {}};
  if (const wireup::Lobby* const lobby = lobby_of(*self.job)) {
    name.slot = lobby->slot();
    name.place = lobby->place();
  }
  const Locked lock(g_lock);
  ports().try_emplace(name.port);
  return text_of(name);
}

Err close_port(const char* text) {
  const auto name = read_port_name(text);
  if (!name || name->job != job::job_number()) return no_port(text, kNotHere);
  Letters letters;
  {
    const Locked lock(g_lock);
    const auto found = ports().find(name->port);
    if (found == ports().end()) return no_port(text, kNotHere);
    for (Caller* const caller : found->second.callers) {
      if (caller->rank != nullptr) {
        end_wait(*caller);
      } else {
        letters.push_back(answer(*caller, Word::kClosed));
        drop_far(*caller);
      }
    }
    ports().erase(found);
  }
  send(letters);
  return kSuccess;
}

Err meet_at_port(job::Rank& self, const char* text, PortSide side, double most_seconds,
                 Match* out) {
  const auto name = read_port_name(text);
  if (!name) return no_port(text, "it has not the form of one");
  const wireup::Lobby* const lobby = msg::abroad::lobby();
  const bool is_here =
      name->job == job::job_number() &&
      (name->slot == 0 || (lobby != nullptr && name->slot == lobby->slot()));
  return is_here ? meet_here(self, text, name->port, side, most_seconds, out)
                 : meet_far(self, text, *name, side, most_seconds, out);
}

}  // namespace mpc::mpi
