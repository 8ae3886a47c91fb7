// What asks the dynamic linker about code: the unwinder (C++ exceptions, backtraces), dladdr,
// dlsym, dlopen. The linker knows the master of a program; these know the copies.
//
// See also: runtime/loader/blueprint.h.

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/library_search.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::copy_at;
using mpc::loader::Copy;
using mpc::loader::Module;

namespace {

char* module_base(const Copy& copy, const Module& m) {
  return copy.base() + m.bundle_offset;
}

}  // namespace

// --- unwinding -------------------------------------------------------------------------------

MPC_EXPORT int _dl_find_object(void* address, dl_find_object* result) noexcept {
  const Copy* copy = copy_at(address);
  if (copy == nullptr) return NEXT(_dl_find_object)(address, result);
  const Module* m = copy->module_of(address);
  const Elf64_Phdr* frames = m != nullptr ? m->file->segment(PT_GNU_EH_FRAME) : nullptr;
  if (frames == nullptr) return -1;
  char* base = module_base(*copy, *m);
  result->dlfo_flags = 0;
  result->dlfo_map_start = base;
  result->dlfo_map_end = base + m->span_bytes;
  result->dlfo_link_map = m->master;
  result->dlfo_eh_frame = base + frames->p_vaddr;
  return 0;
}

namespace {

using PhdrVisitor = int (*)(dl_phdr_info*, size_t, void*);

struct Visit {
  PhdrVisitor visitor;
  void* argument;
};

int visit_unless_master(dl_phdr_info* info, size_t size, void* argument) {
  const auto* visit = static_cast<Visit*>(argument);
  if (mpc::interpose::g_is_ready && mpc::loader::is_master(info->dlpi_addr)) return 0;
  return visit->visitor(info, size, visit->argument);
}

}  // namespace

MPC_EXPORT int dl_iterate_phdr(PhdrVisitor visitor, void* argument) {
  Visit visit{visitor, argument};
  const int result = NEXT(dl_iterate_phdr)(visit_unless_master, &visit);
  const Copy* copy = mpc::interpose::own_copy();
  if (result != 0 || copy == nullptr) return result;
  for (const Module& m : copy->image().blueprint().modules) {
    dl_phdr_info info{};
    info.dlpi_addr = reinterpret_cast<ElfW(Addr)>(module_base(*copy, m));
    info.dlpi_name = m.file->path().c_str();
    info.dlpi_phdr = m.file->segments().data();
    info.dlpi_phnum = static_cast<ElfW(Half)>(m.file->segments().size());
    info.dlpi_adds = 1;
    info.dlpi_tls_modid = m.tls_module;
    if (const int stop = visitor(&info, sizeof info, argument)) return stop;
  }
  return 0;
}

// --- dladdr ----------------------------------------------------------------------------------

namespace {

// The master's answer, moved to the copy.
void move_to_copy(const Copy& copy, const Module& m, Dl_info* info) {
  info->dli_fname = m.file->path().c_str();
  info->dli_fbase = module_base(copy, m);
  if (info->dli_saddr != nullptr) info->dli_saddr = copy.from_master(info->dli_saddr);
}

}  // namespace

MPC_EXPORT int dladdr(const void* address, Dl_info* info) noexcept {
  const Copy* copy = copy_at(address);
  const Module* m = copy != nullptr ? copy->module_of(address) : nullptr;
  if (m == nullptr) return NEXT(dladdr)(address, info);
  const int result = NEXT(dladdr)(copy->to_master(address), info);
  if (result != 0) move_to_copy(*copy, *m, info);
  return result;
}
MPC_EXPORT int dladdr1(const void* address, Dl_info* info, void** extra,
                       int flags) noexcept {
  const Copy* copy = copy_at(address);
  const Module* m = copy != nullptr ? copy->module_of(address) : nullptr;
  if (m == nullptr) return NEXT(dladdr1)(address, info, extra, flags);
  const int result = NEXT(dladdr1)(copy->to_master(address), info, extra, flags);
  if (result != 0) move_to_copy(*copy, *m, info);
  return result;
}

namespace {

std::string describe(void* address) {
  Dl_info info{};
  char text[64];
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    std::snprintf(text, sizeof text, "[%p]", address);
    return text;
  }
  std::string line = info.dli_fname;
  const char* origin = static_cast<const char*>(
      info.dli_saddr != nullptr ? info.dli_saddr : info.dli_fbase);
  std::snprintf(text, sizeof text, "+0x%tx) [%p]",
                static_cast<const char*>(address) - origin, address);
  return line + "(" + (info.dli_sname != nullptr ? info.dli_sname : "") + text;
}

bool has_copies(void* const* addresses, int count) {
  for (int i = 0; i < count; ++i)
    if (copy_at(addresses[i]) != nullptr) return true;
  return false;
}

}  // namespace

MPC_EXPORT char** backtrace_symbols(void* const* addresses, int count) noexcept {
  if (!has_copies(addresses, count)) return NEXT(backtrace_symbols)(addresses, count);
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    lines.push_back(describe(addresses[i]));
    bytes += sizeof(char*) + lines.back().size() + 1;
  }
  auto** result = static_cast<char**>(std::malloc(bytes));
  if (result == nullptr) return nullptr;
  char* text = reinterpret_cast<char*>(result + count);
  for (int i = 0; i < count; ++i) {
    result[i] = text;
    std::memcpy(text, lines[i].c_str(), lines[i].size() + 1);
    text += lines[i].size() + 1;
  }
  return result;
}
MPC_EXPORT void backtrace_symbols_fd(void* const* addresses, int count,
                                     int fd) noexcept {
  if (!has_copies(addresses, count))
    return NEXT(backtrace_symbols_fd)(addresses, count, fd);
  for (int i = 0; i < count; ++i) {
    const std::string line = describe(addresses[i]) + "\n";
    if (::write(fd, line.data(), line.size()) < 0) return;
  }
}

