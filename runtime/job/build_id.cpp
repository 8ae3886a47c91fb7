#include "runtime/job/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/fnv.h"

namespace mpc::job {
namespace {

constexpr uint64_t kMostNoteBytes = 64 << 10;

bool read_at(int fd, void* out, size_t bytes, uint64_t at) {
  return ::pread(fd, out, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

constexpr size_t aligned(size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

// A segment of notes: heads, each with a name and a value that begin at multiples of four bytes.
uint64_t build_in(std::string_view notes) {
  Elf64_Nhdr head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const size_t name = aligned(head.n_namesz), value = aligned(head.n_descsz);
    notes.remove_prefix(sizeof head);
    if (notes.size() < name || notes.size() - name < head.n_descsz) return 0;
    if (head.n_type == NT_GNU_BUILD_ID &&
        notes.starts_with(std::string_view("GNU\0", 4)))
      return fnv_of(notes.substr(name, head.n_descsz));
    notes.remove_prefix(std::min(name + value, notes.size()));
  }
  return 0;
}

uint64_t build_of(int fd) {
  Elf64_Ehdr file;
  if (!read_at(fd, &file, sizeof file, 0) ||
      std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
      file.e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  for (unsigned i = 0; i < file.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, &segment, sizeof segment, file.e_phoff + i * sizeof segment))
      return 0;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!read_at(fd, notes.data(), notes.size(), segment.p_offset)) return 0;
    if (const uint64_t build = build_in({notes.data(), notes.size()}); build != 0)
      return build;
  }
  return 0;
}

}  // namespace

uint64_t build_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  const uint64_t build = build_of(fd);
  ::close(fd);
  return build;
}

uint64_t build_of_this_library() {
  Dl_info info{};
  const bool is_known =
      ::dladdr(reinterpret_cast<void*>(&build_of_this_library), &info) != 0 &&
      info.dli_fname != nullptr;
  return is_known ? build_of(std::string(info.dli_fname)) : 0;
}

}  // namespace mpc::job
