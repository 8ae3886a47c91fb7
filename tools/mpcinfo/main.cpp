// mpcinfo: shows the machine, the settings and the models. libmpi_abi makes the first two texts.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/job/info.h"
#include "runtime/job/launch.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/trace_command.h"

namespace {

struct Options {
  bool topology = false, settings = false, markdown = false;
  bool model = false, advise = false, simulate = false, calibrate = false;
  bool possible = false;
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
  app.add_flag("--advise", o.advise, "How many ranks to use for a mix of collectives");
  app.add_flag(
      "--simulate", o.simulate,
      "Play the real schedules on the simulated machine, for every number of ranks");
  app.add_flag("--possible", o.possible,
               "The shortest start, computation and wait of a collective that the "
               "calibrated model "
               "allows: kept on the ranks' cores, or handed over");
  app.add_flag("--calibrate", o.calibrate,
               "Measure this machine's copies and keep the numbers for the model");
  mpc::tools::ModelOptions& m = o.models;
  app.add_option(
         "--op", m.operation,
         "ibcast, ireduce, iscatter, igather or iallreduce; with --possible also "
         "ialltoall")
      ->type_name("OP")
      ->capture_default_str();
  app.add_option("--bytes", m.bytes, "Size of one rank's buffer or block")
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option(
         "--kind", m.kind,
         "With --model: constant or doubling (the paper's model with this weight), "
         "or calibrated (microseconds)")
      ->type_name("KIND");
  app.add_option("--algorithm", m.algorithm, "With --simulate: instead of binomial")
      ->type_name("NAME");
  app.add_option("--parameters", m.parameters,
                 "File of a machine's costs (--calibrate)")
      ->type_name("FILE");
  app.add_option("--from", m.first_ranks, "With --simulate: lowest number of ranks")
      ->check(CLI::PositiveNumber);
  app.add_option("--to", m.last_ranks, "With --simulate: highest number of ranks")
      ->check(CLI::PositiveNumber);
  app.add_option("--step", m.step, "With --simulate: step of the number of ranks");
  app.add_flag("--waits-help", m.waits_help,
               "With --simulate: ranks in wait also do what is left of their own");
  app.add_option("--ops", m.ops, "With --advise: OP[:BYTES[:COUNT]],...")
      ->type_name("MIX")
      ->capture_default_str();
  app.add_option("--compute", m.compute, "With --advise: a round's time on all cores")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--ranks", m.ranks, "With --possible: ranks")->capture_default_str();
  app.add_option("--comm-cores", m.comm_cores,
                 "With --possible: cores for communication")
      ->capture_default_str();
  app.add_option("--cores", m.cores,
                 "With --possible: all cores; default: the machine's");
  app.add_option("--window", m.window,
                 "With --possible: computation of each rank between start and wait; "
                 "default: 1.2 "
                 "times the blocking collective")
      ->type_name("TIME");
  app.add_option(
         "--shared-copy", m.shared_copy,
         "With --possible: copies from this size on are made by waiting ranks, too, as "
         "message.shared_copy says; 0: none")
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--output", m.output,
                 "With --calibrate: this file, not the user's cache")
      ->type_name("FILE");
  app.add_flag("--csv", m.is_csv, "Numbers for programs instead of a table");
  app.add_option("--plot", m.plot,
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
      ->check(CLI::Range(0, 1 << 30));
  app.footer(
      "Examples:\n  mpcinfo --topology\n  mpcinfo --topology --machine knl64\n"
      "  mpcinfo --settings\n  mpcinfo --model --machine knl64 --op ibcast\n"
      "  mpcinfo --model --machine skylake48 --op igather --plot gather.svg\n"
      "  mpcinfo --model --advise --machine knl64 --ops ibcast:2MB:1,ireduce:2MB:2 "
      "--compute 2ms\n"
      "  mpcinfo --possible --op igather --bytes 64KB --ranks 2 --comm-cores 1 "
      "--window 5us\n"
      "  mpcinfo --simulate --machine knl64 --op ireduce --csv\n  mpcinfo "
      "--calibrate\n"
      "  mpcinfo --trace job.json\n  mpcinfo --trace job.json --collective 3 --svg "
      "bcast.svg\n");
}

// Options that say nothing without one of these commands.
constexpr struct {
  const char* options;
  const char* commands;
} kOnlyWith[] = {
    {"--markdown", "--settings"},
    {"--kind", "--model"},
    {"--op --bytes", "--model --simulate --possible"},
    {"--algorithm --from --to --step --waits-help", "--simulate"},
    {"--ops --compute", "--advise"},
    {"--ranks --comm-cores --cores --window --shared-copy", "--possible"},
    {"--output", "--calibrate"},
    {"--parameters --csv", "--model --advise --simulate --possible"},
    {"--plot", "--model --simulate"},
    {"--svg --collective", "--trace"},
};

std::vector<std::string> words_of(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// "--csv: only with --model, --advise or --simulate", of the first option whose command is
// missing; empty: none is.
std::string lonely_option(const CLI::App& app) {
  for (const auto& row : kOnlyWith) {
    const auto commands = words_of(row.commands);
    const auto is_given = [&](const std::string& name) { return app.count(name) > 0; };
    if (std::any_of(commands.begin(), commands.end(), is_given)) continue;
    const auto options = words_of(row.options);
    const auto lonely = std::find_if(options.begin(), options.end(), is_given);
    if (lonely == options.end()) continue;
    std::string list = commands.front();
    for (size_t i = 1; i < commands.size(); ++i)
      list += (i + 1 == commands.size() ? " or " : ", ") + commands[i];
    return *lonely + ": only with " + list;
  }
  return "";
}

int usage_error(const std::string& message) {
  std::fprintf(stderr, "mpcinfo: %s\nmpcinfo --help shows all options\n",
               message.c_str());
  return 2;
}

int run(int argc, char** argv) {
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
  } catch (const CLI::ExtrasError&) {
    const std::string word = app.remaining().front();
    return usage_error(
        (word.starts_with('-') ? "unknown option '" : "unknown argument '") + word +
        "'");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return usage_error(error.what());
  }
  if (app.count("--machine") > 0 && options.models.machine.empty())
    return usage_error("--machine wants a name, and there is none");
  if (const std::string lonely = lonely_option(app); !lonely.empty())
    return usage_error(lonely);
  if (options.calibrate) return mpc::tools::calibrate_command(options.models);
  if (options.possible) return mpc::tools::possible_command(options.models);
  if (options.simulate) return mpc::tools::simulate_command(options.models);
  if (options.advise) return mpc::tools::advise_command(options.models);
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

// A table that was cut must not look like a whole one.
int fail_to_write(const char* why) {
  std::fprintf(stderr, "mpcinfo: standard output: %s\n", why);
  return mpc::job::kExitOutput;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    if (status != 0) return status;
    if (std::ferror(stdout) != 0) return fail_to_write("it could not be written");
    return std::fflush(stdout) == 0 ? 0 : fail_to_write(std::strerror(errno));
  } catch (const std::system_error& error) {  // of fmt::print
    return fail_to_write(error.code().message().c_str());
  }
}
