#include "runtime/transport/host/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace mpc::transport::host {

Pages::~Pages() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

DescriptorName name_of(const Descriptor& own) noexcept {
  struct stat found {};
  if (!own.is_open() || ::fstat(own.number(), &found) != 0) return {};
  return {::getpid(), own.number(), found.st_ino};
}

Descriptor open_other(const DescriptorName& name) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.process_id, name.number);
  struct stat found {};
  // Before it is opened: to open what is not ours may have effects.
  if (::stat(path, &found) != 0 || found.st_ino != name.inode) return Descriptor();
  // Reading as well: writing to a pipe that has no reader any more would be a signal.
  Descriptor out(::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!out.is_open() || ::fstat(out.number(), &found) != 0 ||
      found.st_ino != name.inode)
    return Descriptor();
  return out;
}

Mark random_mark() noexcept {
  Mark mark;
  if (::getrandom(mark.words, sizeof mark.words, 0) != sizeof mark.words) return {};
  return mark;
}

Descriptor make_memory(const char* purpose, size_t bytes) noexcept {
  Descriptor memory(::memfd_create(purpose, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Sealed: no process can take pages away that another one uses.
  if (!memory.is_open() ||
      ::ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return Descriptor();
  return memory;
}

size_t length_of(const Descriptor& memory) noexcept {
  struct stat found {};
  return ::fstat(memory.number(), &found) == 0 ? static_cast<size_t>(found.st_size) : 0;
}

Pages map_memory(const Descriptor& memory, size_t offset, size_t bytes) noexcept {
  void* const base =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
             memory.number(), static_cast<off_t>(offset));
  return base == MAP_FAILED ? Pages() : Pages(base, bytes);
}

}  // namespace mpc::transport::host
