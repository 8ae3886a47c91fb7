#include "runtime/rma/lock_lines.h"

#include <deque>
#include <unordered_map>

#include "base/check.h"
#include "base/mutex.h"
#include "runtime/message/control.h"

namespace mpc::rma::lock_lines {

std::atomic<int> g_lines{0};

namespace {

// The locks that one execution has asked for and does not hold.
struct Line {
  int asked = 0;          // whose requests have been sent
  bool are_joins = true;  // all of them
  std::deque<Request> later = {};
  bool may_ask(LockType type) const noexcept {
    return asked == 0 || (are_joins && type == LockType::kJoin);
  }
  void note_asked(LockType type) noexcept {
    are_joins = (asked == 0 || are_joins) && type == LockType::kJoin;
    ++asked;
  }
};

// One for all ports, because the order of an execution's locks is that of all its windows.
struct Lines {
  Mutex lock;  // never held while the net is called
  std::unordered_map<const sched::Execution*, Line> of MPC_GUARDED_BY(lock);
};

Lines& all() {
  static Lines* const lines = new Lines;  // never freed: the net's threads use it
  return *lines;
}

bool is_in_line(const sched::Execution& line) {
  Lines& lines = all();
  const Locked lock(lines.lock);
  return lines.of.contains(&line);
}

}  // namespace

bool may_send(const Request& request, const sched::Execution& line) {
  Lines& lines = all();
  const Locked lock(lines.lock);
  const auto [found, is_new] = lines.of.try_emplace(&line);
  if (is_new) g_lines.fetch_add(1, std::memory_order_relaxed);
  Line& mine = found->second;
  if (!mine.later.empty() || !mine.may_ask(request.packet.lock)) {
    mine.later.push_back(request);
    return false;
  }
  mine.note_asked(request.packet.lock);
  return true;
}

void begin(LockType type, const sched::Execution& line) {
  Lines& lines = all();
  const Locked lock(lines.lock);
  const auto [found, is_new] = lines.of.try_emplace(&line);
  CHECK(is_new, "a lock is asked for before the last one is held");
  g_lines.fetch_add(1, std::memory_order_relaxed);
  found->second.note_asked(type);
}

std::vector<Request> end(const sched::Execution& line) {
  Lines& lines = all();
  std::vector<Request> next;
  const Locked lock(lines.lock);
  const auto found = lines.of.find(&line);
  CHECK(found != lines.of.end(), "a lock is granted that nobody has asked for");
  Line& its = found->second;
  --its.asked;
  while (!its.later.empty() && its.may_ask(its.later.front().packet.lock)) {
    its.note_asked(its.later.front().packet.lock);
    next.push_back(its.later.front());
    its.later.pop_front();
  }
  if (its.asked == 0) {
    lines.of.erase(found);
    g_lines.fetch_sub(1, std::memory_order_relaxed);
  }
  return next;
}

void wait(job::Rank& self, const sched::WaitReason& why) {
  msg::wait_for_control(
      self,
      [](void* line) {
        return !is_in_line(*static_cast<const sched::Execution*>(line));
      },
      &sched::Execution::self(), why);
}

}  // namespace mpc::rma::lock_lines
