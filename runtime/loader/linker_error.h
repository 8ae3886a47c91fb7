#pragma once
// Linker error: the text that dlerror() returns.
//
// Role:      stores the text of a thread's latest failure.
// Users:     runtime/interpose/dynamic_linker.cpp.
// Threads:   each has its own.
// See also:  dlerror(3).

#include <string>

namespace mpc::loader {

// The text of the latest failure of the calling thread, for dlerror(); it is cleared.
const char* take_error() noexcept;
void set_error(const std::string& text) noexcept;
void clear_error() noexcept;

}  // namespace mpc::loader
