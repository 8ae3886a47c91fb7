#include "runtime/job/crash.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "base/log.h"
#include "runtime/job/job.h"
#include "runtime/job/launch.h"
#include "runtime/loader/image.h"

namespace mpc::job::crash {
namespace {

constexpr size_t kSignalStackBytes = 64 << 10;  // the unwinder and fmt need about 20 KiB
constexpr int kMaxFrames = 32;
constexpr unsigned kReportSeconds = 5;  // the report may meet a lock that the crash left held

// "main+0x2c (./prog+0x11f4)"; the second pair is what addr2line wants.
std::string symbol_of(const void* address) {
  const loader::AddressInfo info = loader::describe_address(address);
  if (info.path == nullptr) return fmt::format("{}", address);
  std::string place = fmt::format("{}+{:#x}", info.path, info.offset);
  if (info.symbol == nullptr) return place;
  int status = 0;  // other names could be taken for types: "t" for unsigned short
  char* plain = ::strncmp(info.symbol, "_Z", 2) == 0
                    ? abi::__cxa_demangle(info.symbol, nullptr, nullptr, &status)
                    : nullptr;
  std::string out = fmt::format("{}+{:#x} ({})", plain != nullptr ? plain : info.symbol,
                                info.symbol_offset, place);
  std::free(plain);
  return out;
}

const char* meaning(const sched::Execution& self, int signal, const siginfo_t& info) {
  const auto stack = self.stack();
  const auto* fault = static_cast<const char*>(info.si_addr);
  if ((signal == SIGSEGV || signal == SIGBUS) && stack.bytes != 0 &&
      fault >= stack.low - stack.guard_bytes && fault < stack.low + 4096) {
    return ", a stack overflow (mpcrun --stack-size gives ranks a larger stack)";
  }
  return "";
}

// A call through a null or wild pointer: the fault is at the address that was to be executed.
bool came_by_a_wild_call(int signal, const siginfo_t& info, const void* context) {
  const auto* machine = static_cast<const ucontext_t*>(context);
  return signal == SIGSEGV &&
         info.si_addr == reinterpret_cast<void*>(machine->uc_mcontext.gregs[REG_RIP]);
}

// The unwinder knows nothing about such an address, but the call has just pushed where it
// would have returned to.
void step_back_to_the_caller(void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RIP] = *reinterpret_cast<const greg_t*>(registers[REG_RSP]);
  registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
}

// "mpcrun: rank 1 of 2 (./prog) on core 0 died of signal 11 (Segmentation fault)", made without
// the heap, which may be what is broken.
char g_headline[512];
constinit std::atomic<int> g_headline_status{0};
constinit std::atomic<pid_t> g_reporter{0};  // the kernel thread that makes the report

void make_headline(int signal) {
  const sched::Execution& self = sched::Execution::self();
  const auto* rank = static_cast<const Rank*>(self.identity());
  char* out = g_headline;
  char* const end = g_headline + sizeof g_headline - 1;
  const auto add = [&](auto format, const auto&... arguments) {
    const auto room = static_cast<size_t>(end - out);
    out += std::min(fmt::format_to_n(out, room, format, arguments...).size, room);
  };
  add(FMT_STRING("mpcrun: "));
  if (rank == nullptr) {
    add(FMT_STRING("a thread of the runtime"));
  } else {
    add(FMT_STRING("rank {} of {} ({})"), rank->world_rank, rank->world_size,
        rank->job->program(rank->app_index));
    if (self.is_ult())
      add(FMT_STRING(" on core {}"), self.core());
    else
      add(FMT_STRING(", in a thread that it started,"));
  }
  add(FMT_STRING(" died of signal {} ({})"), signal, ::sigdescr_np(signal));
  *out = '\0';
}

// When the report itself cannot be made.
[[noreturn]] void end_with_headline() {
  constexpr char kRest[] = "; a report could not be made\n";
  [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, g_headline, ::strlen(g_headline));
  n = ::write(STDERR_FILENO, kRest, sizeof kRest - 1);
  ::_exit(g_headline_status.load(std::memory_order_relaxed));
}

std::string report(int signal, const siginfo_t& info, void* context) {
  const sched::Execution& self = sched::Execution::self();
  std::string out(g_headline);
  const auto* machine = static_cast<const ucontext_t*>(context);
  if (signal == SIGSEGV || signal == SIGBUS) {
    out += fmt::format(" at address {}", info.si_addr);
  }
  out += meaning(self, signal, info);
  if (const char* call = self.call()) out += fmt::format(", inside {}", call);
  out += "; the job is ended\n";
  const bool is_wild_call = came_by_a_wild_call(signal, info, context);
  if (is_wild_call) step_back_to_the_caller(context);
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  void* const faulting =
      reinterpret_cast<void*>(machine->uc_mcontext.gregs[REG_RIP]);
  int first = 0;  // leave out the handler's own frames
  while (first < count && frames[first] != faulting) ++first;
  if (first == count) first = 0;
  if (is_wild_call) out += fmt::format("  {} is no function; it was called by\n", info.si_addr);
  size_t last_of_program = 0;
  // A return address belongs to the line of its call, one byte before it.
  for (int i = first; i < count; ++i) {
    const char* address = static_cast<const char*>(frames[i]) - (i == first && !is_wild_call ? 0 : 1);
    out += fmt::format("  #{} {}\n", i - first, symbol_of(address));
    if (loader::find_copy(address) != nullptr) last_of_program = out.size();
  }
  // What lies below main is ours and says nothing.
  if (last_of_program != 0) out.resize(last_of_program);
  return out;
}

constinit std::atomic<bool> g_reporting{false};

void handle(int signal, siginfo_t* info, void* context) {
  if (g_reporting.exchange(true, std::memory_order_relaxed)) {
    // The report itself crashed, or a second thread meanwhile.
    if (g_reporter.load(std::memory_order_relaxed) == ::gettid()) end_with_headline();
    static std::atomic<int> second{0};
    if (second.fetch_add(1) > 4) ::_exit(kExitSignal + signal);
    for (;;) ::pause();
  }
  g_reporter.store(::gettid(), std::memory_order_relaxed);
  g_headline_status.store(kExitSignal + signal, std::memory_order_relaxed);
  make_headline(signal);
  // From here on use what is not async-signal-safe (allocation, unwinding): the process is
  // lost anyway, and the alarm ends it if a lock is in the way.
  struct sigaction on_alarm {};
  on_alarm.sa_handler = [](int) { end_with_headline(); };
  ::sigaction(SIGALRM, &on_alarm, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  ::alarm(kReportSeconds);
  const std::string text = report(signal, *info, context);
  if (Job* job = Job::existing()) job->abort(kExitSignal + signal, text);
  ::_exit(kExitSignal + signal);
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
  const auto end = fmt::format_to_n(
      buffer, size, "mpc: on core {}, rank {}, call {}\n", self.core(),
      rank == nullptr ? -1 : rank->world_rank, self.call() == nullptr ? "none" : self.call());
  return std::min<unsigned long>(size, end.size);
}

}  // namespace

bool is_reporting() noexcept { return g_reporting.load(std::memory_order_relaxed); }

void prepare_kernel_thread() {
  void* memory = ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;  // a stack overflow is then reported by the shell only
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = kSignalStackBytes};
  ::sigaltstack(&stack, nullptr);
}

void install() {
  set_check_reporter(&describe_for_check);
  log::set_prefix_source(&describe_rank);
  prepare_kernel_thread();
  void* warm_up[1];
  ::backtrace(warm_up, 1);  // loads libgcc's unwinder now, not in the handler
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace mpc::job::crash
