// dlopen and its relatives for a rank: runtime/loader/rank_linker.h. Libc's own functions serve
// callers that are no instance of a program.

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/linker_error.h"
#include "runtime/loader/rank_linker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::instance_at;
using mpc::interpose::own_instance;
using mpc::loader::LoadedModule;
using mpc::loader::ProgramInstance;
using mpc::loader::RankLinker;

// Libc's own functions; the assembly below jumps there.
#define MPC_REAL extern "C" __attribute__((visibility("hidden"))) void*
MPC_REAL mpc_real_dlsym;
MPC_REAL mpc_real_dlvsym;
MPC_REAL mpc_real_dlopen;
MPC_REAL mpc_real_dlmopen;
#undef MPC_REAL
void* mpc_real_dlsym = nullptr;
void* mpc_real_dlvsym = nullptr;
void* mpc_real_dlopen = nullptr;
void* mpc_real_dlmopen = nullptr;

namespace {

using DlerrorFunction = char* (*)();
DlerrorFunction g_real_dlerror = nullptr;

using DlvsymFunction = void* (*)(void*, const char*, const char*);

const void* dynamic_value(const link_map& map, int64_t tag) {
  for (const ElfW(Dyn)* d = map.l_ld; d->d_tag != DT_NULL; ++d)
    if (d->d_tag == tag) return reinterpret_cast<const void*>(d->d_un.d_ptr);
  return nullptr;
}

// strcmp() == 0 without strcmp(), which a sanitizer replaces and may not be able to answer yet.
bool are_equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// A definition in an object that the dynamic linker has loaded. Runs before anything else may
// (a sanitizer's own start-up), so it calls no other code. Source: see ElfFile::look_up.
void* find_in_object(const link_map& map, const char* name) {
  const auto* table = static_cast<const uint32_t*>(dynamic_value(map, DT_GNU_HASH));
  const auto* symbols = static_cast<const ElfW(Sym)*>(dynamic_value(map, DT_SYMTAB));
  const auto* strings = static_cast<const char*>(dynamic_value(map, DT_STRTAB));
  if (table == nullptr || symbols == nullptr || strings == nullptr) return nullptr;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c)
    hash = hash * 33 + static_cast<unsigned char>(*c);
  const uint32_t* buckets = table + 4 + size_t{table[2]} * 2;
  const uint32_t* chains = buckets + table[0];
  for (uint32_t i = buckets[hash % table[0]]; i >= table[1]; ++i) {
    if (symbols[i].st_shndx != SHN_UNDEF &&
        are_equal(strings + symbols[i].st_name, name))
      return reinterpret_cast<void*>(map.l_addr + symbols[i].st_value);
    if ((chains[i - table[1]] & 1) != 0) break;
  }
  return nullptr;
}

bool is_named(const link_map& map, const char* name) {
  const char* last = nullptr;
  for (const char* c = map.l_name; c != nullptr && *c != '\0'; ++c)
    if (*c == '/') last = c;
  return last != nullptr && are_equal(last, name);
}

// Ours replaces dlvsym, too, so libc's is found without it.
DlvsymFunction find_dlvsym() {
  for (const char* library : {"/libc.so.6", "/libdl.so.2"})
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
      if (is_named(*map, library))
        if (void* found = find_in_object(*map, "dlvsym"))
          return reinterpret_cast<DlvsymFunction>(found);
  return nullptr;
}

void* find_real(DlvsymFunction dlvsym_of_libc, const char* name) {
  void* found = nullptr;
  for (void* where : {RTLD_NEXT, RTLD_DEFAULT})  // the second one: see find_earlier()
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.3.4"})
      if (found == nullptr) found = dlvsym_of_libc(where, name, version);
  CHECK(found != nullptr, name);
  return found;
}

