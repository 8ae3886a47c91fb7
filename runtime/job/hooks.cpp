#include "runtime/job/hooks.h"

namespace mpc::job {
namespace {

constexpr int kMaxHooks = 16;

template <class Hook>
struct Table {
  Hook entries[kMaxHooks];
  int count;
  void add(Hook hook) {
    CHECK(count < kMaxHooks, "too many hooks: raise kMaxHooks");
    entries[count++] = hook;
  }
};

constinit Table<Job::RankHook> g_start{};
constinit Table<Job::RankHook> g_end{};
constinit Table<Job::RankHook> g_failure{};
constinit Table<void (*)(Job&)> g_job_end{};

}  // namespace

void Job::at_rank_start(RankHook hook) { g_start.add(hook); }
void Job::at_rank_end(RankHook hook) { g_end.add(hook); }
void Job::at_rank_failure(RankHook hook) { g_failure.add(hook); }
void Job::at_job_end(void (*hook)(Job&)) { g_job_end.add(hook); }

namespace hooks {

void run_rank_start(Rank& rank) {
  for (int i = 0; i < g_start.count; ++i) g_start.entries[i](rank);
}
void run_rank_end(Rank& rank) {
  for (int i = g_end.count - 1; i >= 0; --i) g_end.entries[i](rank);
}
void run_rank_failure(Rank& rank) {
  for (int i = 0; i < g_failure.count; ++i) g_failure.entries[i](rank);
}
void run_job_end(Job& job) {
  for (int i = 0; i < g_job_end.count; ++i) g_job_end.entries[i](job);
}

}  // namespace hooks
}  // namespace mpc::job
