// mpcinfo calibrate: measures this machine and stores the numbers where the models find them.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>

#include "nbc/model/machine_file.h"
#include "nbc/model/model_json.h"
#include "sim/experiment.h"
#include "tools/mpcinfo/calibrate.h"
#include "tools/mpcinfo/calibrate_runtime.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/model_setting.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace mpc::tools {

namespace {

// Reports a problem before the measurements, which take seconds. Creates only the user's cache.
Result<> prepare_folder(const std::string& path, bool is_cache) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (is_cache) std::filesystem::create_directories(folder, error);
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return {Errc::kArg, fmt::format("{}: cannot be written: there is no folder {}", path,
                                  folder.string())};
}

}  // namespace

Result<nbc::Parameters> calibrated_parameters(const topo::Machine& machine) {
  auto measured = calibrate(machine);
  MPC_TRY(measured);
  const RuntimeCosts runtime = calibrate_runtime();
  measured->node_us = runtime.node_us;
  measured->message_us = runtime.message_us;
  measured->call_us = runtime.call_us;
  char today[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(today, sizeof today, "%Y-%m-%d", std::gmtime(&now));
  return nbc::from_measured(sim::shape_of(machine), *measured, today);
}

int calibrate_command(const std::string& output) {
  auto machine = topo::Machine::detect();
  if (!machine) return complain(machine.error());
  const std::string path =
      output.empty() ? nbc::parameters_path(topo::fingerprint(**machine)) : output;
  if (path.empty())
    return complain(
        {Errc::kArg, "neither XDG_CACHE_HOME nor HOME is set: give --output FILE"});
  if (auto ready = prepare_folder(path, output.empty()); !ready)
    return complain(ready.error());
  const auto costs = calibrated_parameters(**machine);
  if (!costs) return complain(costs.error());
  if (auto written = nbc::write_parameters(*costs, path); !written)
    return complain(written.error());
  std::fputs(nbc::to_json(*costs).c_str(), stdout);
  std::fprintf(stderr, "mpcinfo: wrote %s\n", path.c_str());
  return 0;
}

}  // namespace mpc::tools
