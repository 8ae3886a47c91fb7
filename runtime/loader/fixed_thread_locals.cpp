#include "runtime/loader/fixed_thread_locals.h"

#include <dlfcn.h>

extern "C" void* __tls_get_addr(size_t module_and_offset[2]);

namespace mpc::loader {

std::optional<FixedThreadLocals> fixed_thread_locals(const ElfFile& program) noexcept {
  const Elf64_Phdr* segment = program.segment(PT_TLS);
  const Elf64_Sym* room = program.find_version("mpc_tls_room", "");
  if (segment == nullptr || room == nullptr || room->st_shndx == SHN_UNDEF ||
      ELF64_ST_TYPE(room->st_info) != STT_TLS || room->st_value > segment->p_memsz ||
      room->st_value < segment->p_filesz)
    return std::nullopt;
  // A variable behind the room would lie where libraries have theirs.
  if (room->st_size < segment->p_memsz - room->st_value) return std::nullopt;
  const size_t align = segment->p_align == 0 ? 1 : segment->p_align;
  return FixedThreadLocals{(segment->p_memsz + align - 1) & ~(align - 1),
                           room->st_value};
}

size_t thread_distance(link_map* library) noexcept {
  size_t index[2] = {0, 0};
  if (::dlinfo(library, RTLD_DI_TLS_MODID, &index[0]) != 0 || index[0] == 0) return 0;
  char* thread_pointer;
  asm("movq %%fs:0, %0" : "=r"(thread_pointer));
  return static_cast<size_t>(thread_pointer -
                             static_cast<char*>(__tls_get_addr(index)));
}

}  // namespace mpc::loader