// --- dlopen, dlsym ---------------------------------------------------------------------------

// Libc's own; the assembly below jumps there. dlvsym finds the first, since its name is not replaced.
extern "C" __attribute__((visibility("hidden"))) void* mpc_real_dlsym;
extern "C" __attribute__((visibility("hidden"))) void* mpc_real_dlopen;
void* mpc_real_dlsym = nullptr;
void* mpc_real_dlopen = nullptr;

namespace {

using DlsymFunction = void* (*)(void*, const char*);
using DlopenFunction = void* (*)(const char*, int);

// Threads that race find the same.
void find_real_functions() {
  if (__atomic_load_n(&mpc_real_dlopen, __ATOMIC_ACQUIRE) != nullptr) return;
  void* found = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"})
    if (found == nullptr) found = ::dlvsym(RTLD_NEXT, "dlsym", version);
  CHECK(found != nullptr, "libc has no dlsym");
  mpc_real_dlsym = found;
  found = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"})
    if (found == nullptr) found = ::dlvsym(RTLD_NEXT, "dlopen", version);
  CHECK(found != nullptr, "libc has no dlopen");
  __atomic_store_n(&mpc_real_dlopen, found,
                   __ATOMIC_RELEASE);  // pairs with the load above
}

void* real_dlsym(void* handle, const char* name) {
  return reinterpret_cast<DlsymFunction>(mpc_real_dlsym)(handle, name);
}

void warn_about_shared_plugin(const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  std::lock_guard lock(mutex);
  if (!warned.insert(path).second) return;
  mpc::log::error(
      "dlopen(\"{}\"): its variables are shared by all ranks; link the program "
      "with it instead and each rank has its own",
      path);
}

// A rank's handle of its program: the master's, which the real functions know, too.
void* program_handle(const Copy& copy) {
  return copy.image().blueprint().modules[0].master;
}

void* find_symbol(const Copy& copy, size_t first_module, const char* name) {
  if (void* found = copy.find_definition(name, first_module)) return found;
  if (void* found = real_dlsym(RTLD_DEFAULT, name)) return copy.from_master(found);
  // Libraries that only the program needs are not in the global scope. (What is private was
  // looked at already, as far as it comes into question.)
  void* found = copy.from_master(real_dlsym(program_handle(copy), name));
  return found != nullptr && copy_at(found) == nullptr ? found : nullptr;
}

}  // namespace

// Called by the assembly below. Null: the real dlsym answers the caller (errors included).
extern "C" __attribute__((visibility("hidden"), used)) void* mpc_dlsym_in_copy(
    void* handle, const char* name, void* caller) noexcept {
  find_real_functions();
  const Copy* copy = copy_at(caller);
  if (copy == nullptr || name == nullptr) return nullptr;
  if (handle == RTLD_DEFAULT || handle == program_handle(*copy))
    return find_symbol(*copy, 0, name);
  if (handle == RTLD_NEXT) {
    const std::vector<Module>& modules = copy->image().blueprint().modules;
    const Module* m = copy->module_of(caller);
    return find_symbol(*copy, static_cast<size_t>(m - modules.data()) + 1, name);
  }
  return copy->from_master(real_dlsym(handle, name));
}

struct DlopenAnswer {
  void* handle;
  long is_answered;  // 0: the real dlopen answers the caller
};

// Called by the assembly below.
extern "C" __attribute__((visibility("hidden"), used)) DlopenAnswer mpc_dlopen_in_copy(
    const char* path, int flags, void* caller) noexcept {
  find_real_functions();
  const Copy* copy = copy_at(caller);
  if (copy == nullptr) return {nullptr, 0};
  if (path == nullptr || *path == '\0') return {program_handle(*copy), 1};
  for (const Module& m : copy->image().blueprint().modules)
    if (m.name == path || m.file->path() == path || m.file->soname() == path)
      return {m.master, 1};
  const Module* user = copy->module_of(caller);
  const std::string found = mpc::loader::find_library(path, {user->file.get(), {}});
  if (!found.empty() && !mpc::loader::in_system_directory(found))
    warn_about_shared_plugin(found);
  const auto real = reinterpret_cast<DlopenFunction>(mpc_real_dlopen);
  return {real(found.empty() ? path : found.c_str(), flags), 1};
}

MPC_EXPORT int dlclose(void* handle) noexcept {
  if (mpc::interpose::g_is_ready && mpc::loader::is_master_handle(handle))
    return 0;  // lives as long as the process
  return NEXT(dlclose)(handle);
}

// Libc's dlsym() and dlopen() look at their return address to know who asks (RTLD_NEXT, the
// caller's RUNPATH). So ours must not call them: they ask a helper with the caller's arguments
// and address, and jump to libc's unless the caller is a copy of a program.
asm(R"(
.macro MPC_ASK helper
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        movq    16(%rsp), %rdx          # the return address
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
        MPC_ASK mpc_dlsym_in_copy
        testq   %rax, %rax              # null: not ours to answer
        jz      1f
        ret
1:      jmp     *mpc_real_dlsym(%rip)
        .cfi_endproc
        .size   dlsym, . - dlsym

        .globl  dlopen
        .type   dlopen, @function
dlopen:
        MPC_ASK mpc_dlopen_in_copy
        testq   %rdx, %rdx              # second word of the answer
        jz      1f
        ret
1:      jmp     *mpc_real_dlopen(%rip)
        .cfi_endproc
        .size   dlopen, . - dlopen
.purgem MPC_ASK
)");
