#include "tools/mpcinfo/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/version.h"
#include "runtime/job/info.h"
#include "tools/mpcinfo/collectives_command.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/profile_command.h"
#include "tools/mpcinfo/trace_command.h"

namespace mpc::tools {

namespace {

using Action = std::function<int()>;

// Declares the options of a command. Returns the function to run after they have been parsed; it
// owns the values.
using Declare = Action (*)(CLI::App&);

constexpr char kMachineHelp[] =
    "Another machine: knl64, skylake48, an hwloc XML file or synthetic string";

// A check for CLI11: returns an error message if the machine's name is not known.
std::string is_named(const std::string& name) {
  return name.empty() ? "wants a name, and there is none" : "";
}

// For the commands that know clusters.
constexpr char kClusterHelp[] =
    "Another machine: knl64, skylake48, an hwloc XML file or synthetic string; "
    "16*NAME: a "
    "cluster of 16 of them";

void add_machine(CLI::App& app, std::string& machine) {
  app.add_option("--machine", machine, kClusterHelp)
      ->type_name("NAME")
      ->check(is_named);
}

void add_operation(CLI::App& app, ModelOptions& options, const char* names) {
  app.add_option("--op", options.operation, names)
      ->type_name("OP")
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "Size of one rank's buffer or block")
      ->type_name("BYTES")
      ->capture_default_str();
}

void add_costs(CLI::App& app, ModelOptions& options) {
  add_machine(app, options.machine);
  app.add_option("--parameters", options.parameters,
                 "File of a machine's costs, made by mpcinfo calibrate")
      ->type_name("FILE");
  app.add_flag("--csv", options.is_csv, "Numbers for programs instead of a table");
}

void add_plot(CLI::App& app, ModelOptions& options) {
  app.add_option("--plot", options.plot,
                 "Plot time against ranks for every S (needs gnuplot)")
      ->type_name("FILE.svg|FILE.png");
}

constexpr char kTreeOperations[] =
    "ibcast, ireduce, iscatter, igather or iallreduce, on a tree";

Action declare_topology(CLI::App& app) {
  auto machine = std::make_shared<std::string>();
  app.add_option("machine,--machine", *machine, kMachineHelp)
      ->type_name("NAME")
      ->check(is_named);
  return [machine] { return mpc_info_topology(machine->c_str()); };
}

Action declare_settings(CLI::App& app) {
  struct Options {
    std::string name;
    bool is_markdown = false;
  };
  auto o = std::make_shared<Options>();
  app.add_option("name", o->name,
                 "Only this one, or those whose names begin so: progress, nbc.split")
      ->type_name("NAME");
  app.add_flag("--markdown", o->is_markdown, "As docs/settings.md");
  return [o] { return mpc_info_settings(o->name.c_str(), o->is_markdown); };
}

Action declare_trace(CLI::App& app) {
  auto o = std::make_shared<TraceOptions>();
  app.add_option("file", o->file, "What mpcrun --trace has written")
      ->type_name("FILE.json")
      ->required();
  app.add_option("--svg", o->svg, "Draw a collective, core by core")
      ->type_name("FILE.svg");
  app.add_option("--collective", o->collective,
                 "Which one of the list to draw; default: the longest")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--html", o->html,
                 "Write all of it as a page for a browser: timeline, messages, waits")
      ->type_name("FILE.html")
      ->excludes("--svg")
      ->excludes("--collective");
  app.add_option(
         "--profile", o->profile,
         "What mpcrun --profile-file has written of the same job, for that page")
      ->type_name("FILE.json");
  return [o] { return trace_command(*o); };
}

Action declare_profile(CLI::App& app) {
  auto o = std::make_shared<ProfileOptions>();
  app.add_option("file", o->file, "What mpcrun --profile-file has written")
      ->type_name("FILE.json")
      ->required();
  app.add_option("--html", o->html, "Write a page for a browser, with a picture")
      ->type_name("FILE.html");
  return [o] { return profile_command(*o); };
}

Action declare_calibrate(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  app.add_option("--output", *output, "This file, not the user's cache")
      ->type_name("FILE");
  return [output] { return calibrate_command(*output); };
}

