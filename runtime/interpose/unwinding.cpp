// Queries of the unwinder (C++ exceptions, backtraces): which module contains an address, and which
// modules there are. The linker knows the master of a program; these functions know its instances.
//
// See also: runtime/loader/blueprint.h.

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/rank_linker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::instance_at;
using mpc::interpose::own_instance;
using mpc::loader::LoadedModule;
using mpc::loader::ProgramInstance;
using mpc::loader::RankLinker;

MPC_EXPORT int _dl_find_object(void* address, dl_find_object* result) noexcept {
  const ProgramInstance* instance = instance_at(address);
  if (instance == nullptr) return NEXT(_dl_find_object)(address, result);
  const auto [m, base] = instance->place_of(address);
  const Elf64_Phdr* frames = m != nullptr ? m->file->segment(PT_GNU_EH_FRAME) : nullptr;
  if (frames == nullptr) return -1;
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

// A sanitizer's runtime asks while it starts and while it writes a report: it must not get into
// instrumented code then (the loader).
#ifdef MPC_SANITIZED
struct SanitizerCode {
  uintptr_t begin = 0, end = 0;
};
// No local static, whose guard the sanitizer would watch before it can. Set by the sanitizer's own
// start, when there is one thread.
constinit SanitizerCode g_sanitizer;

int note_if_sanitizer(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "/libtsan.so") == nullptr &&
      std::strstr(info->dlpi_name, "/libasan.so") == nullptr)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    g_sanitizer.begin = info->dlpi_addr + segment.p_vaddr;
    g_sanitizer.end = g_sanitizer.begin + segment.p_memsz;
  }
  return 1;
}
bool is_of_sanitizer(const void* return_address) {
  if (g_sanitizer.end == 0) NEXT(dl_iterate_phdr)(note_if_sanitizer, nullptr);
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  return address >= g_sanitizer.begin && address < g_sanitizer.end;
}
#else
constexpr bool is_of_sanitizer(const void*) noexcept { return false; }
#endif

}  // namespace

MPC_EXPORT int dl_iterate_phdr(PhdrVisitor visitor, void* argument) {
  Visit visit{visitor, argument};
  const int result = NEXT(dl_iterate_phdr)(visit_unless_master, &visit);
  ProgramInstance* instance =
      is_of_sanitizer(__builtin_return_address(0)) ? nullptr : own_instance();
  if (result != 0 || instance == nullptr) return result;
  RankLinker& linker = instance->linker();
  const auto kept = linker.keep_modules();
  for (const LoadedModule* m : linker.modules()) {
    const mpc::loader::ElfFile& file = *m->module->file;
    dl_phdr_info info{};
    info.dlpi_addr = reinterpret_cast<ElfW(Addr)>(m->base);
    info.dlpi_name = file.path().c_str();
    info.dlpi_phdr = file.segments().data();
    info.dlpi_phnum = static_cast<ElfW(Half)>(file.segments().size());
    info.dlpi_adds = 1 + linker.load_count();
    info.dlpi_subs = linker.unload_count();
    info.dlpi_tls_modid = m->module->tls_module;
    if (const int stop = visitor(&info, sizeof info, argument)) return stop;
  }
  return 0;
}
