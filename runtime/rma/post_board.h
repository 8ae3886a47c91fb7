#pragma once
// PostBoard: which members have opened their memory for this one (MPI_Win_post).
//
// Role:      one bit a member, set by who posts, taken by the member that starts an access epoch.
// Users:     runtime/rma.
// Threads:   post() any member; the rest the board's own member, one execution at a time.
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
  // True: the post was there, and is used up. Order: acquire.
  bool take(int target);
  // Until it is there. Switches: yes.
  void wait_and_take(int target, job::Rank& self, const sched::WaitReason& why);

 private:
  std::atomic<uint64_t>& word_of(int target);
  bool is_posted(int target);

  const int members_;
  // Made at the first use: most windows are used in another way.
  std::atomic<std::atomic<uint64_t>*> words_{nullptr};
  std::atomic<int> awaited_{-1};  // the only one whose post wakes anybody
  msg::Sleeper sleeper_;
};

}  // namespace mpc::rma
