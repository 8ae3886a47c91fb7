#pragma once
// Rest: the protocol by which the processes of a job find out whether it is deadlocked.
//
// Role:      a pure state machine, with no thread, clock or network. A process that finds itself at
//            rest tells what it has sent and received. If all rest, and what was sent has been
//            received, all are asked once more; if nothing has happened in any of them, all rest
//            for good.
// Users:     runtime/message/job_watch; the model test runs it in all orders.
// Threads:   one at a time.
// See also:  docs/design/0025-deadlock-of-processes.md (why it is never wrong); Mattern, "Algorithms for
//            distributed termination detection" (Distributed Computing 2, 1987), the four counters.
//
//   teller of each process                       collector of process 0
//   at rest: tell(rest, last question)  ------>  take(): all rest, sums equal: a question
//   ask(question)                       <------
//   at rest: tell(the same, question)   ------>  take(): the same of all: deadlock

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mpc::msg {

// A process at rest: each of its ranks waits for others, or has ended.
struct Rest {
  uint64_t epoch = 0;  // the same at two times: nothing has happened between them
  uint32_t sent = 0, received = 0;  // Traffic, read before the process was seen at rest
  bool has_ended = false;           // all its ranks have ended
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means what the compiler generates
  friend auto operator<=>(const Rest&, const Rest&) = default;
};

class RestTeller {
 public:
  void ask(uint32_t question) noexcept { asked_ = question; }
  bool owes_answer() const noexcept { return asked_ != answered_; }
  // The process has been seen at rest since the last ask(). Returns the number to tell this with
  // (0: no question); nothing: it is known already.
  std::optional<uint32_t> tell(const Rest& rest) noexcept {
    if (told_ == rest && !owes_answer()) return {};
    told_ = rest;
    answered_ = asked_;
    return asked_;
  }
  friend auto operator<=>(const RestTeller&, const RestTeller&) = default;

 private:
  std::optional<Rest> told_;
  uint32_t asked_ = 0, answered_ = 0;
};

// Reports of one process arrive in the order in which it made them.
class RestCollector {
 public:
  enum class Verdict {
    kNothing,  // further reports will come
    kAsk,      // ask all processes question()
    kDeadlock  // nothing can ever happen again
  };

  explicit RestCollector(int processes) : seen_(static_cast<size_t>(processes)) {}
  uint32_t question() const noexcept { return question_; }

  // `answers`: the number that the process reported with.
  Verdict take(int process, const Rest& rest, uint32_t answers) noexcept {
    Seen& seen = seen_[static_cast<size_t>(process)];
    if (seen.rest == rest) return confirm(seen, answers);
    seen.rest = rest;
    is_asking_ = false;
    if (!may_be_over()) return Verdict::kNothing;
    for (Seen& each : seen_) each.has_confirmed = false;
    confirmed_ = 0;
    is_asking_ = true;
    ++question_;
    return Verdict::kAsk;
  }
  friend auto operator<=>(const RestCollector&, const RestCollector&) = default;

 private:
  struct Seen {
    std::optional<Rest> rest;
    bool has_confirmed = false;
    // NOLINTNEXTLINE(modernize-use-nullptr): as above
    friend auto operator<=>(const Seen&, const Seen&) = default;
  };

  Verdict confirm(Seen& seen, uint32_t answers) noexcept {
    if (!is_asking_ || answers != question_ || seen.has_confirmed)
      return Verdict::kNothing;
    seen.has_confirmed = true;
    if (++confirmed_ < seen_.size()) return Verdict::kNothing;
    is_asking_ = false;
    return Verdict::kDeadlock;
  }
  // All rest, or did in their last report; nothing is under way; and some rank waits.
  bool may_be_over() const noexcept {
    uint32_t under_way = 0;
    bool is_anybody_left = false;
    for (const Seen& each : seen_) {
      if (!each.rest) return false;
      under_way += each.rest->sent - each.rest->received;
      is_anybody_left = is_anybody_left || !each.rest->has_ended;
    }
    return under_way == 0 && is_anybody_left;
  }

  std::vector<Seen> seen_;
  uint32_t question_ = 0;
  size_t confirmed_ = 0;
  bool is_asking_ = false;
};

}  // namespace mpc::msg
