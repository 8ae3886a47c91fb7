#pragma once
// Relocator: finds the words of a program's data that depend on the address of a copy.
//
// Role:      reads the relocation tables. A word that the dynamic linker pointed into one of
//            the private modules becomes a bundle offset and is recorded as a slot; all others
//            keep the dynamic linker's value.
// Users:     runtime/loader/blueprint_maker.cpp.
// Threads:   one.
// See also:  System V ABI for x86-64, table 4.9; docs/loader.md.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/copied_variables.h"

namespace mpc::loader {

// Symbols that belong to the process, although a program may define them, too: the heap (what libc
// allocates, a rank may free, and vice versa), and the common blocks of Fortran's constants
// (MPI_BOTTOM ...), which are identified by their address in libmpi_abi.
bool belongs_to_process(std::string_view name);
// malloc and its kin.
bool is_heap_function(std::string_view name);

class Relocator {
 public:
  // `image`: the masters' data, copied; changed in place.
  Relocator(Blueprint& blueprint, char* image,
            const std::vector<PrivateVariable>& variables)
      : blueprint_(blueprint), image_(image), variables_(variables) {}
  // Errors: kImage for a relocation that cannot be done.
  Result<> run();

 private:
  void find_moved_variables();
  void find_counterparts();
  Result<> copy_variables();
  void copy_from_module(const Module& m, const Elf64_Sym& from,
                        const CopiedVariable& to);
  char* program_data(uint64_t vaddr) const;
  Result<> relocate(Module& m, const Elf64_Rela& r);
  Result<> relocate_table(Module& m, int64_t table_tag, int64_t bytes_tag);
  void relocate_packed(Module& m);
  void relocate_symbol(Module& m, const Elf64_Rela& r);
  void set_slot(Module& m, uint64_t vaddr, uint64_t bundle_offset);
  void set_word(Module& m, uint64_t vaddr, uint64_t value);
  uint64_t word(const Module& m, uint64_t vaddr) const;
  bool in_data(const Module& m, uint64_t vaddr) const;

  // The bundle offset of an address inside a master.
  std::optional<size_t> bundle_offset(uintptr_t address) const;
  // The first definition in the order of a normal start: program, preloaded, libraries.
  std::optional<size_t> private_definition(std::string_view name) const;
  std::optional<size_t> preloaded_definition(std::string_view name) const;
  std::optional<size_t> private_variable(std::string_view name) const;

  Blueprint& blueprint_;
  char* image_;
  const std::vector<PrivateVariable>& variables_;
  std::vector<CopiedVariable> copied_;
};

}  // namespace mpc::loader
