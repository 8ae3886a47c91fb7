/* What every program linked by mpcc contains, so that one file is both a program that the
   kernel can start (a singleton) and a shared object that the loader can copy for each rank.

   Role:     program interpreter, entry point, a name for main() that -fvisibility=hidden
             cannot take away, and a note by which the loader knows its own.
             With MPC_LIBRARIES_TOO main() may be missing: flags that are printed for others end up in the
             links of their libraries, too (a program's Scrt1.o still asks for it).
             One group (COMDAT): a build system that names this file twice, as CMake projects do that put
             MPI_C_LINK_FLAGS into all link flags and link MPI::MPI_C, too, gets it once.
   See also: docs/loader.md; System V ABI for x86-64, section 3.4.1 (process entry). */

#ifdef MPC_LIBRARIES_TOO
        .weak   main
#endif

        .section .interp, "aG", @progbits, mpc_start, comdat
        .asciz  "/lib64/ld-linux-x86-64.so.2"

        .section .text.mpc_start, "axG", @progbits, mpc_start, comdat
        .globl  mpc_start
        .hidden mpc_start_local
        .type   mpc_start, @function
mpc_start:
mpc_start_local:
        .cfi_startproc
        .cfi_undefined rip              /* the outermost frame */
        endbr64
        xorl    %ebp, %ebp
        movq    %rdx, %r9               /* the dynamic linker's finaliser */
        movq    (%rsp), %rsi            /* argc */
        leaq    8(%rsp), %rdx           /* argv */
        andq    $-16, %rsp
        pushq   %rax
        pushq   %rsp                    /* end of the stack */
        xorl    %r8d, %r8d
        xorl    %ecx, %ecx
        movq    main@GOTPCREL(%rip), %rdi
        call    *__libc_start_main@GOTPCREL(%rip)
        hlt
        .cfi_endproc
        .size   mpc_start, . - mpc_start

        .globl  mpc_main
        .type   mpc_main, @function
mpc_main:
        .cfi_startproc
        endbr64
        jmp     main@PLT
        .cfi_endproc
        .size   mpc_main, . - mpc_main

        .section .note.mpc, "aG", @note, mpc_start, comdat
        .balign 4
        .long   2f - 1f                 /* size of the name */
        .long   4f - 3f                 /* size of the content */
        .long   1                       /* type: format of executable shared objects */
1:      .asciz  "mpc"
2:      .balign 4
3:      .long   1                       /* version of the format */
4:      .balign 4

        .section .note.GNU-stack, "", @progbits
