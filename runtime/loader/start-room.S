/* What a program of the second format contains, too: one that was linked as an executable, because code in it was
   compiled without -fPIC.

   Role:     room between the program's thread_locals and the thread pointer. Those that the process has before the
             program is loaded lie there; alone (a singleton) the program leaves it unused. It must come last in the link.
             The dynamic linker gives a program that it opens later a fixed place in all threads only if
             there is a reference like the one below; the symbols are visible so that the reference stays.
   See also: docs/design/0052-code-without-pic.md; runtime/loader/fixed_thread_locals.h. */

        .section .tbss.mpc_tls_room, "awT", @nobits
        .balign 64
        .globl  mpc_tls_room
        .type   mpc_tls_room, @object
        .size   mpc_tls_room, 4096      /* mpcrun and its libraries need about 700 bytes */
mpc_tls_room:
        .zero   4096

        .section .text.mpc_tls_anchor, "ax", @progbits
        .globl  mpc_tls_anchor
        .type   mpc_tls_anchor, @function
mpc_tls_anchor:
        .cfi_startproc
        endbr64
        movq    mpc_tls_room@GOTTPOFF(%rip), %rax
        ret
        .cfi_endproc
        .size   mpc_tls_anchor, . - mpc_tls_anchor

        .section .note.GNU-stack, "", @progbits
