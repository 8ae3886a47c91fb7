#pragma once
// Blueprint: everything that is the same for all copies of one program, computed once.
//
// Role:      lets the dynamic linker load the program and its private libraries one time (the
//            "master", which never runs), and derives from it a recipe by which a copy is a
//            few mmaps and a list of words to which the copy's base is added.
// Users:     runtime/loader.
// Threads:   immutable after make_blueprint().
// See also:  docs/loader.md; runtime/loader/elf_file.h.
//
//   one copy ("bundle"), contiguous:
//   | program: text, constants | data | bss | variables | library 1: text | data | bss | ...
//     ^ mapped from the file     ^ mapped private from `image_fd`, relocated master data
//       itself, shared by all      whose pointers into the bundle are stored as offsets

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "runtime/loader/module.h"

namespace mpc::loader {

// A variable of libc that programs read directly (environ, optind): each copy has its own.
struct PrivateVariable {
  std::vector<std::string> names;
  std::vector<char> initial;
  size_t offset;  // in the area of variables
};

// One of these that the program holds itself (copied_variables.h): where the copies have it.
struct MovedVariable {
  size_t offset;  // in the area of variables
  size_t bundle_offset;
};

// A variable of libmpi_abi that is known by its address (Fortran's MPI_BOTTOM ...), and which the program holds itself.
struct Counterpart {
  size_t bundle_offset;
  size_t bytes;
  char* shared;  // the one in libmpi_abi
};

class Blueprint {
 public:
  Blueprint() = default;
  ~Blueprint();
  bool holds(const std::string& name) const noexcept { return held.contains(name); }
  // Where a copy has a private variable, by its offset in the area of variables.
  size_t place_of_variable(size_t offset) const noexcept {
    for (const MovedVariable& v : moved_variables)
      if (v.offset == offset) return v.bundle_offset;
    return variables_offset + offset;
  }
  Blueprint(const Blueprint&) = delete;
  Blueprint& operator=(const Blueprint&) = delete;

  std::vector<Module> modules;  // the program first, then breadth first
  size_t preload_count = 0;     // modules [1, 1 + preload_count) come before libraries
  std::vector<size_t> init_order;  // indices of modules
  size_t bundle_bytes = 0;         // a multiple of alignment
  size_t alignment = kPageBytes;
  int image_fd = -1;
  size_t image_bytes = 0;
  std::vector<size_t> slots;    // bundle offsets of words that hold bundle offsets
  size_t variables_offset = 0;  // bundle offset of the variables
  std::vector<MovedVariable> moved_variables;
  std::set<std::string> held;  // variables of libraries that the program holds itself
  std::vector<Counterpart> counterparts;
  size_t main_offset = 0;  // bundle offset of main()
  bool needs_executable_stack = false;
  int maps_per_instance = 0;
};

}  // namespace mpc::loader
