// vfork() of a rank: its child, which is still in the rank's memory, has the rank's descriptors 0, 1
// and 2, signal mask and limits until it executes a program.

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

// What the parent has prepared for the child; both are the same thread of the rank.
struct Prepared {
  bool is_for_rank = false;
  bool is_in_child = false;
  bool blocks_child_signal = false;
  alignas(ChildDescriptors) char descriptors[sizeof(ChildDescriptors)];
};
thread_local constinit Prepared t_prepared{};

ChildDescriptors& descriptors() noexcept {
  return *std::launder(reinterpret_cast<ChildDescriptors*>(t_prepared.descriptors));
}

void become_child() noexcept {
  t_prepared.is_in_child = true;
  descriptors().apply();
  job::inherited::restore_in_child();
  if (!t_prepared.blocks_child_signal) return;
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

}  // namespace

bool is_vfork_child() noexcept { return t_prepared.is_in_child; }

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
  new (t_prepared.descriptors) ChildDescriptors;
  t_prepared.blocks_child_signal = child_signals::is_blocked();
  t_prepared.is_for_rank = true;
}
MPC_HELPER pid_t mpc_after_vfork(long result) noexcept {
  using namespace mpc::interpose;
  if (t_prepared.is_for_rank && !t_prepared.is_in_child && result == 0) become_child();
  // Not where the child itself has called vfork().
  if (t_prepared.is_for_rank && result != 0 && !is_forked_child()) {
    t_prepared.is_in_child = t_prepared.is_for_rank = false;
    descriptors().~ChildDescriptors();
  }
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
