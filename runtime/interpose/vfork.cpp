// vfork() of a rank: its child, which is still in the rank's memory, has the rank's descriptors 0, 1
// and 2, and the signal mask and limits that it would have had without mpcrun.

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>

#include "runtime/interpose/child_signals.h"
#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/streams.h"
#include "runtime/job/inherited.h"

namespace mpc::interpose {
namespace {

// What the parent has prepared; the child reads it there.
struct Prepared {
  ChildDescriptors descriptors;
  const bool blocks_child_signal = child_signals::is_blocked();
  child_signals::Starting starting;
};
struct Call {
  bool is_of_rank = false;
  bool is_in_child = false;
  alignas(Prepared) char prepared[sizeof(Prepared)] = {};
};
thread_local constinit Call t_call{};

[[maybe_unused]] Prepared& prepared() noexcept {
  return *std::launder(reinterpret_cast<Prepared*>(t_call.prepared));
}

[[maybe_unused]] void become_child() noexcept {
  t_call.is_in_child = true;
  prepared().descriptors.apply();
  job::inherited::restore_in_child();
  if (!prepared().blocks_child_signal) return;
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

// The child has executed a program, or has ended.
[[maybe_unused]] void go_on_as_parent(pid_t child) noexcept {
  t_call.is_in_child = t_call.is_of_rank = false;
  if (child > 0) prepared().starting.note(child);
  prepared().~Prepared();
}

}  // namespace

bool is_vfork_child() noexcept { return t_call.is_in_child; }

}  // namespace mpc::interpose

#ifdef MPC_SANITIZED

// A sanitizer must know when a stack has two users.
MPC_EXPORT pid_t vfork() noexcept { return ::fork(); }

#else

// Called by the assembly below, on the caller's stack: before the call, and in both after it.
#define MPC_HELPER extern "C" __attribute__((visibility("hidden"), used))
MPC_HELPER void mpc_before_vfork() noexcept {
  using namespace mpc::interpose;
  if (!g_is_ready || is_forked_child() || own_rank() == nullptr) return;
  pass_on_unfinished_lines();
  new (t_call.prepared) Prepared;
  t_call.is_of_rank = true;
}
MPC_HELPER pid_t mpc_after_vfork(long result) noexcept {
  using namespace mpc::interpose;
  if (t_call.is_of_rank && !t_call.is_in_child && result == 0) become_child();
  // Not where the child itself has called vfork().
  if (t_call.is_of_rank && result != 0 && !is_forked_child())
    go_on_as_parent(static_cast<pid_t>(result));
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}
#undef MPC_HELPER

// The child uses the stack of its parent, which continues when the child has left it. So the return
// address waits in a register that the kernel keeps, as in libc's own.
asm(R"(
        .text
        .globl  vfork
        .type   vfork, @function
vfork:
        .cfi_startproc
        endbr64
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    mpc_before_vfork
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdi
        movl    $58, %eax               # SYS_vfork
        syscall
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rip, 0
        movq    %rax, %rdi
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    mpc_after_vfork
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   vfork, . - vfork
)");

#endif