Action declare_collectives(CLI::App& app) {
  auto o = std::make_shared<CollectivesOptions>();
  app.add_option("name", o->collective, "Only this one: allreduce")->type_name("NAME");
  app.add_option("-n,--ranks", o->ranks, "Ranks; default: one for each core")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--comm-cores", o->comm_cores, "Cores without ranks, as mpcrun has it")
      ->type_name("P")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--bytes", o->sizes, "Sizes of one rank's block or vector, by commas")
      ->type_name("SIZES")
      ->capture_default_str();
  app.add_option("--machine", o->machine, kMachineHelp)
      ->type_name("NAME")
      ->check(is_named);
  app.add_flag("--csv", o->is_csv, "Lines for programs instead of a table");
  return [o] { return collectives_command(*o); };
}

Action declare_tune(CLI::App& app) {
  auto o = std::make_shared<TuneOptions>();
  app.add_option("--output", o->output, "This file, not the user's cache")
      ->type_name("FILE");
  app.add_option("--seconds", o->seconds, "Begin nothing later")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return [o] { return tune_command(*o); };
}

Action declare_model(CLI::App& app) {
  auto o = std::make_shared<ModelOptions>();
  add_operation(app, *o, kTreeOperations);
  app.add_option("--kind", o->kind,
                 "constant or doubling (the paper's model with this weight), or "
                 "calibrated (microseconds)")
      ->type_name("KIND");
  add_costs(app, *o);
  add_plot(app, *o);
  return [o] { return model_command(*o); };
}

Action declare_simulate(CLI::App& app) {
  auto o = std::make_shared<ModelOptions>();
  add_operation(app, *o, kTreeOperations);
  app.add_option("--algorithm", o->algorithm, "Instead of binomial")->type_name("NAME");
  app.add_option("--from", o->first_ranks, "Lowest number of ranks")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--to", o->last_ranks, "Highest number of ranks")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--step", o->step,
                 "Step of the number of ranks; default: 1, of large clusters more")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--waits-help", o->waits_help,
               "Ranks in wait also do what is left of their own");
  add_costs(app, *o);
  add_plot(app, *o);
  return [o] { return simulate_command(*o); };
}

Action declare_advise(CLI::App& app) {
  auto o = std::make_shared<ModelOptions>();
  app.add_option("--ops", o->ops, "The collectives of a round: OP[:BYTES[:COUNT]],...")
      ->type_name("MIX")
      ->capture_default_str();
  app.add_option("--compute", o->compute,
                 "Computation of a round, with a rank on every core")
      ->type_name("TIME")
      ->capture_default_str();
  add_costs(app, *o);
  return [o] { return advise_command(*o); };
}

Action declare_possible(CLI::App& app) {
  auto o = std::make_shared<ModelOptions>();
  add_operation(app, *o, "ibcast, ireduce, iscatter, igather, iallreduce or ialltoall");
  app.add_option("--ranks", o->ranks, "Ranks")->type_name("N")->capture_default_str();
  app.add_option("--cores", o->cores, "All cores; default: the machine's")
      ->type_name("N");
  app.add_option("--comm-cores", o->comm_cores, "Those of them for communication")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--window", o->window,
                 "Computation of each rank between start and wait; default: 1.2 times "
                 "the blocking collective")
      ->type_name("TIME");
  app.add_option("--shared-copy", o->shared_copy,
                 "Copies from this size on are made by waiting ranks, too, as "
                 "message.shared_copy says; 0: none")
      ->type_name("BYTES")
      ->capture_default_str();
  add_costs(app, *o);
  return [o] { return possible_command(*o); };
}

constexpr struct Command {
  const char* name;
  const char* help;
  Declare declare;
  const char* example;
} kCommands[] = {
    {"topology", "Draws the machine: packages, NUMA nodes, caches, cores",
     declare_topology, "mpcinfo topology knl64"},
    {"settings", "Lists the settings with their values and meaning", declare_settings,
     "mpcinfo settings progress"},
    {"trace", "Shows a file of mpcrun --trace: collectives, a picture of one, a page",
     declare_trace, "mpcinfo trace job.json --html job.html"},
    {"profile", "Shows a file of mpcrun --profile-file, as a text or as a page",
     declare_profile, "mpcinfo profile profile.json --html profile.html"},
    {"calibrate",
     "Measures this machine's copies and stores the numbers for the models",
     declare_calibrate, "mpcinfo calibrate"},
    {"tune", "Measures at which sizes collectives change their ways, for later jobs",
     declare_tune, "mpcinfo tune"},
    {"collectives", "Lists how each collective is done here, and what decides it",
     declare_collectives, "mpcinfo collectives allreduce -n 64"},
    {"model",
     "Predicts a split-tree collective with computation for every number of ranks",
     declare_model, "mpcinfo model --machine skylake48 --op igather --plot gather.svg"},
    {"simulate",
     "Plays the real schedules on the simulated machine, for every number of ranks",
     declare_simulate, "mpcinfo simulate --machine knl64 --op ireduce --csv"},
    {"advise", "Says how many ranks to use for a mix of collectives", declare_advise,
     "mpcinfo advise --machine knl64 --ops ibcast:2MB:1,ireduce:2MB:2 --compute 2ms"},
    {"possible",
     "Says how much of a collective the calibrated model allows to be hidden",
     declare_possible,
     "mpcinfo possible --op igather --bytes 64KB --ranks 2 --comm-cores 1 --window "
     "5us"},
};

