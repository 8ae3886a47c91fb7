// mpcinfo: shows the machine, the settings and the models. libmpi_abi makes the first two texts.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/job/info.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/trace_command.h"

namespace {

struct Options {
  bool topology = false, settings = false, markdown = false, model = false;
  mpc::tools::ModelOptions models;
  mpc::tools::TraceOptions trace;
};

void declare(CLI::App& app, Options& o) {
  app.add_flag("--topology", o.topology,
               "Draw the machine: packages, NUMA nodes, caches, cores");
  app.add_option(
         "--machine", o.models.machine,
         "Another machine: knl64, skylake48, an hwloc XML file or synthetic string")
      ->type_name("NAME");
  app.add_flag("--settings", o.settings,
               "List all settings with their values and meaning");
  app.add_flag("--markdown", o.markdown, "With --settings: as docs/settings.md");
  app.add_flag(
      "--model", o.model,
      "Predict a split-tree collective with computation for every number of ranks");
  app.add_option("--op", o.models.operation,
                 "Operation: ibcast, ireduce, iscatter, ...")
      ->type_name("OP")
      ->capture_default_str();
  app.add_option(
         "--kind", o.models.kind,
         "With --model: constant or doubling (the paper's model with this weight)")
      ->type_name("KIND");
  app.add_flag("--csv", o.models.is_csv, "Numbers for programs instead of a table");
  app.add_option("--plot", o.models.plot,
                 "Plot time against ranks for every S (needs gnuplot)")
      ->type_name("FILE.svg|FILE.png");
  app.add_option("--trace", o.trace.file,
                 "List the collectives in a file of mpcrun --trace")
      ->type_name("FILE.json");
  app.add_option("--svg", o.trace.svg, "With --trace: draw a collective, core by core")
      ->type_name("FILE.svg");
  app.add_option("--collective", o.trace.collective,
                 "With --trace and --svg: which one of the list; default: the longest")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  app.footer(
      "Examples:\n  mpcinfo --topology\n  mpcinfo --topology --machine knl64\n"
      "  mpcinfo --settings\n  mpcinfo --model --machine knl64 --op ibcast\n"
      "  mpcinfo --model --machine skylake48 --op igather --plot gather.svg\n"
      "  mpcinfo --trace job.json\n  mpcinfo --trace job.json --collective 3 --svg bcast.svg\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Shows the machine that ranks would run on, the settings of the runtime, and "
      "what "
      "its models predict.",
      "mpcinfo"};
  Options options;
  declare(app, options);
  app.set_version_flag("-V,--version", std::string("mpcinfo ") + MPC_VERSION_TEXT);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!options.trace.file.empty()) return mpc::tools::trace_command(options.trace);
  if (options.model) return mpc::tools::model_command(options.models);
  if (!options.models.machine.empty()) options.topology = true;
  if (!options.topology && !options.settings) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  int status = 0;
  if (options.topology) status = mpc_info_topology(options.models.machine.c_str());
  if (options.settings && status == 0) status = mpc_info_settings(options.markdown);
  return status;
}
