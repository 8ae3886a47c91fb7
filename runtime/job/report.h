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

// Of these ranks, which live in this process.
StateTable state_rows(Job& job, RankRange ranks);

// What is printed of a deadlock.
std::string deadlock_report(const std::string& table);

// Where the table of all processes is gathered.
class TableSource {
 public:
  using Use = std::function<void(const std::string& table)>;
  // Calls `use` soon, a second later at the latest, on another thread. Caller: any, without locks
  // that `use` takes.
  virtual void gather(Use use) = 0;

 protected:
  ~TableSource() = default;
};
// Null: this process knows its own ranks only. When it returns the former one is not called any more.
void set_table_source(TableSource* source);

// The table of all ranks, as soon as it is there: at once on this thread, where all are of this process.
void give_table(Job& job, TableSource::Use use);
// The same, and waits for it. Caller: not a thread that makes or gathers tables.
std::string table_of(Job& job);

}  // namespace mpc::job