// The options that were later replaced by commands; "--machine" alone drew the machine.
constexpr const char* kFormerFlags[][2] = {
    {"--topology", "mpcinfo topology [NAME]"}, {"--machine", "mpcinfo topology NAME"},
    {"--settings", "mpcinfo settings [NAME]"}, {"--trace", "mpcinfo trace FILE.json"},
    {"--calibrate", "mpcinfo calibrate"},      {"--model", "mpcinfo model"},
    {"--simulate", "mpcinfo simulate"},        {"--advise", "mpcinfo advise"},
    {"--possible", "mpcinfo possible"},
};

const Command* find_command(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                   [&](const Command& c) { return name == c.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

int usage_error(const std::string& message, const std::string& help) {
  fmt::print(stderr, "mpcinfo: {}\n{}\n", message, help);
  return 2;
}

int wrong_first_word(const std::string& word) {
  constexpr char kHelp[] = "mpcinfo --help lists the commands";
  const std::string flag = word.substr(0, word.find('='));
  for (const auto& [former, now] : kFormerFlags)
    if (flag == former)
      return usage_error(fmt::format("{} is a command now: {}", former, now), kHelp);
  if (word.starts_with('-'))
    return usage_error(
        fmt::format("unknown option '{}'; options come after the command", word),
        kHelp);
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return usage_error(
      fmt::format("there is no command '{}'{}", word, did_you_mean(word, names)),
      kHelp);
}

int print_overview() {
  fmt::print(
      "Shows the machine that ranks would run on, the settings of the runtime, what a "
      "job did,\nand what the models of overlap predict.\n"
      "Usage: mpcinfo COMMAND [OPTIONS]\n\nCommands:\n");
  for (const Command& command : kCommands)
    fmt::print("  {:<13}{}\n", command.name, command.help);
  fmt::print(
      "\nOptions:\n  -h,--help   Print this help; mpcinfo COMMAND --help shows a "
      "command's options\n  -V,--version\n\nExamples:\n");
  for (const Command& command : kCommands) fmt::print("  {}\n", command.example);
  return 0;
}

// ", did you mean '--csv'?"
std::string near_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return did_you_mean(word, names);
}

int run_command(const Command& command, std::vector<std::string> words) {
  CLI::App app{std::string(command.help) + ".", std::string("mpcinfo ") + command.name};
  app.footer(std::string("Example: ") + command.example + "\n");
  const Action action = command.declare(app);
  const std::string help =
      fmt::format("mpcinfo {} --help shows its options", command.name);
  try {
    std::reverse(words.begin(), words.end());  // in the order that CLI11 expects
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    const std::string word = app.remaining().front();
    return usage_error(
        word.starts_with('-')
            ? fmt::format("{}: unknown option '{}'{}", command.name, word,
                          near_option(app, word))
            : fmt::format("{}: unknown argument '{}'", command.name, word),
        help);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return usage_error(fmt::format("{}: {}", command.name, error.what()), help);
  }
  return action();
}

}  // namespace

int run_command_line(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "-h" || words[0] == "--help")
    return print_overview();
  if (words[0] == "-V" || words[0] == "--version") {
    fmt::print("mpcinfo {}\n", version_text());
    return 0;
  }
  if (words[0] == "help") {
    if (words.size() == 1) return print_overview();
    words = {words[1], "--help"};
  }
  // A parser for each command: so a file or a machine called "model" is not taken for a command.
  const Command* command = find_command(words[0]);
  if (command == nullptr) return wrong_first_word(words[0]);
  return run_command(*command, {words.begin() + 1, words.end()});
}

}  // namespace mpc::tools
