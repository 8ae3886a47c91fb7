#include "nbc/engine/node_facts.h"

#include "runtime/job/job.h"
#include "runtime/message/background.h"

namespace mpc::nbc {

IntSetting local_work_setting{"nbc.local_work_bytes", 32 << 10, "bytes",
                              "Reductions and copies from this size on wait for a rank "
                              "that waits for them, instead of "
                              "running on whatever core completed the message before.",
                              0};

sched::ProgressData data_of(const Collective& c, bool is_user) noexcept {
  if (is_user) return {};
  return msg::place_of_data(*c.rank, *c.rank, c.received_bytes());
}

namespace {

// True on a progress thread of `rank`.
bool is_progress_thread_of(const job::Rank& rank) noexcept {
  return rank.progress != nullptr && rank.progress->is_running_here();
}

class NodeFacts {
 public:
  NodeFacts(const Collective& c, const Node& node, bool goes_up) noexcept
      : c_(c), node_(node), goes_up_(goes_up) {}

  template <Fact kFact>
  [[gnu::always_inline]] bool holds() const noexcept {
    if constexpr (kFact == kKeptForRank) return node_.where == Where::kApplication;
    if constexpr (kFact == kSend) return node_.kind == NodeKind::kSend;
    if constexpr (kFact == kReduction) return node_.kind == NodeKind::kReduce;
    if constexpr (kFact == kLocalWork)
      return node_.kind == NodeKind::kReduce || node_.kind == NodeKind::kCopy;
    if constexpr (kFact == kUserCode) return is_user_code(c_, node_);
    if constexpr (kFact == kAnyThread)
      return c_.binding.reduction.may_run_in_background;
    if constexpr (kFact == kGoesUp) return goes_up_;
    if constexpr (kFact == kBlocking) return c_.waiter != nullptr;
    if constexpr (kFact == kWaiterHere) return c_.waiter == &sched::Execution::self();
    if constexpr (kFact == kRankHere) return is_rank_here();
    if constexpr (kFact == kSomeRankHere) return is_some_rank_here();
    if constexpr (kFact == kOwnProgressHere) return is_progress_thread_of(*c_.rank);
    if constexpr (kFact == kLarge) return bytes() >= local_work_setting.get();
    if constexpr (kFact == kHasProgressThread) return c_.rank->progress != nullptr;
    if constexpr (kFact == kMayLeave)
      return msg::ShortCall::is_inside() || !is_rank_here() || !msg::waits_help();
    if constexpr (kFact == kDataHere)
      return sched::is_kept_here(bytes(), data_of(c_, is_user_code(c_, node_)));
  }

 private:
  // The caller is the rank itself, not its progress thread
  // or another rank that completes its message.
  bool is_rank_here() const noexcept {
    return job::current_rank() == c_.rank && !is_progress_thread_of(*c_.rank);
  }
  // The caller is on some rank's own core, in a call of that rank.
  bool is_some_rank_here() const noexcept {
    const job::Rank* rank = job::current_rank();
    return rank != nullptr && !is_progress_thread_of(*rank);
  }
  [[gnu::always_inline]] int64_t bytes() const noexcept {
    return node_.kind == NodeKind::kSend ? node_.from.count * c_.type(node_.from).size()
                                         : work_bytes(c_, node_);
  }

  const Collective& c_;
  const Node& node_;
  const bool goes_up_;
};

}  // namespace

Executor executor_of(const Collective& c, const Node& node, bool goes_up) noexcept {
  return choose_executor(NodeFacts(c, node, goes_up));
}

}  // namespace mpc::nbc
