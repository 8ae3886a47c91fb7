#include "tools/mpcc/elf_patch.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace mpcc {
namespace {

void patch(char* bytes, size_t size) {
  if (size < sizeof(Elf64_Ehdr) || std::memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
      bytes[EI_CLASS] != ELFCLASS64)
    return;
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes);
  if (header->e_phoff > size ||
      header->e_phnum > (size - header->e_phoff) / sizeof(Elf64_Phdr))
    return;
  auto* segments = reinterpret_cast<Elf64_Phdr*>(bytes + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    const Elf64_Phdr& p = segments[i];
    if (p.p_type != PT_DYNAMIC || p.p_offset > size || p.p_filesz > size - p.p_offset)
      continue;
    auto* dynamic = reinterpret_cast<Elf64_Dyn*>(bytes + p.p_offset);
    const size_t room = p.p_filesz / sizeof(Elf64_Dyn);
    Elf64_Dyn* spare = nullptr;
    size_t used = 0;
    for (; used < room && dynamic[used].d_tag != DT_NULL; ++used) {
      if (dynamic[used].d_tag == DT_DEBUG) return;
      if (dynamic[used].d_tag == DT_RELACOUNT) spare = &dynamic[used];  // only a hint
    }
    if (used + 1 < room) spare = &dynamic[used];  // an end marker must remain
    if (spare != nullptr) *spare = {DT_DEBUG, {0}};
    return;
  }
}

}  // namespace

void add_debug_entry(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
      patch(static_cast<char*>(map), size);
      ::munmap(map, size);
    }
  }
  ::close(fd);
}

}  // namespace mpcc
