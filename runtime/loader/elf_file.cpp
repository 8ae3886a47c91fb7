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
  // O_NONBLOCK: opening a FIFO would wait for a writer.
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
  // Not mmap(), which ThreadSanitizer would treat as a write to what ranks read.
  is_copied = is_copied && ::syscall(SYS_mmap, bytes_, size_, PROT_READ,
                                     MAP_PRIVATE | MAP_FIXED, memory, 0) != -1;
  is_copied = is_copied && ::dup3(memory, fd_, O_CLOEXEC) >= 0;
  const int error = errno;
  ::close(memory);
  return is_copied ? Result<>() : Result<>(system_error(path_, "copy it", error));
}

Result<> ElfFile::check_header() {
  if (size_ >= 2 && bytes_[0] == '#' && bytes_[1] == '!') {
    const std::string hint = hint_for_tool(path_);  // for example for /usr/bin/valgrind
    return bad(
        path_,
        fmt::format(
            "is a script; only programs built by mpcc, mpcxx or mpcfort can run as "
            "ranks of one process; {}, {}",
            hint.empty() ? kHintForScripts : hint, kOwnProcess));
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
  if (p == nullptr) return {};  // statically linked: the caller reports it
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

std::span<const Elf64_Shdr> ElfFile::sections() const noexcept {
  const Elf64_Ehdr& e = header();
  if (e.e_shoff == 0 || e.e_shoff % 8 != 0 || e.e_shoff > size_ ||
      e.e_shnum > (size_ - e.e_shoff) / sizeof(Elf64_Shdr))
    return {};
  return {reinterpret_cast<const Elf64_Shdr*>(bytes_ + e.e_shoff), e.e_shnum};
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
