// The tables that the dynamic section points to: symbols, hash tables, versions, relocations.
#include <algorithm>

#include "runtime/loader/integrity.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/module_layout.h"

namespace mpc::loader::integrity {
namespace {

constexpr uint16_t kVersionMask =
    0x7fff;  // the other bit says that a version is not the default

// Chains of the GNU hash table end with an odd hash value; all of them must lie in the file.
const char* find_damaged_gnu_hash(const ElfFile& file) noexcept {
  constexpr const char* kDamage = "its hash table";
  const uint64_t table = file.dynamic_value(DT_GNU_HASH);
  const auto head = file.at_address<uint32_t>(table, 4);
  if (head.empty()) return kDamage;
  const uint32_t bucket_count = head[0], first = head[1], words = head[2];
  const uint64_t buckets_at = table + 16 + uint64_t{words} * 8;
  const auto buckets = file.at_address<uint32_t>(buckets_at, bucket_count);
  if (words == 0 || (words & (words - 1)) != 0 || buckets.size() != bucket_count ||
      file.at_address<uint64_t>(table + 16, words).empty())
    return kDamage;
  uint64_t last = 0;
  for (const uint32_t bucket : buckets) {
    if (bucket != 0 && bucket < first) return kDamage;
    last = std::max<uint64_t>(last, bucket);
  }
  const size_t symbols = file.dynamic_symbols().size();
  if (last == 0) return nullptr;
  if (last >= symbols) return kDamage;
  const auto chains = file.at_address<uint32_t>(buckets_at + uint64_t{bucket_count} * 4,
                                                symbols - first);
  return !chains.empty() && (chains.back() & 1) != 0 ? nullptr : kDamage;
}

// Chains are lists of symbol numbers; none may be circular.
const char* find_damaged_old_hash(const ElfFile& file) noexcept {
  constexpr const char* kDamage = "its hash table";
  const uint64_t table = file.dynamic_value(DT_HASH);
  const auto head = file.at_address<uint32_t>(table, 2);
  if (head.empty()) return kDamage;
  const auto numbers =
      file.at_address<uint32_t>(table + 8, uint64_t{head[0]} + head[1]);
  const size_t symbols = file.dynamic_symbols().size();
  if (numbers.size() != uint64_t{head[0]} + head[1] || head[1] > symbols)
    return kDamage;
  const auto chains = numbers.subspan(head[0]);
  size_t steps = 0;
  for (uint32_t next : numbers.first(head[0]))
    for (; next != 0; next = chains[next])
      if (next >= chains.size() || ++steps > chains.size()) return kDamage;
  return nullptr;
}

// A record of a chain in which each says how far away the next one is; null after the last one.
template <class T>
const T* record_at(const ElfFile& file, uint64_t vaddr) noexcept {
  const auto record = file.at_address<T>(vaddr, 1);
  return record.empty() ? nullptr : record.data();
}

// The dynamic linker assumes that the library is loaded.
bool is_needed(const ElfFile& file, const char* name) noexcept {
  for (const Elf64_Dyn& d : file.dynamic())
    if (d.d_tag == DT_NEEDED &&
        std::string_view(file.dynamic_string(d.d_un.d_val)) == name)
      return true;
  return is_loaded(name);
}

// Finds the largest number of a wanted version; false: damaged.
bool walk_wanted(const ElfFile& file, unsigned& largest) noexcept {
  for (uint64_t at = file.dynamic_value(DT_VERNEED);;) {
    const auto* need = record_at<Elf64_Verneed>(file, at);
    if (need == nullptr || !is_string(file, need->vn_file) ||
        !is_needed(file, file.dynamic_string(need->vn_file)))
      return false;
    for (uint64_t aux_at = at + need->vn_aux;;) {
      const auto* aux = record_at<Elf64_Vernaux>(file, aux_at);
      if (aux == nullptr || !is_string(file, aux->vna_name)) return false;
      largest = std::max<unsigned>(largest, aux->vna_other & kVersionMask);
      if (aux->vna_next == 0) break;
      aux_at += aux->vna_next;
    }
    if (need->vn_next == 0) return true;
    at += need->vn_next;
  }
}

bool walk_defined(const ElfFile& file, unsigned& largest) noexcept {
  for (uint64_t at = file.dynamic_value(DT_VERDEF);;) {
    const auto* definition = record_at<Elf64_Verdef>(file, at);
    if (definition == nullptr) return false;
    const auto* name = record_at<Elf64_Verdaux>(file, at + definition->vd_aux);
    if (name == nullptr || !is_string(file, name->vda_name)) return false;
    largest = std::max<unsigned>(largest, definition->vd_ndx & kVersionMask);
    if (definition->vd_next == 0) return true;
    at += definition->vd_next;
  }
}

const char* find_damaged_relocation(const ElfFile& file, const Elf64_Rela& r) noexcept {
  const uint32_t type = ELF64_R_TYPE(r.r_info);
  if (type == R_X86_64_NONE) return nullptr;
  const size_t bytes = type == R_X86_64_TLSDESC ? 16 : 8;
  const size_t index = ELF64_R_SYM(r.r_info);
  if (type == R_X86_64_COPY && index < file.dynamic_symbols().size() &&
      !is_writable(file, r.r_offset, file.dynamic_symbols()[index].st_size))
    return "a variable of a library that does not fit";
  if (!is_writable(file, r.r_offset, bytes))
    return "a relocation that is not for its data";
  if (index != 0 && index >= file.dynamic_symbols().size())
    return "a relocation for a symbol that is not there";
  if (type == R_X86_64_IRELATIVE && !is_code(file, static_cast<uint64_t>(r.r_addend)))
    return "an indirect function";
  return nullptr;
}

const char* find_damaged_table(const ElfFile& file, uint64_t vaddr,
                               uint64_t bytes) noexcept {
  const auto table = file.at_address<Elf64_Rela>(vaddr, bytes / sizeof(Elf64_Rela));
  if (bytes % sizeof(Elf64_Rela) != 0 || table.size() * sizeof(Elf64_Rela) != bytes)
    return "a table of relocations";
  for (const Elf64_Rela& r : table)
    if (const char* damage = find_damaged_relocation(file, r)) return damage;
  return nullptr;
}

// The dynamic linker applies the first ones without checking their type.
bool counts_relative(const ElfFile& file) noexcept {
  const uint64_t count = file.dynamic_value(DT_RELACOUNT);
  const auto table = file.at_address<Elf64_Rela>(file.dynamic_value(DT_RELA), count);
  return count <= file.dynamic_value(DT_RELASZ) / sizeof(Elf64_Rela) &&
         std::ranges::all_of(table, [](const Elf64_Rela& r) {
           return ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE;
         });
}

bool packed_are_data(const ElfFile& file) noexcept {
  bool are_data = true;
  for_each_packed(file, [&](uint64_t vaddr) {
    are_data = are_data && is_writable(file, vaddr, sizeof(uint64_t));
  });
  return are_data;
}

}  // namespace

const char* find_damaged_symbols(const ElfFile& file) noexcept {
  if (!file.has_dynamic(DT_SYMTAB) || file.dynamic_symbols().empty() ||
      file.dynamic_value(DT_SYMENT, sizeof(Elf64_Sym)) != sizeof(Elf64_Sym))
    return "its table of symbols";
  for (const Elf64_Sym& s : file.dynamic_symbols()) {
    if (!is_string(file, s.st_name)) return "the name of a symbol";
    if (ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC && s.st_shndx != SHN_UNDEF &&
        !is_code(file, s.st_value))
      return "an indirect function";
  }
  return nullptr;
}

const char* find_damaged_hash(const ElfFile& file) noexcept {
  if (file.has_dynamic(DT_GNU_HASH))  // then the dynamic linker reads no other one
    return find_damaged_gnu_hash(file);
  return file.has_dynamic(DT_HASH) ? find_damaged_old_hash(file) : nullptr;
}

const char* find_damaged_versions(const ElfFile& file) noexcept {
  constexpr const char* kDamage = "its versions of symbols";
  if (!file.has_dynamic(DT_VERSYM))
    return file.has_dynamic(DT_VERNEED) || file.has_dynamic(DT_VERDEF) ? kDamage
                                                                       : nullptr;
  unsigned largest = VER_NDX_GLOBAL;
  if (file.has_dynamic(DT_VERNEED) && !walk_wanted(file, largest)) return kDamage;
  if (file.has_dynamic(DT_VERDEF) && !walk_defined(file, largest)) return kDamage;
  const size_t count = file.dynamic_symbols().size();
  const auto versions = file.at_address<uint16_t>(file.dynamic_value(DT_VERSYM), count);
  if (versions.size() != count) return kDamage;
  for (const uint16_t version : versions)
    if ((version & kVersionMask) > largest) return kDamage;
  return nullptr;
}

const char* find_damaged_relocations(const ElfFile& file) noexcept {
  if (file.dynamic_value(DT_RELAENT, sizeof(Elf64_Rela)) != sizeof(Elf64_Rela) ||
      file.dynamic_value(DT_RELRENT, sizeof(uint64_t)) != sizeof(uint64_t) ||
      file.has_dynamic(DT_REL) ||
      (file.has_dynamic(DT_PLTREL) && file.dynamic_value(DT_PLTREL) != DT_RELA) ||
      !counts_relative(file))
    return "a table of relocations";
  if (!packed_are_data(file)) return "its packed relocations";
  if (const char* damage = find_damaged_table(file, file.dynamic_value(DT_RELA),
                                              file.dynamic_value(DT_RELASZ)))
    return damage;
  return find_damaged_table(file, file.dynamic_value(DT_JMPREL),
                            file.dynamic_value(DT_PLTRELSZ));
}

}  // namespace mpc::loader::integrity
