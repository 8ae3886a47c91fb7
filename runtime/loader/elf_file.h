#pragma once
// ElfFile: a program or shared library on disk, mapped read-only and checked.
//
// Role:      answers the loader's questions about a file before any of it runs: segments,
//            dynamic section, needed libraries, defined symbols. Knows nothing about copies.
// Users:     runtime/loader; runtime/job/interpreter.cpp.
// Threads:   immutable after open(); any.
// See also:  runtime/loader/blueprint.h; the System V ABI, chapters 4 and 5.

#include <elf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mpc::loader {

inline constexpr size_t kPageBytes = 4096;
inline size_t page_floor(size_t v) noexcept { return v & ~(kPageBytes - 1); }
inline size_t page_ceil(size_t v) noexcept { return page_floor(v + kPageBytes - 1); }

// Moves one of our descriptors away from the numbers that programs expect (3, 4, 5 ...).
// Returns the new one, or `fd` if there is no room.
int lift_descriptor(int fd) noexcept;

class ElfFile {
 public:
  // Errors: kNotFound, kPermission, kImage (not a 64-bit x86-64 ELF shared object or
  // program; the message says what it is instead and what to do), kSystem.
  static Result<std::unique_ptr<ElfFile>> open(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_; }
  size_t size() const noexcept { return size_; }
  const char* bytes() const noexcept { return bytes_; }

  const Elf64_Ehdr& header() const noexcept {
    return *reinterpret_cast<const Elf64_Ehdr*>(bytes_);
  }
  std::span<const Elf64_Phdr> segments() const noexcept { return segments_; }
  const Elf64_Phdr* segment(uint32_t type) const noexcept;
  std::span<const Elf64_Dyn> dynamic() const noexcept { return dynamic_; }
  // Value of the first entry with this tag, or `fallback`.
  uint64_t dynamic_value(int64_t tag, uint64_t fallback = 0) const noexcept;
  bool has_dynamic(int64_t tag) const noexcept;

  std::string soname() const;
  std::vector<std::string> needed() const;
  std::string run_path() const;  // DT_RUNPATH, or ""
  std::string inherited_path()
      const;                      // DT_RPATH, or ""; void when there is a DT_RUNPATH
  std::string directory() const;  // $ORIGIN, absolute

  // Offset in the file of a virtual address of a loaded segment; SIZE_MAX if there is none.
  size_t offset_of(uint64_t vaddr) const noexcept;
  // `count` objects of T at a virtual address, or an empty span if the file has no such bytes
  // or has them at an address not aligned for T.
  template <class T>
  std::span<const T> at_address(uint64_t vaddr, size_t count) const noexcept {
    const size_t offset = offset_of(vaddr);
    if (offset == SIZE_MAX || offset > size_ || count > (size_ - offset) / sizeof(T))
      return {};
    if (offset % alignof(T) != 0) return {};  // bytes_ begins a page
    return {reinterpret_cast<const T*>(bytes_ + offset), count};
  }
  // From now on the bytes are those of a private copy in memory, at the same addresses; fd() then
  // names the copy, too. Errors: kNoMem, kSystem.
  Result<> move_to_memory();
  std::span<const Elf64_Sym> dynamic_symbols() const noexcept { return symbols_; }
  // Text of the dynamic string table; "" if the offset is out of bounds.
  const char* dynamic_string(uint64_t offset) const noexcept;
  // The definition that other files see under this name (of its default version), or null.
  // thread_local variables have no address and are not found.
  const Elf64_Sym* find_definition(std::string_view name) const noexcept;
  // The definition for a reference that asks for this version ("": the default one);
  // thread_locals included. Source: the dynamic linker's rules for symbol versions: a file
  // without versions has all of them.
  const Elf64_Sym* find_version(std::string_view name,
                                std::string_view version) const noexcept;
  // The version that the reference with this index asks for, or "".
  std::string_view wanted_version(size_t index) const noexcept;
  // The function or variable that contains `vaddr`, from the full symbol table if there is
  // one. Async-signal-safe. Cost: linear in the number of symbols.
  const Elf64_Sym* find_symbol_at(uint64_t vaddr, const char** name) const noexcept;
  // First byte after the last segment, relative to the file's base.
  size_t memory_end() const noexcept;

  // Largest alignment that a section asks for (segments often ask for more than they need).
  size_t alignment() const noexcept;

 private:
  ElfFile() = default;
  Result<> check_header();
  Result<> read_dynamic();
  std::span<const Elf64_Shdr> sections() const noexcept;
  size_t count_symbols() const noexcept;
  bool is_definition(size_t index, std::string_view name) const noexcept;
  bool is_version(size_t index, std::string_view version) const noexcept;
  std::string_view defined_version(uint16_t number) const noexcept;
  // Calls accept(index) for the symbols that may have this name, until one is accepted.
  template <class Accept>
  const Elf64_Sym* look_up(std::string_view name, Accept accept) const noexcept;

  std::string path_;
  int fd_ = -1;
  const char* bytes_ = nullptr;
  size_t size_ = 0;
  std::span<const Elf64_Phdr> segments_;
  std::span<const Elf64_Dyn> dynamic_;
  std::span<const Elf64_Sym> symbols_;
  std::span<const char> strings_;
};

}  // namespace mpc::loader