// Threads that race find the same addresses.
void find_real_functions() {
  if (__atomic_load_n(&mpc_real_dlopen, __ATOMIC_ACQUIRE) != nullptr) return;
  const DlvsymFunction dlvsym_of_libc = find_dlvsym();
  CHECK(dlvsym_of_libc != nullptr, "libc has no dlvsym");
  mpc_real_dlvsym = reinterpret_cast<void*>(dlvsym_of_libc);
  mpc_real_dlsym = find_real(dlvsym_of_libc, "dlsym");
  mpc_real_dlmopen = find_real(dlvsym_of_libc, "dlmopen");
  // Found before anything can fail: a later look-up would discard the error.
  g_real_dlerror =
      reinterpret_cast<DlerrorFunction>(find_real(dlvsym_of_libc, "dlerror"));
  __atomic_store_n(&mpc_real_dlopen, find_real(dlvsym_of_libc, "dlopen"),
                   __ATOMIC_RELEASE);  // pairs with the load above
}

// What the assembly below receives: a result, or that libc answers the caller itself.
struct Answer {
  void* value;
  long is_answered;
};
constexpr Answer kNotOurs{nullptr, 0};

Answer answer(mpc::Result<void*> result) {
  if (result.ok()) {
    mpc::loader::clear_error();
    return {*result, 1};
  }
  mpc::loader::set_error(result.error().message);
  return {nullptr, 1};
}

// A call from a copy belongs to its rank. So does one with
// a handle of the calling rank, from anywhere.
ProgramInstance* instance_of_call(const void* caller, const void* handle) {
  if (ProgramInstance* instance = instance_at(caller)) return instance;
  ProgramInstance* own = own_instance();
  RankLinker* linker = own != nullptr ? own->existing_linker() : nullptr;
  return linker != nullptr && linker->module_of_handle(handle) != nullptr ? own
                                                                          : nullptr;
}

Answer open_in_instance(const char* path, int flags, const void* caller) {
  ProgramInstance* instance = instance_at(caller);
  if (instance == nullptr) return kNotOurs;
  return answer(instance->linker().open(path != nullptr ? path : "", flags, caller));
}

Answer find_in_instance(void* handle, const char* name, const char* version,
                        const void* caller) {
  ProgramInstance* instance = instance_of_call(caller, handle);
  if (instance == nullptr || name == nullptr) return kNotOurs;
  return answer(instance->linker().symbol(handle, name, version, caller));
}

}  // namespace

// Called by the assembly below, with the caller's arguments and address.
#define MPC_HELPER extern "C" __attribute__((visibility("hidden"), used))
MPC_HELPER Answer mpc_dlsym_in_instance(void* handle, const char* name, void*,
                                        const void* caller) noexcept {
  find_real_functions();
  return find_in_instance(handle, name, "", caller);
}
MPC_HELPER Answer mpc_dlvsym_in_instance(void* handle, const char* name,
                                         const char* version,
                                         const void* caller) noexcept {
  find_real_functions();
  return version != nullptr ? find_in_instance(handle, name, version, caller)
                            : kNotOurs;
}
// A constructor may throw through these two.
MPC_HELPER Answer mpc_dlopen_in_instance(const char* path, int flags, void*,
                                         const void* caller) {
  find_real_functions();
  return open_in_instance(path, flags, caller);
}
MPC_HELPER Answer mpc_dlmopen_in_instance(Lmid_t space, const char* path, int flags,
                                          const void* caller) {
  find_real_functions();
  if (space == LM_ID_BASE || instance_at(caller) == nullptr)
    return open_in_instance(path, flags, caller);
  return answer(
      mpc::Error{mpc::Errc::kUnsupported,
                 "dlmopen: a rank has one namespace, LM_ID_BASE; each rank has "
                 "its own copy of what it opens there"});
}
#undef MPC_HELPER

MPC_EXPORT int dlclose(void* handle) noexcept {
  find_real_functions();
  if (ProgramInstance* instance =
          instance_of_call(__builtin_return_address(0), handle)) {
    mpc::loader::clear_error();
    const auto closed = instance->linker().close(handle);
    if (!closed.ok()) mpc::loader::set_error(closed.error().message);
    return closed.ok() ? 0 : -1;
  }
  if (mpc::interpose::g_is_ready && mpc::loader::is_master_handle(handle))
    return 0;  // lives as long as the process
  return NEXT(dlclose)(handle);
}

