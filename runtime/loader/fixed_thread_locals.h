#pragma once
// Fixed thread_locals: those of a program whose code knows their distance from the thread pointer.
//
// Role:      code that was not compiled with -fPIC addresses its thread_locals by numbers that the linker has written into
//            it (local exec). They are right in every thread if the dynamic linker gives the program's block just that
//            distance. The linker left room between the block and the thread pointer (start-room.S), for the libraries
//            that are in this process already; the block is made longer by what they leave free.
// Users:     runtime/loader: blueprint_maker.cpp, program_check.cpp.
// Threads:   any.
// See also:  docs/design/0052-code-without-pic.md.

#include <link.h>

#include <cstddef>
#include <optional>

#include "runtime/loader/elf_file.h"

namespace mpc::loader {

// What a thread pointer is aligned to.
inline constexpr size_t kThreadPointerAlignment = 64;

struct FixedThreadLocals {
  size_t distance_bytes;  // from the block's begin to the thread pointer
  size_t own_bytes;       // without the room
};

// Nothing: the program has no room, so it must not have such thread_locals either.
std::optional<FixedThreadLocals> fixed_thread_locals(const ElfFile& program) noexcept;

// From the begin of a loaded library's block to the caller's thread pointer; 0: it has no block.
// Caller: any thread; the block must have a fixed place.
size_t thread_distance(link_map* library) noexcept;

}  // namespace mpc::loader
