#include "runtime/loader/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/tool_hints.h"

namespace mpc::loader {
namespace {

constexpr int kLowestDescriptor = 600;

const char* machine_name(uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "64-bit ARM";
    case EM_PPC64:
      return "POWER";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "another processor";
  }
}

Error bad(const std::string& path, const std::string& what) {
  return Error{Errc::kImage, fmt::format("{}: {}", path, what)};
}

Error system_error(const std::string& path, const char* action, int error) {
  const Errc code = error == ENOENT || error == ENOTDIR ? Errc::kNotFound
                    : error == EACCES                   ? Errc::kPermission
                                                        : Errc::kSystem;
  return Error{code,
               fmt::format("{}: cannot {}: {}", path, action, std::strerror(error))};
}

}  // namespace

int lift_descriptor(int fd) noexcept {
  const int lifted = ::fcntl(fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (lifted < 0) return fd;
  ::close(fd);
  return lifted;
}

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path) {
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = path;
  if (char* full = ::realpath(path.c_str(), nullptr)) {
    file->path_ = full;
    std::free(full);
  }
  // O_NONBLOCK: a FIFO would wait for who writes to it.
  file->fd_ = ::open(file->path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->fd_ < 0) return system_error(path, "open it", errno);
  file->fd_ = lift_descriptor(file->fd_);
  struct stat status {};
  if (::fstat(file->fd_, &status) != 0) return system_error(path, "read it", errno);
  if (S_ISDIR(status.st_mode))
    return Error{Errc::kPermission, fmt::format("{}: is a directory", path)};
  if (!S_ISREG(status.st_mode)) return bad(path, "is not a regular file");
  file->size_ = static_cast<size_t>(status.st_size);
  if (file->size_ == 0) return bad(path, "is empty");
  void* bytes = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, file->fd_, 0);
  if (bytes == MAP_FAILED) return system_error(path, "map it", errno);
  file->bytes_ = static_cast<const char*>(bytes);
  MPC_TRY(file->check_header());
  MPC_TRY(file->read_dynamic());
  return file;
}

ElfFile::~ElfFile() {
  if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
  if (fd_ >= 0) ::close(fd_);
}

Result<> ElfFile::move_to_memory() {
  const int memory = ::memfd_create("mpc-text", MFD_CLOEXEC);
  if (memory < 0) return system_error(path_, "copy it", errno);
  bool is_copied = true;
  for (size_t done = 0; is_copied && done < size_;) {
    const ssize_t count =
        ::pwrite(memory, bytes_ + done, size_ - done, static_cast<off_t>(done));
    is_copied = count > 0;
    done += is_copied ? static_cast<size_t>(count) : 0;
  }
  // Not mmap(), which ThreadSanitizer takes for a write of what ranks read.
  is_copied = is_copied && ::syscall(SYS_mmap, bytes_, size_, PROT_READ,
                                     MAP_PRIVATE | MAP_FIXED, memory, 0) != -1;
  is_copied = is_copied && ::dup3(memory, fd_, O_CLOEXEC) >= 0;
  const int error = errno;
  ::close(memory);
  return is_copied ? Result<>() : Result<>(system_error(path_, "copy it", error));
}

Result<> ElfFile::check_header() {
  if (size_ >= 2 && bytes_[0] == '#' && bytes_[1] == '!') {
    const std::string hint = hint_for_tool(path_);  // /usr/bin/valgrind is one, say
    return bad(
        path_,
        fmt::format(
            "is a script; only programs built by mpcc, mpcxx or mpcfort can run as "
            "ranks of one process; {}",
            hint.empty() ? kHintForScripts : hint));
  }
  if (size_ < SELFMAG || std::memcmp(bytes_, ELFMAG, SELFMAG) != 0)
    return bad(path_, "is not a program (no ELF file)");
  if (size_ < sizeof(Elf64_Ehdr)) return bad(path_, "is a truncated ELF file");
  const Elf64_Ehdr& e = header();
  if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != EM_X86_64)
    return bad(path_,
               fmt::format("is built for {}, this runtime for 64-bit x86",
                           e.e_ident[EI_CLASS] == ELFCLASS32 && e.e_machine == EM_X86_64
                               ? "x32"
                               : machine_name(e.e_machine)));
  if (e.e_type == ET_REL)
    return bad(path_, "is an object file, not a program; link it with mpcc");
  if (e.e_type == ET_CORE) return bad(path_, "is a core dump, not a program");
  if (e.e_type != ET_DYN && e.e_type != ET_EXEC) return bad(path_, "is not a program");
  if (e.e_phentsize != sizeof(Elf64_Phdr) || e.e_phoff > size_ || e.e_phoff % 8 != 0 ||
      e.e_phnum > (size_ - e.e_phoff) / sizeof(Elf64_Phdr))
    return bad(path_, "is a truncated ELF file");
  segments_ = {reinterpret_cast<const Elf64_Phdr*>(bytes_ + e.e_phoff), e.e_phnum};
  for (const Elf64_Phdr& p : segments_) {
    if (p.p_type == PT_NULL || p.p_type == PT_GNU_STACK) continue;
    if (p.p_offset > size_ || p.p_filesz > size_ - p.p_offset ||
        p.p_filesz > p.p_memsz || p.p_memsz > (uint64_t{1} << 46) ||
        p.p_vaddr > (uint64_t{1} << 46))
      return bad(path_, "is a truncated or damaged ELF file");
  }
  return {};
}

