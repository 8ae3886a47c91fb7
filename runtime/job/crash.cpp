#include "runtime/job/crash.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/check.h"
#include "base/log.h"
#include "runtime/job/addr2line.h"
#include "runtime/job/backtrace.h"
#include "runtime/job/console.h"
#include "runtime/job/endable_job.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/guarded.h"
#include "runtime/job/hooks.h"
#include "runtime/job/losses.h"
#include "runtime/job/overflow.h"
#include "runtime/job/raw_signal.h"
#include "runtime/job/report.h"
#include "runtime/job/report_text.h"

// The whole report, for whoever reads a core file.
extern "C" char mpc_crash_report[32 * 1024];
char mpc_crash_report[32 * 1024];

namespace mpc::job::crash {
namespace {

// The unwinder and fmt need about 20 KiB.
constexpr size_t kSignalStackBytes = 64 << 10;
constexpr unsigned kFlushMs = 2000, kLookMs = 200, kTraceMs = 30'000, kOtherEndS = 30,
                   kGraceMs = 5'000;
constexpr int kMaxHooks = 4;

EndableJob* g_job = nullptr;
constinit FaultHook g_hooks[kMaxHooks]{};
constinit int g_hook_count = 0;
constinit TimerOwner g_timer_owner = nullptr;

// These end a process without a handler although its code has no fault. Real-time signals, too.
constexpr int kPlainSignals[] = {SIGUSR1,   SIGUSR2, SIGPIPE, SIGALRM,
                                 SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ};

constinit std::atomic<bool> g_reporting{false};
constinit std::atomic<pid_t> g_reporter{0};  // the kernel thread that writes the report
constinit std::atomic<const sched::Execution*> g_reporter_execution{nullptr};
constinit ReportText g_text(mpc_crash_report, sizeof mpc_crash_report - 1);
size_t g_written = 0;  // of g_text

void write_out() noexcept {
  while (g_written < g_text.view().size()) {
    const long n = ::syscall(SYS_write, STDERR_FILENO, g_text.view().data() + g_written,
                             g_text.view().size() - g_written);
    if (n <= 0) return;
    g_written += static_cast<size_t>(n);
  }
}

bool is_of_memory(int signal) { return signal == SIGSEGV || signal == SIGBUS; }

bool is_rank(EndableJob& job, const void* identity) {
  const RankRange local = job.local_ranks();
  for (int r = local.first; r < local.end; ++r)
    if (&job.rank(r) == identity) return true;
  return false;
}

// The execution that crashed. A rank may have overwritten its thread_locals,
// which lie at the top of its stack, or may act for no rank: then its stack
// identifies it. Null: a thread of the runtime.
const sched::Execution* who_runs(EndableJob& job, const void* sp) {
  const sched::Execution* self = nullptr;
  guarded(kLookMs, [&] {
    const sched::Execution& current = sched::Execution::self();
    if (is_rank(job, current.identity())) self = &current;
  });
  const RankRange local = job.local_ranks();
  for (int r = local.first; self == nullptr && r < local.end; ++r) {
    sched::Execution* execution = job.rank(r).execution;
    if (execution == nullptr) continue;
    const auto stack = execution->stack();
    if (sp < stack.low || sp >= stack.low + stack.bytes) continue;
    // In a call of the network it acts for no rank (runtime/transport/shielded_net.h).
    if (execution->identity() == nullptr) execution->set_identity(&job.rank(r));
    self = execution;
  }
  return self;
}

const void* stack_pointer_of(void* context) {
  return reinterpret_cast<const void*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
}

// "mpcrun: rank 1 of 2 (./prog) on core 0 died of signal 11 (Segmentation fault)".
void add_who(const sched::Execution* self, int signal, const char* nobody) {
  g_text.add(FMT_STRING("{}mpcrun: "), console::is_line_open() ? "\n" : "");
  if (self == nullptr) {
    g_text.add(FMT_STRING("{}"), nobody);
  } else {
    const auto* rank = static_cast<const Rank*>(self->identity());
    g_text.add(FMT_STRING("rank {} of {} ({})"), rank->world_rank, rank->world_size,
               rank->job->program(rank->app_index).c_str());
    if (self->is_ult())
      g_text.add(FMT_STRING(" on core {}"), self->core());
    else
      g_text.add(FMT_STRING(", in a thread that it started,"));
  }
  const char* name = ::sigdescr_np(signal);
  g_text.add(FMT_STRING(" died of signal {} ({})"), signal,
             name != nullptr ? name : "a real-time signal");
}

void add_why(const sched::Execution& self, int signal, const siginfo_t& info,
             const void* sp) {
  // Sent by kill() or raise(): there is no address.
  const bool is_fault = is_of_memory(signal) && info.si_code > 0;
  if (is_fault)
    g_text.add(FMT_STRING(" at address {}"), static_cast<const void*>(info.si_addr));
  bool overflows = false;
  if (is_fault)
    guarded(kLookMs, [&] { overflows = is_stack_overflow(self, info.si_addr, sp); });
  if (overflows) {
    g_text.add(FMT_STRING(", a stack overflow"));
    const size_t bytes = self.stack().bytes;
    if (bytes != 0) g_text.add(FMT_STRING(" of a stack of {} KiB"), bytes >> 10);
    g_text.add(FMT_STRING("{}"),
               bytes != 0
                   ? " (mpcrun --stack-size or `ulimit -s` gives ranks a larger stack)"
                   : " (`ulimit -s`, OMP_STACKSIZE or pthread_attr_setstacksize give "
                     "threads a larger stack; mpcrun --stack-size is for their ranks)");
  }
  if (const char* call = self.call()) g_text.add(FMT_STRING(", inside {}"), call);
  for (int i = 0; is_fault && !overflows && i < g_hook_count; ++i) {
    const size_t before = g_text.view().size();
    if (!guarded(kLookMs, [&] { g_hooks[i](info.si_addr, g_text); }))
      g_text.cut(before);
  }
}

// Waits if another thread is ending the process already, and says why. Not if it is this thread.
void wait_for_other_end(const EndableJob& job, int status) {
  if (job.ends_here()) return;
  const timespec limit{kOtherEndS, 0};
  ::nanosleep(&limit, nullptr);
  ::_exit(status);
}

bool wants_core_file() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 0;
}

// When the handler returns the signal comes once more, to the original place: a
// debugger that reads the core file sees the place itself and not the report.
void die_with_core_file(int signal, const siginfo_t& info, void* context) {
  raw::set_default(signal);
  raw::block(signal);
  ::sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  raw::send_again(signal, info);
}

void add_frames(int signal, const siginfo_t& info, void* context) {
  alignas(Backtrace) static char memory[sizeof(Backtrace)];
  auto* trace = new (memory) Backtrace(
      signal, is_of_memory(signal) && info.si_code > 0 ? info.si_addr : nullptr,
      context);
  trace->write_to(g_text);
  if (trace->is_in_heap())
    g_text.add(
        FMT_STRING("  The heap is damaged, or was given a wrong address. Ranks share "
                   "one process: any of "
                   "them may have\n  written where it must not. -fsanitize=address or "
                   "valgrind finds it: "
                   "docs/mpcrun.md.\n"));
}

// The target of a signal.
struct Victim {
  const sched::Execution* execution;  // null: `nobody`
  const char* nobody;
  bool is_here;  // the signal interrupted it: there are frames to show
};

Victim victim_of_fault(int, const siginfo_t&, void* context) {
  return {who_runs(*g_job, stack_pointer_of(context)), "a thread of the runtime", true};
}

const Rank* owner_of_timer(int signal, const siginfo_t& info) {
  return info.si_code == SI_KERNEL && g_timer_owner != nullptr ? g_timer_owner(signal)
                                                               : nullptr;
}

Victim victim_of_plain(int signal, const siginfo_t& info, void* context) {
  if (const Rank* owner = owner_of_timer(signal, info); owner != nullptr)
    return {owner->execution, "a rank", false};
  const bool is_own =
      info.si_code == SI_TKILL || info.si_code == SI_USER || info.si_code == SI_QUEUE;
  if (is_own && info.si_pid != ::getpid())
    return {nullptr, "the job", false};  // sent from outside
  // For SIGPIPE and SIGXFSZ the kernel signals the thread that
  // writes, and names its own process as sender.
  if (info.si_code == SI_TKILL || signal == SIGPIPE || signal == SIGXFSZ)
    return {who_runs(*g_job, stack_pointer_of(context)), "a rank", true};
  return {nullptr, "a rank", false};
}

void report(int signal, const siginfo_t& info, void* context,
            Victim (*find)(int, const siginfo_t&, void*)) {
  EndableJob& job = *g_job;
  if (!job.claim_end()) wait_for_other_end(job, kExitSignal + signal);
  const void* const sp = stack_pointer_of(context);
  const Victim victim = find(signal, info, context);
  const sched::Execution* const self = victim.execution;
  g_reporter_execution.store(self, std::memory_order_relaxed);
  // What the ranks have written, or are about to write, comes before the report.
  guarded(kGraceMs, [&] { job.let_others_go_on(); });
  guarded(kFlushMs, [&] { hooks::run_job_end(job); });
  add_who(self, signal, victim.nobody);
  if (self != nullptr) add_why(*self, signal, info, sp);
  if (losses::are_survived())
    g_text.add(FMT_STRING("; all ranks of its process end\n"));
  else
    g_text.add(FMT_STRING("; the job is ended\n"));
  write_out();
  if (victim.is_here) add_frames(signal, info, context);
  write_out();
  guarded(kTraceMs, [&] { job.last_words(); });
}

void report_and_end(int signal, const siginfo_t& info, void* context,
                    Victim (*find)(int, const siginfo_t&, void*)) {
  leave_guarded();
  const int status = kExitSignal + signal;
  if (g_reporting.exchange(true, std::memory_order_relaxed)) {
    // The report itself has crashed, or meanwhile a second thread has.
    if (g_reporter.load(std::memory_order_relaxed) != ::gettid())
      for (;;) ::pause();
    g_text.add(FMT_STRING("; a report could not be made\n"));
    write_out();
    ::_exit(status);
  }
  g_reporter.store(::gettid(), std::memory_order_relaxed);
  report(signal, info, context, find);
  const bool has_core_file = find != &victim_of_plain;
  if (!has_core_file || !wants_core_file()) ::_exit(status);
  die_with_core_file(signal, info, context);
}

void handle(int signal, siginfo_t* info, void* context) {
  if (console::is_forked_child()) return die_with_core_file(signal, *info, context);
  report_and_end(signal, *info, context, &victim_of_fault);
}

// The reader of mpcrun's own output has exited (mpcrun ... | head): there is nobody to tell.
bool has_lost_its_reader() {
  pollfd output = {STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void handle_plain(int signal, siginfo_t* info, void* context) {
  if (console::is_forked_child() || (signal == SIGPIPE && has_lost_its_reader()))
    return die_with_core_file(signal, *info, context);
  // An alarm ends the process in the name of the rank that has set it.
  const Rank* owner = owner_of_timer(signal, *info);
  if (owner != nullptr && owner->phase.load(std::memory_order_relaxed) >= kEnded)
    return;
  report_and_end(signal, *info, context, &victim_of_plain);
}

size_t describe_rank(char* buffer, size_t size) {
  const Rank* rank = current_rank();
  if (rank == nullptr) return 0;
  const auto end = fmt::format_to_n(buffer, size, "rank {}", rank->world_rank);
  return std::min(size, end.size);
}

unsigned long describe_for_check(char* buffer, unsigned long size) {
  const sched::Execution& self = sched::Execution::self();
  const auto* rank = static_cast<const Rank*>(self.identity());
  const auto end =
      fmt::format_to_n(buffer, size, "mpc: on core {}, rank {}, call {}\n", self.core(),
                       rank == nullptr ? -1 : rank->world_rank,
                       self.call() == nullptr ? "none" : self.call());
  return std::min<unsigned long>(size, end.size);
}

void* make_signal_stack() {
  void* memory = ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;  // then only the shell reports a stack overflow
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kSignalStackBytes};
  ::sigaltstack(&stack, nullptr);
  return memory;
}

}  // namespace

bool is_reporting() noexcept { return g_reporting.load(std::memory_order_relaxed); }

void at_fault(FaultHook hook) noexcept {
  CHECK(g_hook_count < kMaxHooks, "too many hooks: raise kMaxHooks");
  g_hooks[g_hook_count++] = hook;
}

void set_timer_owner(TimerOwner owner) noexcept { g_timer_owner = owner; }

bool is_reporting_thread() noexcept {
  return is_reporting() && g_reporter.load(std::memory_order_relaxed) == ::gettid();
}
const sched::Execution* reporter() noexcept {
  return g_reporter_execution.load(std::memory_order_relaxed);
}

void prepare_kernel_thread() { make_signal_stack(); }

SignalStack::SignalStack() noexcept : memory_(make_signal_stack()) {}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t present{};
  ::sigaltstack(nullptr, &present);
  if (present.ss_sp == memory_) {  // otherwise the thread has set one of its own
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
  }
  ::munmap(memory_, kSignalStackBytes);
}

void install(EndableJob& job) {
  g_job = &job;
  set_check_reporter(&describe_for_check);
  log::set_prefix_source(&describe_rank);
  prepare_kernel_thread();
  addr2line::find_program();
  void* warm_up[1];
  ::backtrace(warm_up, 1);  // loads libgcc's unwinder now, not in the handler
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    ::sigaction(signal, &action, nullptr);
  }
  action.sa_sigaction = handle_plain;
  const auto install_plain = [&](int signal) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  };
  for (const int signal : kPlainSignals) install_plain(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) install_plain(signal);
}

}  // namespace mpc::job::crash
