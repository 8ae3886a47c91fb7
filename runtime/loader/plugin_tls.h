#pragma once
// Plugin TLS: thread_locals of libraries that are loaded when threads exist already.
//
// Role:      the dynamic linker creates a thread's block of a library's thread_locals at the first
//            access, as the master's relocations left it. Copies of plugins call us instead of
//            __tls_get_addr(); we fill a new block from the copy of the thread's own rank.
// Users:     runtime/loader/binding.cpp, rank_linker.cpp, rank_linker_open.cpp, plugin_maker.cpp.
// Threads:   any.
// See also:  docs/design/0018-dlopen.md; Drepper, ELF Handling For Thread-Local Storage.
//
//   block of one thread:  | thread_locals of the library | mark |
//                           mark: generation of the copy that the block was filled from; 0: none

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace mpc::loader {

class Plugin;

// The extra length that MasterFile::extend_thread_locals() adds for the mark.
inline constexpr size_t kThreadMarkBytes = 16;

// Errors: kNoMem when there are too many.
Result<> register_thread_locals(Plugin& plugin);
// The function that replaces __tls_get_addr() in copies of plugins.
void* thread_local_function() noexcept;
// The address for the calling thread, `offset` bytes after the start of its block;
// the block is filled from the copy at `base` unless it is of this generation already.
void* thread_local_address(const Plugin& plugin, char* base, uint64_t generation,
                           size_t offset) noexcept;
// The calling thread's block of any module's thread_locals.
char* thread_block(size_t tls_module) noexcept;
// The distance of that block from the thread pointer. It is the same for all threads if the
// module lies in static TLS.
int64_t static_thread_offset(size_t tls_module) noexcept;

}  // namespace mpc::loader
