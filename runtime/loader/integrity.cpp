#include "runtime/loader/integrity.h"

#include <algorithm>
#include <bit>

namespace mpc::loader {
namespace integrity {

const Elf64_Phdr* segment_around(const ElfFile& file, uint64_t vaddr,
                                 uint64_t bytes) noexcept {
  for (const Elf64_Phdr& p : file.segments())
    if (p.p_type == PT_LOAD && vaddr >= p.p_vaddr && vaddr - p.p_vaddr <= p.p_memsz &&
        bytes <= p.p_memsz - (vaddr - p.p_vaddr))
      return &p;
  return nullptr;
}

bool is_writable(const ElfFile& file, uint64_t vaddr, uint64_t bytes) noexcept {
  const Elf64_Phdr* segment = segment_around(file, vaddr, bytes);
  return segment != nullptr && (segment->p_flags & PF_W) != 0;
}

bool is_code(const ElfFile& file, uint64_t vaddr) noexcept {
  const Elf64_Phdr* segment = segment_around(file, vaddr, 1);
  return segment != nullptr && (segment->p_flags & PF_X) != 0;
}

bool is_string(const ElfFile& file, uint64_t offset) noexcept {
  return offset < file.dynamic_value(DT_STRSZ);
}

}  // namespace integrity

namespace {

using namespace integrity;

// More than any program needs, and still possible to reserve.
constexpr uint64_t kMostThreadLocalBytes = uint64_t{1} << 32;
constexpr uint64_t kMostAlignment = uint64_t{1} << 30;

bool is_alignment(uint64_t value) noexcept {
  return value == 0 || (std::has_single_bit(value) && value <= kMostAlignment);
}

// The dynamic linker reserves from the first to the last segment, and maps the others over that.
const char* find_damaged_loads(const ElfFile& file) noexcept {
  uint64_t end = 0;
  for (const Elf64_Phdr& p : file.segments()) {
    if (p.p_type != PT_LOAD) continue;
    if (p.p_vaddr < end) return "its segments overlap or are out of order";
    if (!is_alignment(p.p_align)) return "the alignment of a segment";
    if ((p.p_vaddr - p.p_offset) % kPageBytes != 0)
      return "the place of a segment in the file";
    end = p.p_vaddr + p.p_memsz;
  }
  return end == 0 ? "it has nothing to load" : nullptr;
}

const char* find_damaged_segment(const ElfFile& file, const Elf64_Phdr& p) noexcept {
  const bool is_read = p.p_filesz > 0;
  switch (p.p_type) {
    case PT_DYNAMIC:
      return file.offset_of(p.p_vaddr) == p.p_offset &&
                     segment_around(file, p.p_vaddr, p.p_memsz) != nullptr &&
                     ((p.p_flags & PF_W) == 0 ||
                      is_writable(file, p.p_vaddr, p.p_memsz))
                 ? nullptr
                 : "the place of its dynamic section";
    case PT_PHDR:  // in memory it is found there
      return file.offset_of(p.p_vaddr) == file.header().e_phoff ? nullptr
                                                                : "its program headers";
    case PT_TLS:
      return p.p_memsz <= kMostThreadLocalBytes && is_alignment(p.p_align) &&
                     (!is_read ||
                      segment_around(file, p.p_vaddr, p.p_filesz) != nullptr)
                 ? nullptr
                 : "its thread_local variables";
    case PT_NOTE:
    case PT_GNU_PROPERTY:
    case PT_GNU_EH_FRAME:
      return !is_read || segment_around(file, p.p_vaddr, p.p_memsz) != nullptr
                 ? nullptr
                 : "the place of a note";
    case PT_GNU_RELRO: {  // made read-only, in whole pages; may end with one
      const Elf64_Phdr* around = segment_around(file, p.p_vaddr, 0);
      return p.p_memsz == 0 || (around != nullptr && (around->p_flags & PF_W) != 0 &&
                                page_ceil(p.p_vaddr + p.p_memsz) <=
                                    page_ceil(around->p_vaddr + around->p_memsz))
                 ? nullptr
                 : "the data that are read-only after its start";
    }
    default:
      return nullptr;
  }
}

const char* find_damaged_segments(const ElfFile& file) noexcept {
  if (const char* damage = find_damaged_loads(file)) return damage;
  for (const uint32_t type : {PT_DYNAMIC, PT_TLS, PT_PHDR, PT_GNU_RELRO})
    if (std::ranges::count(file.segments(), type, &Elf64_Phdr::p_type) > 1)
      return "a program header is there twice";
  for (const Elf64_Phdr& p : file.segments())
    if (const char* damage = find_damaged_segment(file, p)) return damage;
  return nullptr;
}

// Tags that may occur several times in a file; of the others
// the dynamic linker uses the last, we the first.
bool may_repeat(int64_t tag) noexcept {
  return tag == DT_NEEDED || tag == DT_AUXILIARY || tag == DT_FILTER ||
         (tag >= DT_NUM && (tag < DT_VALRNGLO || tag > DT_VERNEEDNUM));
}

bool names_string(int64_t tag) noexcept {
  return tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH ||
         tag == DT_AUXILIARY || tag == DT_FILTER || tag == DT_AUDIT ||
         tag == DT_DEPAUDIT;
}

// With an empty name the dynamic linker would take the program for a library of itself.
bool names_nothing(const ElfFile& file, const Elf64_Dyn& entry) noexcept {
  const int64_t tag = entry.d_tag;
  return (tag == DT_NEEDED || tag == DT_AUXILIARY || tag == DT_FILTER) &&
         *file.dynamic_string(entry.d_un.d_val) == '\0';
}

const char* find_damaged_dynamic(const ElfFile& file) noexcept {
  const auto entries = file.dynamic();
  // The dynamic linker reads on to the entry that ends the table.
  if (entries.size() >= file.segment(PT_DYNAMIC)->p_filesz / sizeof(Elf64_Dyn))
    return "its dynamic section has no end";
  const auto strings = file.at_address<char>(file.dynamic_value(DT_STRTAB),
                                             file.dynamic_value(DT_STRSZ));
  if (!file.has_dynamic(DT_STRTAB) || strings.empty() || strings.back() != '\0')
    return "its table of strings";
  for (size_t i = 0; i < entries.size(); ++i) {
    const int64_t tag = entries[i].d_tag;
    if ((names_string(tag) && !is_string(file, entries[i].d_un.d_val)) ||
        names_nothing(file, entries[i]))
      return "the name of a library or path";
    const auto rest = entries.subspan(i + 1);
    if (!may_repeat(tag) &&
        std::ranges::find(rest, tag, &Elf64_Dyn::d_tag) != rest.end())
      return "an entry of its dynamic section is there twice";
  }
  return nullptr;
}

}  // namespace

const char* find_damage(const ElfFile& file) noexcept {
  for (const auto find :
       {find_damaged_segments, find_damaged_dynamic, find_damaged_symbols,
        find_damaged_hash, find_damaged_versions, find_damaged_relocations})
    if (const char* damage = find(file)) return damage;
  return nullptr;
}

}  // namespace mpc::loader
