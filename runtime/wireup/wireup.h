#pragma once
// Wireup: the processes of a job: their number, which one this is, and the exchange between them.
//
// Role:      what must be known before a network can be opened: each process puts what the others
//            need (its address, its ranks), all exchange, each reads. Later it tells the launcher
//            how the job ends, and is told. Deals with processes, never with ranks.
// Users:     runtime/job; the code that opens a network (runtime/message).
// Threads:   the process's main thread, unless a function says otherwise.
// See also:  docs/cluster.md; runtime/wireup/modex.h, runtime/wireup/record.h.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/wireup/modex.h"
#include "runtime/wireup/record.h"

namespace mpc::wireup {

class Wireup {
 public:
  // The user's wishes, except those that only the launcher needs.
  struct Terms {
    int processes = 1;                                // -p; 1: as many as there are
    double timeout_seconds = 0;                       // 0: none
    void (*say)(std::string_view message) = nullptr;  // prints a report, on any thread
  };
  // Chosen by the environment: our launcher's, another one's with PMIx, or alone. Removes its
  // variables from the environment: ranks and their children must not take them for theirs.
  // Caller: once, before any thread exists or program is loaded. Errors: kSystem, kUnsupported,
  // kArg; without a text if the launcher or another process prints it.
  static Result<std::unique_ptr<Wireup>> connect(const Terms& terms);

  virtual ~Wireup() = default;
  virtual int index() const noexcept = 0;
  virtual int size() const noexcept = 0;
  bool is_alone() const noexcept { return size() == 1; }
  // The index among the processes of this host that may run on the same cores.
  virtual int local_index() const noexcept = 0;
  virtual int local_size() const noexcept = 0;
  // The network interfaces of this host that lead to the others, "eth0,eth1"; empty: not known.
  virtual std::string interfaces() const { return {}; }
  // The number of ranks of each process; empty: as equal as possible. The same in all processes.
  virtual std::vector<int> ranks_of_processes() const { return {}; }

  // Publishes a value that all others may get() after the exchange. Errors: kSystem.
  virtual Result<> put(std::string_view key, const Bytes& bytes) = 0;
  // Waits until all have called this. Only before ranks run: a thread that waits here makes no
  // progress for a network. Errors: kSystem.
  virtual Result<> exchange() = 0;
  // Errors: kSystem, also if there is no such key.
  virtual Result<Bytes> get(int process, std::string_view key) = 0;
  // Waits until all have called this, as often, while other threads of the process keep the network moving. A
  // failure is also an end: then the launcher ends the job.
  virtual void leave() noexcept = 0;
  // Does the job continue when a process dies? Then, and only then, there are gates and losses.
  virtual bool goes_on() const noexcept { return false; }
  // NOLINTBEGIN(performance-unnecessary-value-param): those that override them keep what they are given
  // This process has arrived there. passed() is called when all living processes have: on the
  // thread that calls the handler of orders. Caller: any, each gate once.
  virtual void arrive_at(Gate, std::function<void()> passed) { passed(); }
  // Called on the same thread for each process that has died. Caller: before the first gate.
  virtual void on_loss(std::function<void(int process)>) {}
  // NOLINTEND(performance-unnecessary-value-param)
  // Says that this process ends because its work is done. Called
  // before the process ends with status 0.
  virtual void finalize() noexcept = 0;

  // Reports to the launcher, or to process 0 in its place; no effect in a process alone.
  // Caller: any, also signal handlers.
  virtual void tell(Report kind, int status, std::string_view text) noexcept = 0;
  // Does another process print reports and decide about the status?
  virtual bool has_launcher() const noexcept = 0;
  // Receives the launcher's orders. Until there is a handler the end of the job ends the process,
  // and questions are not answered. Called on a thread of its own. Caller: any; null: none.
  using Handler = std::function<void(Order order, int number)>;  // RecordHead::status
  virtual void on_order(Handler handler) = 0;
  // Nothing is left to report: ends the process, with this status if no other is known, when the
  // handler has returned at the latest. Caller: the handler.
  virtual void end_by_order(int status) noexcept;
  // Everything has been written, and the process would end with this status. Waits until the
  // others have got as far (20 s at most) if the first end is the end of all; returns the status to
  // end with.
  virtual int end_together(int status) noexcept { return status; }
  // Prints once what all ranks of the job do. False: there is no process to ask for it.
  virtual bool ask_tables() noexcept { return false; }
  // While it is held, and there is no handler yet, an order to end waits: a library that is
  // just being opened may have files that it is about to remove.
  // Caller: the main thread, for a short time.
  virtual std::unique_lock<std::mutex> hold_end() = 0;
  // The job's lock for long texts; -1: none. See runtime/job/console.h.
  virtual int console_memory() const noexcept = 0;
};

}  // namespace mpc::wireup
