#include "runtime/job/program_probe.h"

#include "runtime/job/interpreter.h"
#include "runtime/job/program_files.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/program_check.h"

bool mpc_can_be_copied(const mpc::job::AppSpec& app) {
  // What a rank would really run: the library of python3, which itself is linked for a fixed address.
  const auto start = mpc::job::find_start(app, mpc::job::merged_environment(app));
  if (!start) return start.error().code == mpc::Errc::kNotFound;
  const auto file = mpc::loader::ElfFile::open(start->image);
  return file.ok() && mpc::loader::check_program(**file).ok();
}
