#include "runtime/loader/master_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace mpc::loader {
namespace {

constexpr int64_t kIgnoredTag = 0x6fffeffe;  // outside all ranges that the linker reads

}  // namespace

Result<int> make_memory_file(const char* name, size_t bytes) {
  const int low = ::memfd_create(name, MFD_CLOEXEC);
  if (low < 0)
    return Error{Errc::kSystem,
                 fmt::format("cannot create a memory file: {}", std::strerror(errno))};
  const int fd = lift_descriptor(low);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    ::close(fd);
    return Error{Errc::kNoMem, fmt::format("cannot get {} bytes for a memory file: {}",
                                           bytes, std::strerror(error))};
  }
  return fd;
}

Result<std::unique_ptr<MasterFile>> MasterFile::make(const ElfFile& file) {
  std::unique_ptr<MasterFile> master(new MasterFile);
  master->original_ = &file;
  auto fd = make_memory_file("mpc-master", 0);
  if (!fd) return fd.error();
  master->fd_ = *fd;
  // Not /proc/self: a debugger would look it up among its own descriptors.
  master->path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), *fd);
  MPC_TRY(master->grow(file.size()));
  std::memcpy(master->bytes_, file.bytes(), file.size());
  return master;
}

MasterFile::~MasterFile() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
  if (fd_ >= 0 && !is_kept_) ::close(fd_);
}

Result<> MasterFile::grow(size_t bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0)
    return Error{Errc::kNoMem, fmt::format("{}: cannot copy it to memory: {}",
                                           original_->path(), std::strerror(errno))};
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
  void* map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) {
    bytes_ = nullptr;
    return Error{Errc::kNoMem, fmt::format("{}: cannot copy it to memory: {}",
                                           original_->path(), std::strerror(errno))};
  }
  bytes_ = static_cast<char*>(map);
  size_ = bytes;
  return {};
}

void MasterFile::hold_back_hooks() noexcept {
  const Elf64_Phdr* segment = original_->segment(PT_DYNAMIC);
  auto* dynamic = at<Elf64_Dyn>(segment->p_offset);
  for (size_t i = 0; i < original_->dynamic().size(); ++i) {
    Elf64_Dyn& d = dynamic[i];
    switch (d.d_tag) {
      case DT_FLAGS_1:
        d.d_un.d_val &= ~uint64_t{DF_1_PIE};
        break;
      case DT_SONAME:  // another program's library of the same name is a different one
      case DT_INIT:
      case DT_FINI:
        d.d_tag = kIgnoredTag;
        break;
      case DT_PREINIT_ARRAYSZ:
      case DT_INIT_ARRAYSZ:
      case DT_FINI_ARRAYSZ:
        d.d_un.d_val = 0;
        break;
      default:
        break;
    }
  }
  // We make each execution's stack executable, not the dynamic linker.
  auto* segments = at<Elf64_Phdr>(original_->header().e_phoff);
  for (size_t i = 0; i < original_->segments().size(); ++i)
    if (segments[i].p_type == PT_GNU_STACK) segments[i].p_flags &= ~uint32_t{PF_X};
}

