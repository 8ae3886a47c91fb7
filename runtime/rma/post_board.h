#pragma once
// PostBoard: which members have opened their memory for this one (MPI_Win_post).
//
// Role:      one bit per member, set by the member that posts, cleared
//            by the one that starts an access epoch.
// Users:     runtime/rma.
// Threads:   post() any member; the others the board's own member, one execution at a time.
// See also:  docs/design/0026-windows.md, "Post and start"; MPI-4.1 section 12.5.2.

#include <atomic>
#include <cstdint>

#include "runtime/job/rank.h"
#include "runtime/message/sleeper.h"
#include "scheduler/execution.h"

namespace mpc::rma {

class PostBoard {
 public:
  explicit PostBoard(int members) noexcept : members_(members) {}
  ~PostBoard();
  PostBoard(const PostBoard&) = delete;

  // Order: release, pairs with take(): the origin sees what the target wrote before. Switches: no.
  void post(int target);
  // True: there was a post, which is consumed. Order: acquire.
  bool take(int target);
  // There is one. Caller: any of the member's executions. Order: seq_cst.
  bool is_posted(int target);
  // Waits until there is a post. Switches: yes.
  void wait_and_take(int target, job::Rank& self, const sched::WaitReason& why);

 private:
  std::atomic<uint64_t>& word_of(int target);

  const int members_;
  // Created at the first use: most windows are used in another way.
  std::atomic<std::atomic<uint64_t>*> words_{nullptr};
  std::atomic<int> awaited_{-1};  // the only member whose post wakes an execution
  msg::Sleeper sleeper_;
};

}  // namespace mpc::rma
