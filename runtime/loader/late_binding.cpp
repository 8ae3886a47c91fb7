#include "runtime/loader/late_binding.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "runtime/loader/image.h"

extern "C" __attribute__((visibility("hidden"))) void mpc_late_call();

// Called by the assembly below. Returns the target of the call.
extern "C" __attribute__((visibility("hidden"), used)) void* mpc_find_late(
    const mpc::loader::LateSymbol* late) {
  mpc::loader::ProgramInstance& instance = *late->user->place.instance;
  if (void* function = instance.bind_late(*late)) return function;
  const mpc::loader::ElfFile& file = *late->user->module->file;
  std::fprintf(stderr, "%s: symbol lookup error: %s: undefined symbol: %s\n",
               instance.image().path().c_str(), file.path().c_str(),
               file.dynamic_string(file.dynamic_symbols()[late->index].st_name));
  // The status with which the dynamic linker ends a process.
  constexpr int kStatus = 127;
  instance.exit_now(kStatus);
}

namespace mpc::loader {

//   movabs $symbol, %r11;  movabs $mpc_late_call, %rax;  jmp *%rax
// %rax counts the vector registers of a call with variable arguments, so it is saved in %r10.
char* make_stub_pages(const LateSymbol* symbols, size_t count) noexcept {
  const size_t bytes = page_ceil(count * kStubBytes);
  void* map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* pages = static_cast<unsigned char*>(map);
  for (size_t i = 0; i < count; ++i) {
    unsigned char* stub = pages + i * kStubBytes;
    const auto* symbol = &symbols[i];
    const auto target = reinterpret_cast<uintptr_t>(&mpc_late_call);
    const unsigned char code[] = {
        0x49, 0x89, 0xc2,                       // mov %rax, %r10
        0x49, 0xbb, 0,    0, 0, 0, 0, 0, 0, 0,  // movabs, %r11
        0x48, 0xb8, 0,    0, 0, 0, 0, 0, 0, 0,  // movabs, %rax
        0xff, 0xe0};                            // jmp *%rax
    static_assert(sizeof code <= kStubBytes);
    std::memcpy(stub, code, sizeof code);
    std::memcpy(stub + 5, &symbol, sizeof symbol);
    std::memcpy(stub + 15, &target, sizeof target);
  }
  if (::mprotect(map, bytes, PROT_READ | PROT_EXEC) == 0)
    return static_cast<char*>(map);
  ::munmap(map, bytes);
  return nullptr;
}

}  // namespace mpc::loader

// All registers that may hold arguments are saved; %r11 has the symbol, %r10 the caller's %rax.
// (The upper halves of vector registers are lost: 256-bit arguments of a function that was not
// there before.)
asm(R"(
        .text
        .hidden mpc_late_call
        .globl  mpc_late_call
        .type   mpc_late_call, @function
mpc_late_call:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        subq    $192, %rsp
        andq    $-16, %rsp
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %r10, 48(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        movq    %r11, %rdi
        call    mpc_find_late
        movq    %rax, %r11
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        leave
        .cfi_def_cfa rsp, 8
        jmp     *%r11
        .cfi_endproc
        .size   mpc_late_call, . - mpc_late_call
)");
