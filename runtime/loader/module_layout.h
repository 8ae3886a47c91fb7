#pragma once
// Module layout: which parts of a file are shared text, which are data, and how they are mapped.
//
// Role:      the same for modules that start with a program and for those that are loaded later.
// Users:     runtime/loader/blueprint_maker.cpp, image.cpp, plugin_maker.cpp.
// Threads:   any.
// See also:  runtime/loader/module.h.

#include <functional>

#include "runtime/loader/module.h"

namespace mpc::loader {

// Fills in the ranges of text and data from the file's segments. Returns the end of its
// memory, in bytes.
size_t lay_out(Module& m);
// Extends the data to `end` (from address 0 of the module), with zeroes.
void extend_data(Module& m, size_t end);
// Lets the image of the data reach to `end`, in what the file leaves zero.
void extend_file_data(Module& m, size_t end);
// Start-up and end functions.
Hooks hooks_of(const ElfFile& file);
// Copies the master's data, as the dynamic linker relocated
// them, to the module's place in the image.
void copy_master_data(const Module& m, char* image);
// Maps text and data over reserved addresses. False: errno says why.
bool map_module(const Module& m, char* base, int image_fd);
// Calls visit(vaddr) for each word of DT_RELR, the packed table of relative relocations.
void for_each_packed(const ElfFile& file, const std::function<void(uint64_t)>& visit);

}  // namespace mpc::loader
