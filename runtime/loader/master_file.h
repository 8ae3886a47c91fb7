#pragma once
// Master file: a patched copy of a program or library, in memory, for the dynamic linker.
//
// Role:      the dynamic linker loads this instead of the file, so that constructors do not
//            run, the program may be opened like a library, and its own libraries are found
//            as master files, too.
// Users:     runtime/loader/blueprint_maker.cpp.
// Threads:   one.
// See also:  runtime/loader/blueprint.h.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "runtime/loader/elf_file.h"

namespace mpc::loader {

class MasterFile {
 public:
  // Copies the bytes of `file`. Errors: kSystem, kNoMem.
  static Result<std::unique_ptr<MasterFile>> make(const ElfFile& file);
  ~MasterFile();  // closes the file, see keep()
  MasterFile(const MasterFile&) = delete;
  MasterFile& operator=(const MasterFile&) = delete;

  // A path that no other object of this process has while the file is open.
  const std::string& path() const noexcept { return path_; }
  // Removes constructors, destructors, the library's name and the mark of a program.
  void hold_back_hooks() noexcept;
  // Replaces names of needed libraries by paths. Errors: kImage if the file has no room.
  Result<> redirect(const std::map<std::string, std::string>& path_of_name);
  // For a library that is loaded later, whose references we resolve ourselves: a symbol that is
  // not found is no error for the dynamic linker, and the library's
  // unique definitions are not visible to others.
  void loosen_symbols() noexcept;
  // Lets the dynamic linker close it again: no unique definitions, no mark against that.
  void make_closable() noexcept;
  // Removes needed libraries, and the versions that are wanted from them.
  void drop_needed(const std::set<std::string>& names) noexcept;
  // Makes each thread's block of thread_locals `bytes` longer; returns the old length.
  size_t extend_thread_locals(size_t bytes) noexcept;
  // Makes it exactly so long, and places it right behind what other libraries have.
  void set_thread_locals(size_t bytes) noexcept;
  // The dynamic linker identifies objects by path: a loaded master file stays open forever.
  void keep() noexcept { is_kept_ = true; }

 private:
  MasterFile() = default;
  Result<> grow(size_t bytes);
  void redirect_versions(const ElfFile& original, size_t offset,
                         const std::map<std::string, uint64_t>& string_of_name);
  void drop_versions(const std::set<std::string>& names) noexcept;
  void forget_versions(const std::set<uint16_t>& numbers, bool are_all_gone) noexcept;
  template <class T>
  T* at(size_t offset) noexcept {
    return reinterpret_cast<T*>(bytes_ + offset);
  }

  const ElfFile* original_ = nullptr;
  std::string path_;
  int fd_ = -1;
  char* bytes_ = nullptr;
  size_t size_ = 0;
  bool is_kept_ = false;
};

// A memory file, whose descriptor is away from the numbers that programs expect.
Result<int> make_memory_file(const char* name, size_t bytes);

}  // namespace mpc::loader