Result<> MasterFile::redirect(const std::map<std::string, std::string>& path_of_name) {
  // The new names need a longer string table: it is placed after the end of the file, and a
  // program header that a master does not need (notes, unwinding) becomes its segment.
  const ElfFile& file = *original_;
  const auto headers = file.segments();
  size_t last_load = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < headers.size(); ++i)
    if (headers[i].p_type == PT_LOAD) {
      last_load = i;
      end = std::max(end, headers[i].p_vaddr + headers[i].p_memsz);
    }
  size_t spare = 0;
  for (size_t i = last_load + 1; i < headers.size() && spare == 0; ++i)
    if (const uint32_t type = headers[i].p_type;
        type == PT_NOTE || type == PT_GNU_PROPERTY || type == PT_GNU_EH_FRAME ||
        type == PT_GNU_RELRO)
      spare = i;
  if (spare == 0)
    return Error{
        Errc::kImage,
        fmt::format("{}: has no program header to spare, so its libraries cannot "
                    "be made private; link them statically",
                    file.path())};
  const size_t old_bytes = file.dynamic_value(DT_STRSZ);
  const auto old_strings =
      file.at_address<char>(file.dynamic_value(DT_STRTAB), old_bytes);
  std::string strings(old_strings.begin(), old_strings.end());
  std::map<std::string, uint64_t> string_of_name;
  for (const auto& [name, path] : path_of_name) {
    string_of_name[name] = strings.size();
    strings += path;
    strings += '\0';
  }
  const size_t offset = page_ceil(file.size());
  const uint64_t vaddr = page_ceil(end);
  MPC_TRY(grow(page_ceil(offset + strings.size())));
  std::memcpy(bytes_ + offset, strings.data(), strings.size());
  at<Elf64_Phdr>(file.header().e_phoff)[spare] = Elf64_Phdr{
      PT_LOAD, PF_R, offset, vaddr, vaddr, strings.size(), strings.size(), kPageBytes};
  auto* dynamic = at<Elf64_Dyn>(file.segment(PT_DYNAMIC)->p_offset);
  for (size_t i = 0; i < file.dynamic().size(); ++i) {
    Elf64_Dyn& d = dynamic[i];
    if (d.d_tag == DT_STRTAB) d.d_un.d_ptr = vaddr;
    if (d.d_tag == DT_STRSZ) d.d_un.d_val = strings.size();
    if (d.d_tag != DT_NEEDED) continue;
    const auto it = string_of_name.find(file.dynamic_string(d.d_un.d_val));
    if (it != string_of_name.end()) d.d_un.d_val = it->second;
  }
  redirect_versions(file, file.offset_of(file.dynamic_value(DT_VERNEED)),
                    string_of_name);
  return {};
}

// Symbol versions name the library that must have them.
void MasterFile::redirect_versions(
    const ElfFile& file, size_t offset,
    const std::map<std::string, uint64_t>& string_of_name) {
  if (!file.has_dynamic(DT_VERNEED) || offset == SIZE_MAX) return;
  for (uint64_t left = file.dynamic_value(DT_VERNEEDNUM); left > 0; --left) {
    if (offset + sizeof(Elf64_Verneed) > file.size()) return;
    auto* need = at<Elf64_Verneed>(offset);
    const auto it = string_of_name.find(file.dynamic_string(need->vn_file));
    if (it != string_of_name.end()) need->vn_file = static_cast<uint32_t>(it->second);
    if (need->vn_next == 0) return;
    offset += need->vn_next;
  }
}

void MasterFile::loosen_symbols() noexcept {
  const size_t offset = original_->offset_of(original_->dynamic_value(DT_SYMTAB));
  if (offset == SIZE_MAX) return;
  auto* symbols = at<Elf64_Sym>(offset);
  for (size_t i = 1; i < original_->dynamic_symbols().size(); ++i) {
    Elf64_Sym& s = symbols[i];
    const bool is_wanted =
        s.st_shndx == SHN_UNDEF && ELF64_ST_BIND(s.st_info) == STB_GLOBAL;
    if (is_wanted || ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE)
      s.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(s.st_info));
  }
}

void MasterFile::make_closable() noexcept {
  auto* dynamic = at<Elf64_Dyn>(original_->segment(PT_DYNAMIC)->p_offset);
  for (size_t i = 0; i < original_->dynamic().size(); ++i)
    if (dynamic[i].d_tag == DT_FLAGS_1)
      dynamic[i].d_un.d_val &= ~uint64_t{DF_1_NODELETE};
  const size_t offset = original_->offset_of(original_->dynamic_value(DT_SYMTAB));
  if (offset == SIZE_MAX) return;
  auto* symbols = at<Elf64_Sym>(offset);
  for (size_t i = 1; i < original_->dynamic_symbols().size(); ++i)
    if (ELF64_ST_BIND(symbols[i].st_info) == STB_GNU_UNIQUE)
      symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbols[i].st_info));
}

