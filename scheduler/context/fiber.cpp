// Compiled without stack protector: between wrfsbase and the jump this code runs on one
// fiber's stack with the other fiber's thread control block.
#include "scheduler/context/fiber.h"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <boost/context/detail/fcontext.hpp>

#include "base/check.h"
#include "base/futex.h"
#include "scheduler/annotate.h"

namespace mpc::sched::context {
namespace {

namespace bctx = boost::context::detail;

// What a jump passes on; lies on the stack of the fiber that was left.
struct Envelope {
  Fiber* from;
  Fiber* to;
  void* message;
};

// HWCAP2 bit 1: the kernel has enabled wrfsbase for user space (Linux 5.9+).
constexpr unsigned long kHwcap2FsGsBase = 1ul << 1;
// Without it each switch makes a system call, which takes about 100 ns more.
const bool kIsFsFast = (getauxval(AT_HWCAP2) & kHwcap2FsGsBase) != 0;

[[gnu::always_inline]] inline void set_fs(uintptr_t fs) noexcept {
  if (__builtin_expect(kIsFsFast, 1)) {
    asm volatile("wrfsbase %0" : : "r"(fs) : "memory");
  } else {
    raw_syscall(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(fs));
  }
}

// jump_fcontext(target, message), entered without a call instruction. It leaves by `jmp`, so a
// call would put one entry too many on the processor's stack of return addresses, and every
// `ret` from here up to the user's code would be mispredicted (20 ns a switch, measured
// in docs/design/0001). Both sides leave through the same callers, so without the call the
// predictions are right.
[[gnu::always_inline]] inline bctx::transfer_t jump(bctx::fcontext_t target,
                                                    void* message) {
#ifdef __x86_64__
  bctx::transfer_t arrival;
  asm volatile(
      "sub $128, %%rsp\n\t"  // the red zone
      "lea 1f(%%rip), %%rax\n\t"
      "push %%rax\n\t"
      "jmp jump_fcontext@PLT\n"
      "1:\n\t"
      "add $128, %%rsp"
      : "=a"(arrival.fctx), "=d"(arrival.data), "+D"(target), "+S"(message)
      :
      : "rcx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
        "st(6)", "st(7)");
  return arrival;
#else
  return bctx::jump_fcontext(target, message);
#endif
}

// First code on a new fiber.
MPC_NO_SANITIZE void trampoline(bctx::transfer_t arrival) {
#if defined(__x86_64__) && defined(__GCC_HAVE_DWARF2_CFI_ASM)
  asm volatile(".cfi_undefined rip");  // it has no caller: backtraces end here
#endif
  auto* envelope = static_cast<Envelope*>(arrival.data);
  envelope->from->sp = arrival.fctx;
  envelope->to->entry(envelope->message);
  CHECK(false, "a fiber's entry function returned");
}

}  // namespace

uintptr_t current_fs() noexcept {
  uintptr_t fs = 0;
  if (kIsFsFast) {
    asm volatile("rdfsbase %0" : "=r"(fs));
  } else {
    raw_syscall(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&fs));
  }
  return fs;
}

MPC_NO_SANITIZE void prepare(Fiber& fiber, void* top, size_t size, uintptr_t fs,
                             void (*entry)(void*)) noexcept {
  fiber.sp = bctx::make_fcontext(top, size, trampoline);
  fiber.fs = fs;
  fiber.entry = entry;
}

MPC_NO_SANITIZE void* switch_to(Fiber& from, Fiber& to, void* message) noexcept {
  Envelope out{&from, &to, message};
  set_fs(to.fs);
  bctx::transfer_t arrival = jump(to.sp, &out);
  auto* in = static_cast<Envelope*>(arrival.data);
  in->from->sp = arrival.fctx;
  return in->message;
}

}  // namespace mpc::sched::context
