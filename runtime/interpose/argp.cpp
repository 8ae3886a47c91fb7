// argp_parse(): libc reads variables that the program defines for it (its version, its bug
// address); it would find its own ones, because a copy's are not in the process's scope.

#include <argp.h>

#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

namespace {

// All ranks of a program write the same texts, each with its own addresses of them.
template <class T>
void take(const mpc::loader::ProgramInstance& instance, const char* name, T& of_libc) {
  if (const void* own = instance.definition_of(name))
    std::memcpy(&of_libc, own, sizeof of_libc);
}

}  // namespace

MPC_EXPORT error_t argp_parse(const argp* parser, int argc, char** argv, unsigned flags,
                              int* index, void* input) {
  if (const mpc::loader::ProgramInstance* instance = mpc::interpose::own_instance()) {
    take(*instance, "argp_program_version", ::argp_program_version);
    take(*instance, "argp_program_version_hook", ::argp_program_version_hook);
    take(*instance, "argp_program_bug_address", ::argp_program_bug_address);
    take(*instance, "argp_err_exit_status", ::argp_err_exit_status);
  }
  return MPC_NEXT(argp_parse, decltype(&::argp_parse))(parser, argc, argv, flags, index,
                                                       input);
}
