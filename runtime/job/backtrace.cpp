#include "runtime/job/backtrace.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include "runtime/job/addr2line.h"
#include "runtime/job/guarded.h"
#include "runtime/loader/image.h"

namespace mpc::job {
namespace {

constexpr unsigned kUnwindMs = 1000, kNameMs = 200;
constexpr int kLinesMs = 3000;

greg_t* registers_of(void* context) {
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
}

// Is this the library of the ranks' heaps, whose functions have no names for the dynamic linker?
bool is_heap_library(const char* path) {
  const char* name = path != nullptr ? ::strrchr(path, '/') : nullptr;
  return name != nullptr && ::strcmp(name, "/libmpc_heap.so") == 0;
}

bool is_of_heap(const char* symbol) {
  for (const char* name :
       {"malloc", "free", "cfree", "calloc", "realloc", "memalign", "aligned_alloc",
        "posix_memalign", "valloc", "pvalloc", "__libc_malloc", "__libc_free",
        "__libc_calloc", "__libc_realloc", "__libc_memalign"})
    if (::strcmp(symbol, name) == 0) return true;
  for (const char* head : {"mi_", "_mi_", "_Znw", "_Zna", "_Zdl", "_Zda"})
    if (::strncmp(symbol, head, ::strlen(head)) == 0) return true;
  return false;
}

}  // namespace

// A call through a null or wild pointer: the faulting address is the one to be executed.
Backtrace::Backtrace(int signal, const void* fault, void* context) noexcept
    : context_(context),
      is_wild_call_(signal == SIGSEGV && fault == reinterpret_cast<const void*>(
                                                      registers_of(context)[REG_RIP])),
      fault_(fault) {
  greg_t* registers = registers_of(context);
  const greg_t pc = registers[REG_RIP], sp = registers[REG_RSP];
  if (is_wild_call_) {
    // The unwinder knows nothing about such an address, but the call has just pushed its
    // return address.
    is_wild_call_ = guarded(kNameMs, [&] {
      registers[REG_RIP] = *reinterpret_cast<const greg_t*>(registers[REG_RSP]);
      registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
    });
  }
  if (!guarded(kUnwindMs, [this] { unwind(); })) count_ = 0;
  if (count_ == 0) guarded(kUnwindMs, [this] { walk_frame_pointers(); });
  // A return address belongs to the line of its call, one byte before it.
  for (int i = is_wild_call_ ? 0 : 1; i < count_; ++i) --frames_[i].address;
  registers[REG_RIP] = pc;
  registers[REG_RSP] = sp;
  describe();
}

void Backtrace::unwind() noexcept {
  void* found[kMaxFrames + 8];
  const int count = ::backtrace(found, kMaxFrames + 8);
  void* const pc = reinterpret_cast<void*>(registers_of(context_)[REG_RIP]);
  int first = 0;  // leaves out the handler's own frames
  while (first < count && found[first] != pc) ++first;
  for (int i = first; i < count && count_ < kMaxFrames; ++i)
    frames_[count_++].address = static_cast<const char*>(found[i]);
}

// The fallback when the unwinder has failed: the chain of frames that code compiled without
// optimisation leaves on the stack.
void Backtrace::walk_frame_pointers() noexcept {
  const greg_t* registers = registers_of(context_);
  frames_[0].address = reinterpret_cast<const char*>(registers[REG_RIP]);
  count_ = 1;
  // A function of libc without a frame, called by the program.
  const auto* caller = *reinterpret_cast<const char* const*>(registers[REG_RSP]);
  if (loader::find_instance(caller) != nullptr) frames_[count_++].address = caller;
  const auto* frame = reinterpret_cast<const uintptr_t*>(registers[REG_RBP]);
  auto last = static_cast<uintptr_t>(registers[REG_RSP]);
  while (count_ < kMaxFrames) {
    const auto at = reinterpret_cast<uintptr_t>(frame);
    constexpr uintptr_t kLargestFrame = 16u << 20;
    if (at < last || at - last > kLargestFrame || at % 8 != 0) return;
    const auto* address = reinterpret_cast<const char*>(frame[1]);
    if (loader::describe_address(address).path == nullptr) return;
    frames_[count_++].address = address;
    last = at + 1;
    frame = reinterpret_cast<const uintptr_t*>(frame[0]);
  }
}

void Backtrace::describe() noexcept {
  bool is_before_program = true;
  bool may_ask = true;  // the dynamic linker's lock may be acquired
  int last_of_program = -1;
  for (int i = 0; i < count_; ++i) {
    Frame& frame = frames_[i];
    loader::AddressInfo info;
    frame.is_of_program = loader::find_instance(frame.address) != nullptr;
    if (may_ask || frame.is_of_program)
      may_ask =
          guarded(kNameMs, [&] { info = loader::describe_address(frame.address); });
    frame.path = info.path;
    frame.offset = info.offset;
    frame.symbol = info.symbol;
    frame.symbol_offset = info.symbol_offset;
    if (frame.is_of_program) last_of_program = i;
    if (frame.is_of_program) is_before_program = false;
    if (is_before_program && (is_heap_library(frame.path) ||
                              (frame.symbol != nullptr && is_of_heap(frame.symbol))))
      is_in_heap_ = true;
  }
  // The frames below main are ours and say nothing.
  if (last_of_program >= 0) count_ = last_of_program + 1;
}

// Lines of the program and its libraries come first: the user wants to see them in time.
void Backtrace::find_lines() noexcept {
  const char* done[kMaxFrames];
  int done_count = 0;
  const int64_t end_ms = addr2line::now_ms() + kLinesMs;
  for (int turn = 0; turn < 2 * count_; ++turn) {
    const int i = turn % count_;
    const char* path = frames_[i].path;
    if (path == nullptr || frames_[i].is_of_program != (turn < count_)) continue;
    bool is_done = false;
    for (int k = 0; k < done_count; ++k) is_done |= ::strcmp(done[k], path) == 0;
    const auto left_ms = static_cast<int>(end_ms - addr2line::now_ms());
    if (is_done || left_ms <= 0) continue;
    done[done_count++] = path;
    find_lines_of(path, left_ms);
  }
}

void Backtrace::find_lines_of(const char* path, int milliseconds) noexcept {
  size_t offsets[kMaxFrames];
  addr2line::Answer answers[kMaxFrames];
  int count = 0;
  for (int i = 0; i < count_; ++i) {
    Frame& frame = frames_[i];
    if (frame.path == nullptr || ::strcmp(frame.path, path) != 0) continue;
    answers[count] = {frame.function, sizeof frame.function, frame.line,
                      sizeof frame.line};
    offsets[count++] = frame.offset;
  }
  addr2line::ask(path, offsets, answers, count, milliseconds);
}

void Backtrace::write_frame(ReportText& text, int number) noexcept {
  const Frame& frame = frames_[number];
  text.add(FMT_STRING("  #{} "), number);
  if (frame.path == nullptr)
    return text.add(FMT_STRING("{}\n"), static_cast<const void*>(frame.address));
  if (frame.symbol != nullptr) {
    // Other names could be mistaken for types: "t" for unsigned short.
    static bool may_demangle = true;
    char* plain = nullptr;
    if (may_demangle && ::strncmp(frame.symbol, "_Z", 2) == 0)
      may_demangle = guarded(kNameMs, [&] {
        int status = 0;
        plain = abi::__cxa_demangle(frame.symbol, nullptr, nullptr, &status);
      });
    text.add(FMT_STRING("{}+{:#x}"), plain != nullptr ? plain : frame.symbol,
             frame.symbol_offset);
  } else if (frame.function[0] != '\0') {
    text.add(FMT_STRING("{}"), static_cast<const char*>(frame.function));
  }
  const bool has_name = frame.symbol != nullptr || frame.function[0] != '\0';
  if (frame.line[0] != '\0')
    text.add(FMT_STRING("{}at {}"), has_name ? " " : "",
             static_cast<const char*>(frame.line));
  // The pair that addr2line and gdb need.
  text.add(FMT_STRING("{}{}+{:#x}{}\n"), has_name ? " (" : "", frame.path, frame.offset,
           has_name ? ")" : "");
}

void Backtrace::write_to(ReportText& text) noexcept {
  find_lines();
  if (is_wild_call_)
    text.add(FMT_STRING("  {} is no function; it was called by\n"), fault_);
  for (int i = 0; i < count_; ++i) write_frame(text, i);
  if (count_ == 0)
    text.add(FMT_STRING("  the stack is damaged: its frames cannot be found\n"));
}

}  // namespace mpc::job
