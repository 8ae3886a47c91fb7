#include "mpi/objects/net_exchange.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/job/losses.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/control.h"

namespace mpc::mpi {
namespace {

Bytes encode(const MeetingKey& key, std::span<const Bytes> parts,
             bool is_for_other_jobs) {
  ByteWriter out(is_for_other_jobs);
  put_key(out, key);
  out.put(parts.size());
  for (const Bytes& part : parts) out.put_all(std::span<const std::byte>(part));
  return out.take();
}

std::vector<Bytes> get_parts(ByteReader& in) {
  std::vector<Bytes> parts;
  for (auto n = in.get<size_t>(); n > 0 && !in.has_failed(); --n)
    parts.push_back(in.get_all<std::byte>());
  CHECK(in.is_at_end() && !in.has_failed(),
        "another process tells no parts of a meeting");
  return parts;
}

// A process holds the first `held` parts. Calls `visit(distance, parts)` for each process from
// which it receives next, with the number of parts. Backwards, the same distances lead to the
// processes to which it sends as many of its own parts.
template <class Visit>
bool for_each_next(size_t held, size_t processes, Visit&& visit) {
  for (size_t j = 1; j < NetExchange::kFanOut && j * held < processes; ++j)
    if (!visit(j * held, std::min(held, processes - j * held))) return false;
  return true;
}

}  // namespace

void NetExchange::allgather(const MeetingKey& key, std::span<const int> processes,
                            int index, Bytes mine, Deliver deliver) {
  const auto at = static_cast<size_t>(index);
  DCHECK(processes[at] == process_, "a process meets in the name of another one");
  Steps steps;
  {
    const Locked lock(lock_);
    const auto entry = gatherings_.try_emplace(key).first;
    Gathering& gathering = entry->second;
    CHECK(gathering.ring.empty(), "a process has come twice to the same meeting");
    gathering.ring.assign(processes.begin(), processes.end());
    std::rotate(gathering.ring.begin(), gathering.ring.begin() + index,
                gathering.ring.end());
    gathering.index = at;
    gathering.parts.resize(processes.size());
    gathering.parts[0] = std::move(mine);
    gathering.held = 1;
    gathering.deliver = std::move(deliver);
    // Either the loss was marked before this check, or lose() finds this meeting.
    if (std::ranges::any_of(processes, [&](int process) {
          return job::losses::is_lost(process) && waits_for(gathering, process);
        })) [[unlikely]]
      steps.deliver = give_up(entry);
    else
      steps = advance(entry);
  }
  carry_out(std::move(steps));
}

void NetExchange::arrive(int from, std::span<const std::byte> message) {
  ByteReader in(message);
  const MeetingKey key = get_key(in);
  Parts parts = get_parts(in);
  Steps steps;
  {
    const Locked lock(lock_);
    const auto entry = gatherings_.try_emplace(key).first;
    entry->second.told[from].push_back(std::move(parts));
    if (!entry->second.ring.empty()) steps = advance(entry);
  }
  carry_out(std::move(steps));
}

void NetExchange::lose(int process) {
  std::vector<Deliver> given_up;
  {
    const Locked lock(lock_);
    for (auto entry = gatherings_.begin(); entry != gatherings_.end();) {
      const auto current = entry++;
      if (waits_for(current->second, process)) given_up.push_back(give_up(current));
    }
  }
  for (const Deliver& deliver : given_up) deliver({});
}

// A process of another job that has ended regularly has returned from the meetings in which it was:
// it has sent its part, and others may still send theirs.
bool NetExchange::waits_for(const Gathering& g, int process) {
  const auto at = std::ranges::find(g.ring, process);
  if (at == g.ring.end()) return false;
  if (!job::neighbours::is_far_process(process)) return true;
  if (g.told.contains(process)) return false;
  const auto distance = static_cast<size_t>(at - g.ring.begin());
  for (size_t held = g.held; held <= distance; held *= kFanOut)
    if (distance % held == 0 && distance / held < kFanOut) return true;
  return false;
}

// Parts that others still send stay here: no meeting uses this key again, because one of its
// processes is dead.
Exchange::Deliver NetExchange::give_up(Gatherings::iterator entry) {
  Deliver deliver = std::move(entry->second.deliver);
  gatherings_.erase(entry);
  return deliver;
}

NetExchange::Steps NetExchange::advance(Gatherings::iterator entry) {
  Gathering& g = entry->second;
  const size_t n = g.ring.size();
  Steps steps;
  while (g.held < n) {
    if (!std::exchange(g.has_told, true)) {
      for_each_next(g.held, n, [&](size_t distance, size_t count) {
        steps.messages.push_back(
            {g.ring[n - distance], encode(entry->first, {g.parts.data(), count},
                                          job::neighbours::is_far_process(process_))});
        return true;
      });
    }
    const bool all_have_told = for_each_next(g.held, n, [&](size_t distance, size_t) {
      return g.told.contains(g.ring[distance]);
    });
    if (!all_have_told) return steps;
    for_each_next(g.held, n, [&](size_t distance, size_t count) {
      const auto told = g.told.find(g.ring[distance]);
      CHECK(told->second.front().size() == count,
            "the processes of a meeting do not agree on who takes part");
      std::ranges::move(told->second.front(),
                        g.parts.begin() + static_cast<long>(distance));
      told->second.pop_front();
      if (told->second.empty()) g.told.erase(told);
      return true;
    });
    g.held = std::min(n, g.held * kFanOut);
    g.has_told = false;
  }
  end(entry, steps);
  return steps;
}

// All parts are there. The key is free for the next meeting, for which parts of others may be here
// already.
void NetExchange::end(Gatherings::iterator entry, Steps& steps) {
  Gathering& g = entry->second;
  steps.deliver = std::move(g.deliver);
  steps.parts = std::move(g.parts);
  std::rotate(steps.parts.begin(), steps.parts.end() - static_cast<long>(g.index),
              steps.parts.end());
  if (g.told.empty()) {
    gatherings_.erase(entry);
  } else {
    auto ahead = std::move(g.told);
    g = {};
    g.told = std::move(ahead);
  }
}

// Sends to the others first: once the meeting is over here, this process may end.
void NetExchange::carry_out(Steps steps) const {
  for (const auto& [to, bytes] : steps.messages)
    msg::send_control(process_, to, msg::ControlChannel::kMeeting, bytes);
  if (steps.deliver) steps.deliver(std::move(steps.parts));
}

}  // namespace mpc::mpi