// Outside ranks the failure is libc's, the memory of the text ours: see next.h.
void mpc::interpose::keep_error_of_program() noexcept {
  find_real_functions();
  if (!g_is_ready || mpc::loader::running_instance() != nullptr) return;
  if (const char* text = g_real_dlerror()) mpc::loader::set_error(text);
}

// Nothing comes after ours, so the first definition of all is another one, unless there is none.
void* mpc::interpose::find_earlier(const char* name) noexcept {
  void* const found = dlsym(RTLD_DEFAULT, name);
  Dl_info other{}, ours{};
  if (found == nullptr || dladdr(found, &other) == 0 ||
      dladdr(reinterpret_cast<void*>(&find_earlier), &ours) == 0)
    return nullptr;
  return other.dli_fbase != ours.dli_fbase ? found : nullptr;
}

MPC_EXPORT char* dlerror() noexcept {
  const bool is_of_instance = instance_at(__builtin_return_address(0)) != nullptr;
  if (!is_of_instance) find_real_functions();
  if (!mpc::interpose::g_is_ready) return g_real_dlerror();
  if (const char* text = is_of_instance ? nullptr : g_real_dlerror())
    mpc::loader::set_error(text);
  return const_cast<char*>(mpc::loader::take_error());
}

namespace {

int describe_module(LoadedModule& m, int request, void* result) {
  const mpc::loader::ElfFile& file = *m.module->file;
  switch (request) {
    case RTLD_DI_LMID:
      *static_cast<Lmid_t*>(result) = LM_ID_BASE;
      return 0;
    case RTLD_DI_LINKMAP:
      *static_cast<link_map**>(result) = &m.map;
      return 0;
    case RTLD_DI_ORIGIN: {
      const std::string directory = file.directory();
      std::memcpy(result, directory.c_str(), directory.size() + 1);
      return 0;
    }
    case RTLD_DI_TLS_MODID:
      *static_cast<size_t*>(result) = m.module->tls_module;
      return 0;
    case RTLD_DI_TLS_DATA:
      *static_cast<void**>(result) = mpc::loader::thread_locals_of(m);
      return 0;
    case RTLD_DI_SERINFO:
    case RTLD_DI_SERINFOSIZE:
      return NEXT(dlinfo)(m.module->master, request, result);
    default:
      mpc::loader::set_error("unsupported dlinfo request");
      return -1;
  }
}

}  // namespace

MPC_EXPORT int dlinfo(void* handle, int request, void* result) noexcept {
  find_real_functions();
  ProgramInstance* instance = instance_of_call(__builtin_return_address(0), handle);
  if (instance == nullptr) return NEXT(dlinfo)(handle, request, result);
  mpc::loader::clear_error();
  if (LoadedModule* m = instance->linker().module_of_handle(handle))
    return describe_module(*m, request, result);
  const int status = NEXT(dlinfo)(handle, request, result);
  if (const char* text = status != 0 ? g_real_dlerror() : nullptr)
    mpc::loader::set_error(text);
  return status;
}

// Libc's functions read their return address to find out who asks (RTLD_NEXT, the caller's
// RUNPATH). So ours must not call them: they ask a helper with the caller's arguments and
// address, and jump to libc's unless the caller is a copy of a program.
asm(R"(
.macro MPC_REPLACE name
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        movq    (%rsp), %rcx            # the return address
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        call    mpc_\name\()_in_instance
        movq    %rdx, %rcx              # second word of the answer
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rcx, %rcx
        jz      1f
        ret
1:      jmp     *mpc_real_\name(%rip)
        .cfi_endproc
        .size   \name, . - \name
.endm
        .text
        MPC_REPLACE dlsym
        MPC_REPLACE dlvsym
        MPC_REPLACE dlopen
        MPC_REPLACE dlmopen
.purgem MPC_REPLACE
)");
