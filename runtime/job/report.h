#pragma once
// Report: what every rank is doing, one line per group of ranks in the same state.
//
// Role:      the deadlock report and the table of Ctrl-\.
// Users:     runtime/job; runtime/message (JobWatch) gathers the rows of several processes.
// Threads:   a kernel thread of ours.
// See also:  runtime/job/state_table.h; scheduler/execution.h (WaitReason).

#include <functional>
#include <string>

#include "runtime/job/job.h"
#include "runtime/job/state_table.h"

namespace mpc::job {

// The rows of these ranks, which live in this process.
StateTable state_rows(Job& job, RankRange ranks);

// The text that is printed for a deadlock.
std::string deadlock_report(const std::string& table);

// The place where the table of all processes is gathered.
class TableSource {
 public:
  using Use = std::function<void(const std::string& table)>;
  // Calls `use` soon, a second later at the latest, on another thread.
  // Caller: any that holds no lock that `use` acquires.
  virtual void gather(Use use) = 0;

 protected:
  ~TableSource() = default;
};
// Null: this process knows only its own ranks. When it returns
// the previous source is not called any more.
void set_table_source(TableSource* source);

// Passes the table of all ranks to `use` as soon as it exists: at
// once on this thread, if all ranks are in this process.
void give_table(Job& job, TableSource::Use use);
// The same, and waits for it. Caller: not a thread that creates or gathers tables.
std::string table_of(Job& job);

}  // namespace mpc::job
