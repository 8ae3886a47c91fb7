#pragma once
// Module: a program or library that ranks have copies of: its layout in the file and in a copy.
//
// Role:      computed once, for modules that start with a program
//            and for those that are loaded later.
// Users:     runtime/loader.
// Threads:   immutable once created.
// See also:  runtime/loader/blueprint.h, runtime/loader/plugin.h.

#include <link.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loader/elf_file.h"

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
  std::string name;  // the name by which others need it
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

}  // namespace mpc::loader
