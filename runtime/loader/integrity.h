#pragma once
// Integrity: does a file keep the promises that the dynamic linker relies on?
//
// Role:      the dynamic linker checks next to nothing of what it reads: a damaged file makes
//            it write somewhere, which in our case is the process of all ranks. What a file
//            claims is therefore compared with what it holds before it is given to it.
// Users:     runtime/loader/program_check.cpp; integrity_tables.cpp is the second half.
// Threads:   any.
// See also:  the System V ABI, chapters 4 and 5; runtime/job/loading.h for what is left: code
//            that runs while a file is loaded (indirect functions).

#include "runtime/loader/elf_file.h"

namespace mpc::loader {

// What is damaged, for the end of a message, or null. Cost: linear in symbols and relocations.
const char* find_damage(const ElfFile& file) noexcept;

namespace integrity {

// The loaded segment that has [vaddr, vaddr + bytes) in memory, or null.
const Elf64_Phdr* segment_around(const ElfFile& file, uint64_t vaddr,
                                 uint64_t bytes) noexcept;
bool is_writable(const ElfFile& file, uint64_t vaddr, uint64_t bytes) noexcept;
bool is_code(const ElfFile& file, uint64_t vaddr) noexcept;
// Is `offset` that of a text in the dynamic string table?
bool is_string(const ElfFile& file, uint64_t offset) noexcept;

// Each tells what is damaged, or null.
const char* find_damaged_symbols(const ElfFile& file) noexcept;
const char* find_damaged_hash(const ElfFile& file) noexcept;
const char* find_damaged_versions(const ElfFile& file) noexcept;
const char* find_damaged_relocations(const ElfFile& file) noexcept;

}  // namespace integrity

}  // namespace mpc::loader
