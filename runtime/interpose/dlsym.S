/* dlsym() and dlopen(): libc's look at their return address to know who asks (RTLD_NEXT, the
   caller's RUNPATH). So ours must not call them: they jump there, unless the caller is a copy
   of a program and gets our answer.

   See also: runtime/interpose/dynamic_linker.cpp. */

/* Calls HELPER(rdi, rsi, return address), with the arguments kept. */
.macro ASK helper
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        movq    16(%rsp), %rdx
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    \helper
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
.endm

        .text
        .globl  dlsym
        .type   dlsym, @function
dlsym:
        ASK     mpc_dlsym_in_copy
        testq   %rax, %rax              /* null: not ours to answer */
        jz      1f
        ret
1:      jmp     *mpc_real_dlsym(%rip)
        .cfi_endproc
        .size   dlsym, . - dlsym

        .globl  dlopen
        .type   dlopen, @function
dlopen:
        ASK     mpc_dlopen_in_copy
        testq   %rdx, %rdx              /* second word of the answer */
        jz      1f
        ret
1:      jmp     *mpc_real_dlopen(%rip)
        .cfi_endproc
        .size   dlopen, . - dlopen

        .section .note.GNU-stack, "", @progbits
