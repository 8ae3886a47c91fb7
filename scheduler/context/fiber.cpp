// Compiled without stack protector: between wrfsbase and the jump this code runs on one
// fiber's stack with the other fiber's thread control block.
#include "scheduler/context/fiber.h"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include <boost/context/detail/fcontext.hpp>

#include "base/check.h"
#include "base/futex.h"

#define MPC_NO_SANITIZE __attribute__((no_sanitize("thread", "address", "undefined")))

namespace mpc::sched::context {
namespace {

namespace bctx = boost::context::detail;

// What travels with a jump; lies on the stack of the fiber that was left.
struct Envelope {
  Fiber* from;
  Fiber* to;
  void* message;
};

// HWCAP2 bit 1: the kernel has enabled wrfsbase for user space (Linux 5.9+).
constexpr unsigned long kHwcap2FsGsBase = 1ul << 1;
const bool fast_fs = (getauxval(AT_HWCAP2) & kHwcap2FsGsBase) != 0;

[[gnu::always_inline]] inline void set_fs(uintptr_t fs) noexcept {
  if (__builtin_expect(fast_fs, 1)) {
    asm volatile("wrfsbase %0" : : "r"(fs) : "memory");
  } else {
    raw_syscall(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(fs));
  }
}

// First code on a new fiber.
MPC_NO_SANITIZE void trampoline(bctx::transfer_t arrival) {
  auto* envelope = static_cast<Envelope*>(arrival.data);
  envelope->from->sp = arrival.fctx;
  envelope->to->entry(envelope->message);
  CHECK(false, "a fiber's entry function returned");
}

}  // namespace

uintptr_t current_fs() noexcept {
  uintptr_t fs = 0;
  if (fast_fs) {
    asm volatile("rdfsbase %0" : "=r"(fs));
  } else {
    raw_syscall(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&fs));
  }
  return fs;
}

bool has_fast_fs_switch() noexcept { return fast_fs; }

MPC_NO_SANITIZE void prepare(Fiber& fiber, void* top, size_t size, uintptr_t fs,
                             void (*entry)(void*)) noexcept {
  fiber.sp = bctx::make_fcontext(top, size, trampoline);
  fiber.fs = fs;
  fiber.entry = entry;
}

MPC_NO_SANITIZE void* switch_to(Fiber& from, Fiber& to, void* message) noexcept {
  Envelope out{&from, &to, message};
  set_fs(to.fs);
  bctx::transfer_t arrival = bctx::jump_fcontext(to.sp, &out);
  auto* in = static_cast<Envelope*>(arrival.data);
  in->from->sp = arrival.fctx;
  return in->message;
}

}  // namespace mpc::sched::context