void MasterFile::drop_needed(const std::set<std::string>& names) noexcept {
  if (names.empty()) return;
  auto* dynamic = at<Elf64_Dyn>(original_->segment(PT_DYNAMIC)->p_offset);
  for (size_t i = 0; i < original_->dynamic().size(); ++i)
    if (dynamic[i].d_tag == DT_NEEDED &&
        names.contains(original_->dynamic_string(dynamic[i].d_un.d_val)))
      dynamic[i].d_tag = kIgnoredTag;
  drop_versions(names);
}

// The records of wanted versions are a chain of offsets.
void MasterFile::drop_versions(const std::set<std::string>& names) noexcept {
  size_t at_offset = original_->offset_of(original_->dynamic_value(DT_VERNEED));
  if (!original_->has_dynamic(DT_VERNEED) || at_offset == SIZE_MAX) return;
  std::set<uint16_t> gone;
  Elf64_Verneed* kept = nullptr;
  size_t skipped = 0;  // bytes between the start, or the last record kept, and this one
  size_t first = 0;
  size_t count = 0;
  for (uint64_t left = original_->dynamic_value(DT_VERNEEDNUM); left > 0; --left) {
    auto* need = at<Elf64_Verneed>(at_offset);
    const size_t next = need->vn_next;
    if (names.contains(original_->dynamic_string(need->vn_file))) {
      size_t aux = at_offset + need->vn_aux;
      for (unsigned k = 0; k < need->vn_cnt; ++k) {
        gone.insert(at<Elf64_Vernaux>(aux)->vna_other);
        aux += at<Elf64_Vernaux>(aux)->vna_next;
      }
    } else {
      if (kept != nullptr)
        kept->vn_next = static_cast<uint32_t>(skipped);
      else
        first = skipped;
      kept = need;
      skipped = 0;
      ++count;
    }
    skipped += next;
    at_offset += next;
    if (next == 0) break;
  }
  if (kept != nullptr) kept->vn_next = 0;
  auto* dynamic = at<Elf64_Dyn>(original_->segment(PT_DYNAMIC)->p_offset);
  for (size_t i = 0; i < original_->dynamic().size(); ++i) {
    Elf64_Dyn& d = dynamic[i];
    if (d.d_tag == DT_VERNEED) {
      d.d_un.d_ptr += first;
      if (count == 0) d.d_tag = kIgnoredTag;
    } else if (d.d_tag == DT_VERNEEDNUM) {
      d.d_un.d_val = count;
      if (count == 0) d.d_tag = kIgnoredTag;
    }
  }
  forget_versions(gone, count == 0 && !original_->has_dynamic(DT_VERDEF));
}

void MasterFile::forget_versions(const std::set<uint16_t>& numbers,
                                 bool are_all_gone) noexcept {
  const size_t offset = original_->offset_of(original_->dynamic_value(DT_VERSYM));
  if (!original_->has_dynamic(DT_VERSYM) || offset == SIZE_MAX) return;
  auto* versions = at<uint16_t>(offset);
  for (size_t i = 0; i < original_->dynamic_symbols().size(); ++i)
    if (numbers.contains(versions[i] & 0x7fff)) versions[i] = VER_NDX_GLOBAL;
  if (!are_all_gone) return;
  auto* dynamic = at<Elf64_Dyn>(original_->segment(PT_DYNAMIC)->p_offset);
  for (size_t i = 0; i < original_->dynamic().size(); ++i)
    if (dynamic[i].d_tag == DT_VERSYM) dynamic[i].d_tag = kIgnoredTag;
}

void MasterFile::set_thread_locals(size_t bytes) noexcept {
  auto* segments = at<Elf64_Phdr>(original_->header().e_phoff);
  for (size_t i = 0; i < original_->segments().size(); ++i) {
    if (segments[i].p_type != PT_TLS) continue;
    segments[i].p_memsz = bytes;
    segments[i].p_align = 1;
  }
}

size_t MasterFile::extend_thread_locals(size_t bytes) noexcept {
  auto* segments = at<Elf64_Phdr>(original_->header().e_phoff);
  for (size_t i = 0; i < original_->segments().size(); ++i) {
    if (segments[i].p_type != PT_TLS) continue;
    const size_t old = segments[i].p_memsz;
    segments[i].p_memsz += bytes;
    return old;
  }
  return 0;
}

}  // namespace mpc::loader
