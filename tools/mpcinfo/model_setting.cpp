#include "tools/mpcinfo/model_setting.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "nbc/model/machine_file.h"
#include "sim/experiment.h"
#include "topology/cluster_name.h"
#include "topology/fingerprint.h"

namespace mpc::tools {

namespace {

Result<nbc::Parameters> find_parameters(const topo::Machine& machine,
                                        const std::string& path) {
  if (!path.empty()) return nbc::read_parameters(path);
  if (machine.is_real()) {
    auto known = nbc::read_parameters(nbc::parameters_path(topo::fingerprint(machine)));
    if (known || known.error().code != Errc::kNotFound) return known;
  }
  return nbc::guess_parameters(sim::shape_of(machine));
}

}  // namespace

Result<ModelSetting> find_setting(const ModelOptions& options, bool needs_tree) {
  ModelSetting setting;
  std::string name = options.machine;
  if (const auto cluster = topo::parse_cluster(name)) {
    setting.hosts = cluster->hosts;
    name = cluster->machine;
  }
  auto machine = name.empty() ? topo::Machine::detect() : topo::Machine::by_name(name);
  if (!machine) return machine.error();
  setting.machine = std::move(machine).value();
  setting.name = setting.machine->name();
  if (setting.hosts > 1)
    setting.name = fmt::format("{}*{}", setting.hosts, setting.name);
  auto operation = parse_operation(options.operation, needs_tree);
  if (!operation) return operation.error();
  auto bytes = parse_bytes(options.bytes);
  if (!bytes) return bytes.error();
  setting.operation = *operation;
  setting.operation.bytes = *bytes;
  auto parameters = find_parameters(*setting.machine, options.parameters);
  if (!parameters) return parameters.error();
  setting.parameters = std::move(parameters).value();
  return setting;
}

Result<ModelSetting> find_overlap_setting(const ModelOptions& options) {
  auto setting = find_setting(options, /*needs_tree=*/true);
  if (setting && setting->cores() < 3)
    return {Errc::kArg,
            fmt::format("{} has {} cores: overlap needs at least two ranks and "
                        "one more core; try --machine knl64",
                        setting->machine->name(), setting->cores())};
  return setting;
}

nbc::Situation situation_of(const Operation& operation, int cores, int ranks,
                            int hosts) {
  nbc::Situation s;
  s.coll = operation.coll;
  s.ranks = s.application_cores = ranks;
  s.communication_cores = cores - ranks;
  s.bytes = operation.bytes;
  s.hosts = hosts;
  return s;
}

int complain(const Error& error) {
  std::fprintf(stderr, "mpcinfo: %s\n", error.message.c_str());
  return 2;
}

}  // namespace mpc::tools
