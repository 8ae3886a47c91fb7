// Options of mpcrun: any words give a job that can be described, or a message and a status.

#include "tools/mpcrun/options.h"

#include <vector>

#include "runtime/job/launch.h"
#include "runtime/job/program_probe.h"
#include "tests/fuzz/bytes.h"

// What mpcrun has from the library; nothing is run here.
bool mpc_can_be_copied(const mpc::job::AppSpec&) { return false; }
bool mpc_has_fixed_place(const mpc::job::AppSpec&) { return false; }
bool mpc_can_be_process(const mpc::job::AppSpec&, std::string&) { return true; }
int mpc_run_job(const mpc::job::JobSpec&) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mpc::fuzz::Bytes bytes(data, size);
  std::vector<std::string> words{"mpcrun"};
  while (!bytes.is_empty()) words.push_back(bytes.word());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const auto parsed =
      mpc::tools::parse_options(static_cast<int>(words.size()), argv.data());
  if (const auto* finished = std::get_if<mpc::tools::Finished>(&parsed)) {
    FUZZ_CLAIM(!finished->out.empty() || !finished->err.empty());
    FUZZ_CLAIM((finished->exit_status == 0) == finished->err.empty());
    return 0;
  }
  const mpc::job::JobSpec& spec = std::get<mpc::tools::Command>(parsed).spec;
  FUZZ_CLAIM(!spec.apps.empty());
  for (const auto& app : spec.apps) FUZZ_CLAIM(app.ranks >= 1 && app.ranks <= 100000);
  for (const int core : spec.core_list) FUZZ_CLAIM(core >= 0);
  for (const int worker : spec.placement_list) FUZZ_CLAIM(worker >= 0);
  FUZZ_CLAIM(spec.core_count >= 0 && spec.comm_cores >= -1);
  FUZZ_CLAIM(spec.timeout_seconds >= 0);
  return 0;
}
