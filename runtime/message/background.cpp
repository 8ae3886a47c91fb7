#include "runtime/message/background.h"

#include "base/settings.h"
#include "runtime/job/job.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"

namespace mpc::msg {

void leave(job::Rank& self) {
  Mailbox& mine = mailbox_of(self);
  if (mine.may_be_polling() && self.execution == &sched::Execution::self())
    mine.delegate();
}

namespace {

BoolSetting help_setting{
    "progress.help", true,
    "Ranks that wait do the background work themselves that no core has "
    "begun; 0: communication cores do all of it, as the model has it"};

}  // namespace

thread_local constinit bool ShortCall::t_inside = false;

void call_waiting(job::Rank& rank) noexcept {
  if (!waits_help() || !rank.progress->is_napping() || rank.execution == nullptr)
    return;
  if (rank.execution->is_quickly_woken()) notify(rank);
}

sched::ProgressData place_of_data(const job::Rank& a, const job::Rank& b,
                                  int64_t bytes) noexcept {
  const int here = sched::Execution::self().core();
  const auto is_here = [here](const job::Rank& rank) {
    if (rank.job == nullptr) return false;  // in a unit test
    job::Job& job = *rank.job;
    return job.scheduler()->core_of_worker(job.worker_of(rank.world_rank)) == here;
  };
  // Where ranks do not help, communication cores do everything, as the model assumes.
  return {here >= 0 && waits_help() && is_here(a) && is_here(b), bytes};
}

bool waits_help() noexcept { return help_setting.get(); }

bool take_back_from(sched::ProgressThread& progress, Operation& op) noexcept {
  sched::ProgressItem* const item = op.in_background.item;
  if (!waits_help() || !progress.take(item)) return false;
  // The item was taken: it is ours to run, and its memory belongs to an incomplete operation.
  item->run(*item);
  return true;
}

bool do_own_progress(job::Rank& self) noexcept {
  if (!waits_help()) return false;
  sched::ProgressItem* const item = self.progress->take_any();
  if (item == nullptr) return false;
  item->run(*item);
  return true;
}

}  // namespace mpc::msg
