#pragma once
// Blueprint: everything that is the same for all copies of one program, worked out once.
//
// Role:      lets the dynamic linker load the program and its private libraries one time (the
//            "master", which never runs), and derives from it a recipe by which a copy is a
//            few mmaps and a list of words to which the copy's base is added.
// Users:     runtime/loader/image.cpp.
// Threads:   immutable after make(); make() is serialised by its caller.
// See also:  docs/loader.md; runtime/loader/elf_file.h.
//
//   one copy ("bundle"), contiguous:
//   | program: text, constants | data | bss | variables | library 1: text | data | bss | ...
//     ^ mapped from the file     ^ mapped private from `image_fd`, relocated master data
//       itself, shared by all      whose pointers into the bundle are stored as offsets

#include <link.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/library_sharing.h"

namespace mpc::loader {

// A range of a module that is mapped from a file; addresses relative to the module.
struct FileMap {
  size_t vaddr;
  size_t bytes;
  size_t file_offset;
  int protection;
};

// Start-up and end functions, relative to the module. 0: none.
struct Hooks {
  uint64_t init = 0;
  uint64_t init_array = 0;
  size_t init_count = 0;
  uint64_t fini = 0;
  uint64_t fini_array = 0;
  size_t fini_count = 0;
};

// A word of a thread's TLS block that holds a pointer into the bundle.
struct TlsSlot {
  size_t offset;  // from the start of the module's TLS block
  size_t target;  // bundle offset
};

struct Module {
  std::unique_ptr<ElfFile> file;
  std::string name;  // as others need it
  link_map* master = nullptr;
  size_t bundle_offset = 0;
  size_t span_bytes = 0;         // pages from address 0 to the end of its bss
  std::vector<FileMap> text;     // read-only parts
  size_t data_begin = 0;         // page aligned
  size_t data_file_end = 0;      // end of what the file initialises, page aligned
  size_t data_end = 0;           // end of bss, page aligned
  size_t image_offset = 0;       // of data_begin in image_fd
  bool is_bss_in_image = false;  // small: one mapping serves data and bss
  Hooks hooks;
  std::vector<size_t> needs;  // indices of private modules that start before this one
  size_t tls_module = 0;      // the dynamic linker's id; 0: no thread_local
  std::vector<TlsSlot> tls_slots;

  uintptr_t master_base() const noexcept { return master->l_addr; }
};

struct BlueprintOptions {
  std::vector<std::string> preload;  // paths; private, before all libraries
  SharingRules sharing;
};

// A variable of libc that programs read directly (environ, optind): each copy gets its own.
struct PrivateVariable {
  std::vector<std::string> names;
  std::vector<char> initial;
  size_t offset;  // in the area of variables
};

class Blueprint {
 public:
  // Errors: kNotFound, kPermission, kImage, kSystem; see Image::open.
  static Result<std::unique_ptr<Blueprint>> make(
      const std::string& path, const BlueprintOptions& options,
      const std::vector<PrivateVariable>& variables, size_t variables_bytes);
  ~Blueprint();

  std::vector<Module> modules;  // the program first, then breadth first
  size_t preload_count = 0;     // modules [1, 1 + preload_count) come before libraries
  std::vector<size_t> init_order;  // indices of modules
  size_t bundle_bytes = 0;         // a multiple of alignment
  size_t alignment = kPageBytes;
  int image_fd = -1;
  size_t image_bytes = 0;
  std::vector<size_t> slots;    // bundle offsets of words that hold bundle offsets
  size_t variables_offset = 0;  // bundle offset of the variables
  size_t main_offset = 0;       // bundle offset of main()
  bool needs_executable_stack = false;
  int maps_per_copy = 0;

 private:
  Blueprint() = default;
  friend class BlueprintMaker;
};

}  // namespace mpc::loader
