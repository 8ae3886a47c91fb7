#pragma once
// SignalThread: Ctrl-C, SIGTERM, Ctrl-\ and the job's time limit, on a kernel thread of its own.
//
// Role:      ends the job in order at the first signal, at once at the second, and when a rank
//            wants it ended; prints the table of a live job at SIGQUIT.
// Users:     runtime/job/node_job.cpp.
// Threads:   its own.
// See also:  docs/mpcrun.md.

#include <pthread.h>

#include <atomic>
#include <string>

namespace mpc::job {

class EndableJob;

class SignalThread {
 public:
  // Blocks the signals that the SignalThread handles, in the calling thread and in all threads
  // that it starts from then on. Caller: before any other thread exists.
  static void block_in_this_thread();

  // timeout_seconds: the job is ended with kExitTimeout after that time; 0: never.
  SignalThread(EndableJob& job, double timeout_seconds);
  ~SignalThread();
  // The end of the job was requested: the thread calls EndableJob::finish().
  // Caller: any, also a signal handler.
  void finish_job() noexcept;
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void serve();
  void unblock();
  void drop_pending();
  bool is_ended_by_launcher() const;
  [[noreturn]] void finish();
  // `signal`: it ends the job; ranks that have a handler run it. 0: something else does.
  [[noreturn]] void end_job(int status, const std::string& message, int signal);

  EndableJob& job_;
  double timeout_seconds_;
  pthread_t thread_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> is_to_finish_{false};
};

}  // namespace mpc::job
