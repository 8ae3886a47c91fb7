#include "runtime/job/hooks.h"

namespace mpc::job {
namespace {

constexpr int kSlots = static_cast<int>(HookOrder::kCount);

template <class Argument, class Returned = void>
struct Table {
  using Hook = Returned (*)(Argument&);
  Hook slots[kSlots];
  void add(HookOrder who, Hook hook) {
    Hook& slot = slots[static_cast<int>(who)];
    CHECK(slot == nullptr, "a hook is registered twice");
    slot = hook;
  }
  void run(Argument& argument) const {
    for (int i = 0; i < kSlots; ++i)
      if (slots[i] != nullptr) slots[i](argument);
  }
  void run_backwards(Argument& argument) const {
    for (int i = kSlots - 1; i >= 0; --i)
      if (slots[i] != nullptr) slots[i](argument);
  }
};

constinit Table<Job, Result<>> g_wireup{};
constinit Table<Job, Result<>> g_job_start{};
constinit Table<Rank> g_start{};
constinit Table<Rank> g_end{};
constinit Table<Rank> g_failure{};
constinit Table<Job> g_job_over{};
constinit Table<Job> g_job_end{};

}  // namespace

void Job::at_wireup(HookOrder who, Result<> (*hook)(Job&)) { g_wireup.add(who, hook); }
void Job::at_job_start(HookOrder who, Result<> (*hook)(Job&)) {
  g_job_start.add(who, hook);
}
void Job::at_rank_start(HookOrder who, RankHook hook) { g_start.add(who, hook); }
void Job::at_rank_end(HookOrder who, RankHook hook) { g_end.add(who, hook); }
void Job::at_rank_failure(HookOrder who, RankHook hook) { g_failure.add(who, hook); }
void Job::at_job_over(HookOrder who, void (*hook)(Job&)) { g_job_over.add(who, hook); }
void Job::at_job_end(HookOrder who, void (*hook)(Job&)) { g_job_end.add(who, hook); }

namespace hooks {

namespace {
Result<> run_all(const Table<Job, Result<>>& table, Job& job) {
  for (const auto hook : table.slots)
    if (hook != nullptr) MPC_TRY(hook(job));
  return {};
}
}  // namespace

Result<> run_wireup(Job& job) { return run_all(g_wireup, job); }
Result<> run_job_start(Job& job) { return run_all(g_job_start, job); }
void run_rank_start(Rank& rank) { g_start.run(rank); }
void run_rank_end(Rank& rank) { g_end.run_backwards(rank); }
void run_rank_failure(Rank& rank) { g_failure.run(rank); }
void run_job_over(Job& job) { g_job_over.run(job); }
void run_job_end(Job& job) { g_job_end.run(job); }

}  // namespace hooks
}  // namespace mpc::job