Result<> ElfFile::read_dynamic() {
  const Elf64_Phdr* p = segment(PT_DYNAMIC);
  if (p == nullptr) return {};  // statically linked: the caller says so
  if (p->p_offset % 8 != 0) return bad(path_, "is a damaged ELF file");
  dynamic_ = {reinterpret_cast<const Elf64_Dyn*>(bytes_ + p->p_offset),
              p->p_filesz / sizeof(Elf64_Dyn)};
  const auto end = std::find_if(dynamic_.begin(), dynamic_.end(),
                                [](const Elf64_Dyn& d) { return d.d_tag == DT_NULL; });
  dynamic_ = dynamic_.first(static_cast<size_t>(end - dynamic_.begin()));
  strings_ = at_address<char>(dynamic_value(DT_STRTAB), dynamic_value(DT_STRSZ));
  if (!strings_.empty() && strings_.back() != '\0') strings_ = {};
  symbols_ = at_address<Elf64_Sym>(dynamic_value(DT_SYMTAB), count_symbols());
  return {};
}

// The number stands in the section header; without sections, in DT_HASH; without that, the last
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

std::span<const Elf64_Shdr> ElfFile::sections() const noexcept {
  const Elf64_Ehdr& e = header();
  if (e.e_shoff == 0 || e.e_shoff % 8 != 0 || e.e_shoff > size_ ||
      e.e_shnum > (size_ - e.e_shoff) / sizeof(Elf64_Shdr))
    return {};
  return {reinterpret_cast<const Elf64_Shdr*>(bytes_ + e.e_shoff), e.e_shnum};
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

const Elf64_Phdr* ElfFile::segment(uint32_t type) const noexcept {
  for (const Elf64_Phdr& p : segments_)
    if (p.p_type == type) return &p;
  return nullptr;
}

uint64_t ElfFile::dynamic_value(int64_t tag, uint64_t fallback) const noexcept {
  for (const Elf64_Dyn& d : dynamic_)
    if (d.d_tag == tag) return d.d_un.d_val;
  return fallback;
}

bool ElfFile::has_dynamic(int64_t tag) const noexcept {
  return std::any_of(dynamic_.begin(), dynamic_.end(),
                     [tag](const Elf64_Dyn& d) { return d.d_tag == tag; });
}

const char* ElfFile::dynamic_string(uint64_t offset) const noexcept {
  return offset < strings_.size() ? strings_.data() + offset : "";
}

std::string ElfFile::soname() const {
  return has_dynamic(DT_SONAME) ? dynamic_string(dynamic_value(DT_SONAME)) : "";
}

std::vector<std::string> ElfFile::needed() const {
  std::vector<std::string> names;
  for (const Elf64_Dyn& d : dynamic_)
    if (d.d_tag == DT_NEEDED) names.emplace_back(dynamic_string(d.d_un.d_val));
  return names;
}

std::string ElfFile::run_path() const {
  return has_dynamic(DT_RUNPATH) ? dynamic_string(dynamic_value(DT_RUNPATH)) : "";
}

std::string ElfFile::inherited_path() const {
  if (has_dynamic(DT_RUNPATH) || !has_dynamic(DT_RPATH)) return "";
  return dynamic_string(dynamic_value(DT_RPATH));
}

std::string ElfFile::directory() const {
  const size_t slash = path_.rfind('/');
  return slash == std::string::npos ? "." : path_.substr(0, std::max<size_t>(slash, 1));
}

size_t ElfFile::offset_of(uint64_t vaddr) const noexcept {
  for (const Elf64_Phdr& p : segments_)
    if (p.p_type == PT_LOAD && vaddr >= p.p_vaddr && vaddr - p.p_vaddr < p.p_filesz)
      return p.p_offset + (vaddr - p.p_vaddr);
  return SIZE_MAX;
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
  // A definition without a version serves all that ask for one.
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

size_t ElfFile::memory_end() const noexcept {
  size_t end = 0;
  for (const Elf64_Phdr& p : segments_)
    if (p.p_type == PT_LOAD) end = std::max<size_t>(end, p.p_vaddr + p.p_memsz);
  return end;
}

size_t ElfFile::alignment() const noexcept {
  size_t alignment = kPageBytes;
  if (sections().empty())
    for (const Elf64_Phdr& p : segments_)
      if (p.p_type == PT_LOAD) alignment = std::max<size_t>(alignment, p.p_align);
  for (const Elf64_Shdr& section : sections())
    if ((section.sh_flags & SHF_ALLOC) != 0)
      alignment = std::max<size_t>(alignment, section.sh_addralign);
  return alignment;
}

}  // namespace mpc::loader
