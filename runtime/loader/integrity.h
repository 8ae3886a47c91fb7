#pragma once
// Integrity: does a file satisfy the assumptions of the dynamic linker?
//
// Role:      the dynamic linker checks almost nothing of what it reads: a damaged file makes
//            it write to wrong addresses, here in the process of all ranks. So what a file claims
//            is compared with its content before the dynamic linker gets it.
// Users:     runtime/loader/program_check.cpp; integrity_tables.cpp is the second half.
// Threads:   any.
// See also:  the System V ABI, chapters 4 and 5; runtime/job/loading.h for the rest: code
//            that runs while a file is loaded (indirect functions).

#include "runtime/loader/elf_file.h"

namespace mpc::loader {

// Describes the damage, for the end of a message, or null. Cost: linear in symbols and relocations.
const char* find_damage(const ElfFile& file) noexcept;

namespace integrity {

// The loaded segment that contains [vaddr, vaddr + bytes) in memory, or null.
const Elf64_Phdr* segment_around(const ElfFile& file, uint64_t vaddr,
                                 uint64_t bytes) noexcept;
bool is_writable(const ElfFile& file, uint64_t vaddr, uint64_t bytes) noexcept;
bool is_code(const ElfFile& file, uint64_t vaddr) noexcept;
// Is `offset` the offset of a text in the dynamic string table?
bool is_string(const ElfFile& file, uint64_t offset) noexcept;

// Each returns what is damaged, or null.
const char* find_damaged_symbols(const ElfFile& file) noexcept;
const char* find_damaged_hash(const ElfFile& file) noexcept;
const char* find_damaged_versions(const ElfFile& file) noexcept;
const char* find_damaged_relocations(const ElfFile& file) noexcept;

}  // namespace integrity

}  // namespace mpc::loader
