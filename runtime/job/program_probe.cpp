#include "runtime/job/program_probe.h"

#include "runtime/job/program_files.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/program_check.h"

bool mpc_can_be_copied(const mpc::job::AppSpec& app) {
  const auto path = mpc::job::find_program(app.program);
  if (!path) return true;
  const auto file = mpc::loader::ElfFile::open(*path);
  return file.ok() && mpc::loader::check_program(**file).ok();
}
