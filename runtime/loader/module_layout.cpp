#include "runtime/loader/module_layout.h"
#include "base/settings.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace mpc::loader {
namespace {

// A bss of at most this size is mapped together with the data (one mapping less for each
// copy); a larger one is anonymous memory, which the kernel can fill with large pages.
constexpr size_t kSmallBssBytes = size_t{64} * 1024;

// Statics without initial values that are at least this large may have huge pages, as large blocks
// of the heap do (runtime/heap/large.h).
IntSetting s_huge_pages{
    "loader.huge_pages",
    4 << 20,
    "bytes",
    "Static arrays of a program or library that have no initial values get huge "
    "pages if they take so much together; 0: never",
    0,
    INT64_MAX};

constexpr int64_t kTagRelr = 36;
constexpr int64_t kTagRelrBytes = 35;
constexpr uint32_t kBitmap = 1;  // low bit of an entry of DT_RELR

// Neighbours with the same distance between address and file offset become one mapping.
void add_text(Module& m, const Elf64_Phdr& p) {
  const size_t vaddr = page_floor(p.p_vaddr);
  const size_t offset = page_floor(p.p_offset);
  const size_t end = page_ceil(p.p_vaddr + p.p_filesz);
  const int protection = PROT_READ | ((p.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  if (!m.text.empty()) {
    FileMap& last = m.text.back();
    if (vaddr - last.vaddr == offset - last.file_offset) {
      last.bytes = end - last.vaddr;
      last.protection |= protection;
      return;
    }
    last.bytes = vaddr - last.vaddr;
  }
  m.text.push_back({vaddr, end - vaddr, offset, protection});
}

}  // namespace

size_t lay_out(Module& m) {
  size_t file_end = 0;
  size_t memory_end = 0;
  m.data_begin = SIZE_MAX;
  for (const Elf64_Phdr& p : m.file->segments()) {
    if (p.p_type != PT_LOAD) continue;
    if ((p.p_flags & PF_W) != 0)
      m.data_begin = std::min(m.data_begin, page_floor(p.p_vaddr));
    if (p.p_vaddr >= m.data_begin) file_end = page_ceil(p.p_vaddr + p.p_filesz);
    memory_end = std::max(memory_end, p.p_vaddr + p.p_memsz);
    if (p.p_vaddr < m.data_begin) add_text(m, p);
  }
  m.data_end = page_ceil(memory_end);
  if (m.data_begin == SIZE_MAX) m.data_begin = file_end = m.data_end;
  m.data_file_end = file_end;
  // Closes the gap before the data, so that it is no mapping of its own.
  if (!m.text.empty()) m.text.back().bytes = m.data_begin - m.text.back().vaddr;
  extend_data(m, m.data_end);
  return memory_end;
}

void extend_data(Module& m, size_t end) {
  const bool is_without_data = m.data_file_end == m.data_begin;
  m.data_end = page_ceil(end);
  if (is_without_data) m.data_file_end = m.data_end;
  m.is_bss_in_image = m.data_end - m.data_file_end <= kSmallBssBytes;
  m.span_bytes = m.data_end;
}

void extend_file_data(Module& m, size_t end) {
  m.data_file_end = std::max(m.data_file_end, page_ceil(end));
  extend_data(m, m.data_end);
}

Hooks hooks_of(const ElfFile& f) {
  return {f.dynamic_value(DT_INIT),
          f.dynamic_value(DT_INIT_ARRAY),
          f.dynamic_value(DT_INIT_ARRAYSZ) / sizeof(void*),
          f.dynamic_value(DT_FINI),
          f.dynamic_value(DT_FINI_ARRAY),
          f.dynamic_value(DT_FINI_ARRAYSZ) / sizeof(void*)};
}

void copy_master_data(const Module& m, char* image) {
  for (const Elf64_Phdr& p : m.file->segments()) {
    if (p.p_type != PT_LOAD || p.p_vaddr + p.p_filesz <= m.data_begin) continue;
    const size_t begin = std::max(page_floor(p.p_vaddr), m.data_begin);
    const size_t end = p.p_vaddr + p.p_filesz;
    std::memcpy(image + m.image_offset + (begin - m.data_begin),
                reinterpret_cast<const char*>(m.master_base() + begin), end - begin);
  }
}

bool map_module(const Module& m, char* base, int image_fd) {
  const auto map = [](char* at, size_t bytes, int protection, int fd, size_t offset) {
    const int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);
    return bytes == 0 || ::mmap(at, bytes, protection, flags, fd,
                                static_cast<off_t>(offset)) != MAP_FAILED;
  };
  constexpr int kData = PROT_READ | PROT_WRITE;
  for (const FileMap& t : m.text)
    if (!map(base + t.vaddr, t.bytes, t.protection, m.file->fd(), t.file_offset))
      return false;
  const size_t image_end = m.is_bss_in_image ? m.data_end : m.data_file_end;
  if (!map(base + m.data_begin, image_end - m.data_begin, kData, image_fd,
           m.image_offset) ||
      !map(base + image_end, m.data_end - image_end, kData, -1, 0))
    return false;
  // A kernel without huge pages may refuse.
  const auto least = static_cast<size_t>(s_huge_pages.get());
  if (least != 0 && m.data_end - image_end >= least)
    ::madvise(base + image_end, m.data_end - image_end, MADV_HUGEPAGE);
  return true;
}

// An address, then bitmaps for the 63 words after it, and so on.
void for_each_packed(const ElfFile& file, const std::function<void(uint64_t)>& visit) {
  const auto table =
      file.at_address<uint64_t>(file.dynamic_value(kTagRelr),
                                file.dynamic_value(kTagRelrBytes) / sizeof(uint64_t));
  uint64_t next = 0;
  for (const uint64_t entry : table) {
    if ((entry & kBitmap) == 0) {
      visit(entry);
      next = entry + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; ++bit)
      if ((entry >> bit & 1) != 0) visit(next + size_t{bit - 1} * 8);
    next += size_t{63} * 8;
  }
}

}  // namespace mpc::loader
