#include "tools/mpcinfo/model_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "nbc/model/paper.h"
#include "tools/mpcinfo/model_table.h"
#include "tools/mpcinfo/operation.h"
#include "topology/machine.h"

namespace mpc::tools {

namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "mpcinfo: %s\n", error.message.c_str());
  return 2;
}

Result<std::unique_ptr<topo::Machine>> find_machine(const std::string& name) {
  return name.empty() ? topo::Machine::detect() : topo::Machine::by_name(name);
}

// Prints or plots, as the options say.
int show(const ModelTable& table, const ModelOptions& options) {
  if (!options.plot.empty()) {
    if (auto plotted = plot(table, options.plot); !plotted)
      return complain(plotted.error());
    std::fprintf(stderr, "mpcinfo: wrote %s\n", options.plot.c_str());
    if (!options.is_csv) return 0;
  }
  std::fputs((options.is_csv ? as_csv(table) : as_text(table)).c_str(), stdout);
  return 0;
}

ModelTable paper_model(nbc::PaperOperation operation, int cores) {
  ModelTable table;
  table.kind = name_of(operation.weight);
  table.unit = "transfers of one buffer";
  for (const nbc::PaperRow& row : nbc::paper_table(operation, cores))
    table.rows.push_back({row.ranks, row.height, row.compute, row.blocking,
                          row.nonblocking, row.overlapped, row.best_split});
  return table;
}

}  // namespace

int model_command(const ModelOptions& options) {
  auto machine = find_machine(options.machine);
  if (!machine) return complain(machine.error());
  auto operation = parse_operation(options.operation);
  if (!operation) return complain(operation.error());
  if (!options.kind.empty()) {
    const auto weight = nbc::weight_of_name(options.kind);
    if (!weight)
      return complain(
          {Errc::kArg,
           fmt::format("kind '{}': known are constant, doubling", options.kind)});
    operation->paper.weight = *weight;
  }
  if ((*machine)->core_count() < 3)
    return complain(
        {Errc::kArg, fmt::format("{} has {} cores: overlap needs at least two ranks "
                                 "and one more core; try --machine knl64",
                                 (*machine)->name(), (*machine)->core_count())});
  ModelTable table = paper_model(operation->paper, (*machine)->core_count());
  table.cores = (*machine)->core_count();
  table.title = fmt::format("{} on {}", operation->name, (*machine)->name());
  return show(table, options);
}

}  // namespace mpc::tools
