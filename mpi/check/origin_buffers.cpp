#include "mpi/check/origin_buffers.h"

#include <utility>

namespace mpc::mpi::checked {

OriginBuffers::OriginBuffers(Win& win, int target, std::vector<BufferUse> uses)
    : win_(win), target_(target) {
  if (target == MPI_PROC_NULL) return;
  watched_ = std::make_shared<Watched>();
  watched_->site = this_call();
  watched_->uses = std::move(uses);
  begin(*watched_);
}

Err OriginBuffers::end(Err error, Request** request) {
  constexpr size_t kMost =
      100000;  // open ones of a window and target; more are not watched
  if (watched_ == nullptr) return error;
  Watch& watch = Watch::here();
  const auto forget = [&] { watch.buffers.end(watched_.get(), false); };
  if (error) {
    forget();
    return error;
  }
  {
    const std::lock_guard lock(watch.mutex);
    auto& open = watch.one_sided[&win_][target_];
    if (open.size() < kMost)
      open.push_back(watched_);
    else
      forget();
  }
  if (request != nullptr) attach(*request, watched_);
  return kSuccess;
}

void end_operations(const Win& win, int target) {
  Watch& watch = Watch::here();
  std::vector<WatchedRef> over;
  {
    const std::lock_guard lock(watch.mutex);
    const auto of_window = watch.one_sided.find(&win);
    if (of_window == watch.one_sided.end()) return;
    auto& by_target = of_window->second;
    if (target == kAllTargets) {
      for (auto& [rank, open] : by_target)
        over.insert(over.end(), open.begin(), open.end());
      watch.one_sided.erase(of_window);
    } else if (const auto found = by_target.find(target); found != by_target.end()) {
      over = std::move(found->second);
      by_target.erase(found);
    }
  }
  // Ending those whose requests are complete, and which are no longer in use, has no effect.
  for (const WatchedRef& one : over) watch.buffers.end(one.get(), true);
}

}  // namespace mpc::mpi::checked
