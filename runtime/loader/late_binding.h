#pragma once
// Late binding: functions that did not exist yet when a library was opened with RTLD_LAZY.
//
// Role:      a stub for each; its first call looks up the function, or ends the rank with the
//            dynamic linker's message.
// Users:     runtime/loader/rank_linker_open.cpp.
// Threads:   any.
// See also:  dlopen(3), RTLD_LAZY. Existing functions are bound when the library is opened.

#include <cstddef>

#include "runtime/loader/loaded_module.h"

namespace mpc::loader {

inline constexpr size_t kStubBytes = 32;

// Executable pages with a stub for each of `count` symbols; null: errno says why.
// Ownership: the caller's; munmap().
char* make_stub_pages(const LateSymbol* symbols, size_t count) noexcept;

}  // namespace mpc::loader
