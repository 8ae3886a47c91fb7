// mpcinfo: shows the machine and the settings. libmpi_abi makes the texts.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/job/info.h"

int main(int argc, char** argv) {
  CLI::App app{"Shows the machine that ranks would run on, and the settings of the runtime.",
               "mpcinfo"};
  bool topology = false, settings = false, markdown = false;
  std::string machine;
  app.add_flag("--topology", topology, "Draw the machine: packages, NUMA nodes, caches, cores");
  app.add_option("--machine", machine,
                 "Another machine: knl64, skylake48, an hwloc XML file or synthetic string")
      ->type_name("NAME");
  app.add_flag("--settings", settings, "List all settings with their values and meaning");
  app.add_flag("--markdown", markdown, "With --settings: as docs/settings.md");
  app.set_version_flag("-V,--version", std::string("mpcinfo ") + MPC_VERSION_TEXT);
  app.footer("Examples:\n  mpcinfo --topology\n  mpcinfo --topology --machine knl64\n"
             "  mpcinfo --settings\n");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!machine.empty()) topology = true;
  if (!topology && !settings) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  int status = 0;
  if (topology) status = mpc_info_topology(machine.c_str());
  if (settings && status == 0) status = mpc_info_settings(markdown);
  return status;
}
