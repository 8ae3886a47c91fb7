#include "runtime/job/program_probe.h"

#include "runtime/job/interpreter.h"
#include "runtime/job/program_files.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/fixed_thread_locals.h"
#include "runtime/loader/program_check.h"

namespace mpc::job {

Result<> check_can_be_copied(const AppSpec& app) {
  // Checks the file that a rank would really run: the library of python3,
  // which itself is linked for a fixed address.
  const auto start = find_start(app, merged_environment(app));
  MPC_TRY(start);
  const auto file = loader::ElfFile::open(start->image);
  MPC_TRY(file);
  return loader::check_program(**file);
}

}  // namespace mpc::job

bool mpc_can_be_process(const mpc::job::AppSpec& app, std::string& why) {
  const auto path = mpc::job::find_program(app.program);
  if (!path) return true;
  const auto file = mpc::loader::ElfFile::open(*path);
  if (!file) return true;
  for (const std::string& name : (*file)->needed()) {
    const auto checked = mpc::loader::check_needed_name(name, **file);
    if (checked.ok()) continue;
    why += checked.error().message;
    return false;
  }
  return true;
}

bool mpc_has_fixed_place(const mpc::job::AppSpec& app) {
  const auto path = mpc::job::find_program(app.program);
  if (!path) return false;
  const auto file = mpc::loader::ElfFile::open(*path);
  if (!file) return false;
  const auto fixed = mpc::loader::fixed_thread_locals(**file);
  return fixed && fixed->own_bytes > 0;
}

bool mpc_can_be_copied(const mpc::job::AppSpec& app) {
  const auto checked = mpc::job::check_can_be_copied(app);
  return checked.ok() || checked.error().code == mpc::Errc::kNotFound;
}
