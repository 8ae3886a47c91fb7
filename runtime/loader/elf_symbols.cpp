// ElfFile: its symbols, by name, by version, by address.
#include <algorithm>

#include "runtime/loader/elf_file.h"

namespace mpc::loader {

// The number is in the section header; without sections, in DT_HASH; without that, the last
// chain of the GNU hash table leads to the last symbol.
size_t ElfFile::count_symbols() const noexcept {
  for (const Elf64_Shdr& section : sections())
    if (section.sh_type == SHT_DYNSYM) return section.sh_size / sizeof(Elf64_Sym);
  if (const auto hash = at_address<uint32_t>(dynamic_value(DT_HASH), 2);
      has_dynamic(DT_HASH) && !hash.empty())
    return hash[1];
  const uint64_t table = dynamic_value(DT_GNU_HASH);
  const auto head = at_address<uint32_t>(table, 4);
  if (!has_dynamic(DT_GNU_HASH) || head.empty()) return 0;
  const uint64_t buckets_at = table + 16 + uint64_t{head[2]} * 8;
  const auto buckets = at_address<uint32_t>(buckets_at, head[0]);
  const uint32_t first = head[1];
  uint64_t last = 0;
  for (const uint32_t bucket : buckets) last = std::max<uint64_t>(last, bucket);
  if (last < first) return first;  // none is defined
  const uint64_t chains_at = buckets_at + uint64_t{head[0]} * 4;
  for (;; ++last) {
    const auto chain = at_address<uint32_t>(chains_at + (last - first) * 4, 1);
    if (chain.empty()) return 0;
    if ((chain[0] & 1) != 0) return last + 1;
  }
}

bool ElfFile::is_definition(size_t index, std::string_view name) const noexcept {
  constexpr uint16_t kHiddenVersion = 0x8000;
  const Elf64_Sym& s = symbols_[index];
  if (s.st_shndx == SHN_UNDEF || ELF64_ST_BIND(s.st_info) == STB_LOCAL ||
      ELF64_ST_TYPE(s.st_info) == STT_TLS || name != dynamic_string(s.st_name))
    return false;
  if (!has_dynamic(DT_VERSYM)) return true;
  const auto versions = at_address<uint16_t>(dynamic_value(DT_VERSYM), symbols_.size());
  return versions.empty() || (versions[index] & kHiddenVersion) == 0;
}

// Source: the GNU hash table's layout as in the dynamic linker: 4 words (buckets, first
// symbol, size of the Bloom filter, its shift), filter, buckets, hash values.
template <class Accept>
const Elf64_Sym* ElfFile::look_up(std::string_view name, Accept accept) const noexcept {
  const uint64_t table = dynamic_value(DT_GNU_HASH);
  const auto head = at_address<uint32_t>(table, 4);
  if (!has_dynamic(DT_GNU_HASH) || head.empty() || head[0] == 0) {
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (accept(i)) return &symbols_[i];
    return nullptr;
  }
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const auto filter = at_address<uint64_t>(table + 16, head[2]);
  if (!filter.empty()) {
    const uint64_t word = filter[hash / 64 % head[2]];
    if ((word >> hash % 64 & word >> (hash >> head[3] % 32) % 64 & 1) == 0)
      return nullptr;
  }
  const uint64_t buckets_at = table + 16 + uint64_t{head[2]} * 8;
  const auto buckets = at_address<uint32_t>(buckets_at, head[0]);
  if (buckets.empty()) return nullptr;
  const uint32_t first = head[1];
  for (uint32_t i = buckets[hash % head[0]]; i >= first && i < symbols_.size(); ++i) {
    const auto chain =
        at_address<uint32_t>(buckets_at + (uint64_t{head[0]} + i - first) * 4, 1);
    if (chain.empty()) return nullptr;
    if ((chain[0] | 1) == (hash | 1) && accept(i)) return &symbols_[i];
    if ((chain[0] & 1) != 0) return nullptr;
  }
  return nullptr;
}

const Elf64_Sym* ElfFile::find_definition(std::string_view name) const noexcept {
  return look_up(name, [&](size_t i) { return is_definition(i, name); });
}

const Elf64_Sym* ElfFile::find_version(std::string_view name,
                                       std::string_view version) const noexcept {
  return look_up(name, [&](size_t i) {
    const Elf64_Sym& s = symbols_[i];
    return s.st_shndx != SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_LOCAL &&
           name == dynamic_string(s.st_name) && is_version(i, version);
  });
}

bool ElfFile::is_version(size_t index, std::string_view version) const noexcept {
  constexpr uint16_t kHidden = 0x8000;
  if (!has_dynamic(DT_VERSYM)) return true;
  const auto versions = at_address<uint16_t>(dynamic_value(DT_VERSYM), symbols_.size());
  if (versions.empty()) return true;
  if (version.empty()) return (versions[index] & kHidden) == 0;
  const auto number = static_cast<uint16_t>(versions[index] & ~kHidden);
  // A definition without a version serves all references that ask for one.
  if (number <= VER_NDX_GLOBAL) return (versions[index] & kHidden) == 0;
  const std::string_view defined = defined_version(number);
  return defined.empty() || defined == version;
}

std::string_view ElfFile::defined_version(uint16_t number) const noexcept {
  uint64_t at = dynamic_value(DT_VERDEF);
  for (uint64_t left = dynamic_value(DT_VERDEFNUM); left > 0; --left) {
    const auto definition = at_address<Elf64_Verdef>(at, 1);
    if (definition.empty()) return "";
    if (definition[0].vd_ndx == number) {
      const auto name = at_address<Elf64_Verdaux>(at + definition[0].vd_aux, 1);
      return name.empty() ? "" : dynamic_string(name[0].vda_name);
    }
    if (definition[0].vd_next == 0) return "";
    at += definition[0].vd_next;
  }
  return "";
}

std::string_view ElfFile::wanted_version(size_t index) const noexcept {
  if (!has_dynamic(DT_VERSYM)) return "";
  const auto versions = at_address<uint16_t>(dynamic_value(DT_VERSYM), symbols_.size());
  if (index >= versions.size()) return "";
  const uint16_t number = versions[index] & 0x7fff;
  if (number <= VER_NDX_GLOBAL) return "";
  uint64_t at = dynamic_value(DT_VERNEED);
  for (uint64_t left = dynamic_value(DT_VERNEEDNUM); left > 0; --left) {
    const auto need = at_address<Elf64_Verneed>(at, 1);
    if (need.empty()) break;
    uint64_t aux_at = at + need[0].vn_aux;
    for (unsigned k = 0; k < need[0].vn_cnt; ++k) {
      const auto aux = at_address<Elf64_Vernaux>(aux_at, 1);
      if (aux.empty()) break;
      if (aux[0].vna_other == number) return dynamic_string(aux[0].vna_name);
      aux_at += aux[0].vna_next;
    }
    if (need[0].vn_next == 0) break;
    at += need[0].vn_next;
  }
  return defined_version(number);  // it may be the file's own
}

const Elf64_Sym* ElfFile::find_symbol_at(uint64_t vaddr,
                                         const char** name) const noexcept {
  std::span<const Elf64_Sym> symbols = symbols_;
  std::span<const char> strings = strings_;
  for (const Elf64_Shdr& s : sections()) {
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections().size()) continue;
    const Elf64_Shdr& t = sections()[s.sh_link];
    if (s.sh_offset > size_ || s.sh_size > size_ - s.sh_offset || t.sh_offset > size_ ||
        t.sh_size > size_ - t.sh_offset || t.sh_size == 0 || s.sh_offset % 8 != 0 ||
        bytes_[t.sh_offset + t.sh_size - 1] != '\0')
      continue;
    symbols = {reinterpret_cast<const Elf64_Sym*>(bytes_ + s.sh_offset),
               s.sh_size / sizeof(Elf64_Sym)};
    strings = {bytes_ + t.sh_offset, t.sh_size};
  }
  const Elf64_Sym* best = nullptr;
  for (const Elf64_Sym& s : symbols) {
    const int type = ELF64_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT) ||
        vaddr < s.st_value || (s.st_size != 0 && vaddr - s.st_value >= s.st_size) ||
        s.st_name >= strings.size())
      continue;
    if (best == nullptr || s.st_value > best->st_value) best = &s;
  }
  if (best != nullptr) *name = strings.data() + best->st_name;
  return best;
}

}  // namespace mpc::loader
