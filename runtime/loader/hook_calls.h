#pragma once
// Hook calls: a module's start-up and end functions, in the order of the ELF specification.
//
// Role:      the same for programs, their libraries and plugins.
// Users:     runtime/loader.
// Threads:   a thread of the rank; the functions may do anything.
// See also:  System V ABI, chapter 5 (initialization and termination functions).

#include "runtime/loader/module.h"

namespace mpc::loader {

// `base`: where address 0 of the module lies in the copy.
void call_start_hooks(const Hooks& hooks, char* base, int argc, char** argv,
                      char** envp);
void call_end_hooks(const Hooks& hooks, char* base);

}  // namespace mpc::loader
