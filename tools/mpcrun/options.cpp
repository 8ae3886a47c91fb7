#include "tools/mpcrun/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/version.h"
#include "runtime/job/rank_output.h"
#include "tools/mpcrun/hosted.h"
#include "tools/mpcrun/parsed.h"
#include "tools/mpcrun/planning.h"
#include "tools/mpcrun/program_file.h"
#include "tools/mpcrun/words.h"

namespace mpc::tools {
namespace {

using job::ExitStatus;
using job::JobSpec;

constexpr char kDescription[] =
    "Runs MPI programs whose ranks are user-level threads of one process.\n"
    "Compile with mpcc, mpcxx or mpcfort.\n";

constexpr char kExamples[] =
    "Examples:\n"
    "  mpcrun -n 16 ./ring                    16 ranks on the cores of this machine\n"
    "  mpcrun -n 4096 ./ring                  the same on a laptop: ranks may "
    "outnumber cores\n"
    "  mpcrun -n 1 ./boss : -n 7 ./worker     one job of two programs (MPMD)\n"
    "  mpcrun -n 8 --cores 1 ./prog           all ranks share one core\n"
    "  mpcrun -n 8 --cores 0,2,3 ./prog       the cores with these logical numbers\n"
    "  mpcrun -n 14 --cores 16 --comm-cores 2 ./prog   two cores for communication "
    "only\n"
    "  mpcrun -n 8 -p 2 ./prog                two processes with four ranks each\n"
    "  mpcrun -n 256 --hosts a,b ./prog       128 ranks on each of two hosts, by ssh\n"
    "  mpcrun -n 4 --show ./prog              where ranks would run; runs nothing\n"
    "  mpcrun -n 4 --set log.level=info ./prog\n"
    "\n"
    "Ctrl-\\ prints what each rank is doing; Ctrl-C ends the job, a second one at "
    "once.\n"
    "Exit status: 0, or the status of the first rank that ended with another one; 2 "
    "wrong\n"
    "options, 3 the job could not start, 122 output was lost, 123 MPI error, 124 "
    "--timeout,\n"
    "125 deadlock, 126 the program cannot be run as ranks, or called exec, 127 not "
    "found,\n"
    "128+N died of signal N.\n"
    "Settings: mpcinfo settings. Machine: mpcinfo topology.\n";

// A check for CLI11: the fault of a value, as the end of a sentence that begins with the
// option's name.
auto number_of(const char* what, int low) {
  return [what, low](const std::string& text) -> std::string {
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    const bool is_number = end != text.c_str() && *end == 0;
    if (is_number && number >= low && number <= kMaxRanks) return "";
    const std::string range =
        is_number ? fmt::format(" from {} to {}", low, kMaxRanks) : "";
    return fmt::format("wants a number of {}{}, not '{}'", what, range, text);
  };
}

// A check for CLI11, like the one above.
std::string fault_of_binding(const std::string& text) {
  const bool is_good = text == "auto" || text == "core" || text == "none";
  return is_good ? "" : fmt::format("wants auto, core or none, not '{}'", text);
}

std::string fault_of_on_fail(const std::string& text) {
  const bool is_good = text == "end" || text == "notify";
  return is_good ? "" : fmt::format("wants end or notify, not '{}'", text);
}

std::string fault_of_timeout(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool is_good = end != text.c_str() && *end == 0 && seconds > 0 && seconds < 1e9;
  return is_good ? ""
                 : fmt::format("wants a number of seconds above 0, not '{}'", text);
}

void declare_cores(CLI::App& app, Parsed& p) {
  app.add_option(
         "--cores", p.cores,
         "How many cores to use, or which (0,2,5-7: logical numbers); default: all "
         "that are allowed, at most one per rank")
      ->type_name("N|LIST");
  app.add_option(
         "--comm-cores", p.comm_cores,
         "How many of these cores (the last ones of a list, else evenly between the "
         "others) have no ranks and move the ranks' communication on in the "
         "background; default: what the ranks leave free")
      ->type_name("P")
      ->check(number_of("cores", 0));
  app.add_option("--progress", p.progress,
                 "Where a rank's progress thread runs: closest (idle core; the "
                 "default), same, "
                 "next, numa, list:WORKERS, tasks, off")
      ->type_name("POLICY");
  app.add_option(
         "--emulate", p.emulate,
         "Run as if on another machine, slowed down: knl64, skylake48, an hwloc XML "
         "file or synthetic string; copies and computation take its time, asleep")
      ->type_name("MACHINE");
  app.add_option("--bind", p.bind,
                 "Bind each worker to its core, or leave it to the system; auto (the "
                 "default): "
                 "bind it to a core that no other job holds, unless these are too few")
      ->type_name("auto|core|none")
      ->check(fault_of_binding);
  app.add_option(
         "--placement", p.placement,
         "Ranks on workers: compact (neighbours together), scatter (far apart), "
         "or a list of workers 0,1,1,0")
      ->type_name("compact|scatter|LIST");
}

void declare_processes(CLI::App& app, Parsed& p) {
  app.add_option("-p,--processes", p.hosts.processes,
                 "Number of processes of the job, which share its ranks alike, as "
                 "user-level "
                 "threads; default: 1")
      ->type_name("P")
      ->check(number_of("processes", 1));
  app.add_option("--ranks-per-process", p.ranks_per_process,
                 "The same, said by the number of ranks in each process; 1: each rank "
                 "is a process "
                 "of its own, whatever the command is (a script, python3, a debugger); "
                 "auto: so "
                 "where a program was not built by mpcc, mpcxx or mpcfort")
      ->type_name("K|auto")
      ->check(fault_of_ranks_per_process);
  app.add_option("--on-fail", p.on_fail,
                 "When a process of the job dies: end the job (the default), or notify "
                 "the others, "
                 "which go on: calls that need it fail with MPI_ERR_PROC_ABORTED; in "
                 "jobs of several processes")
      ->type_name("end|notify")
      ->check(fault_of_on_fail);
}

void declare_hosts(CLI::App& app, Parsed& p) {
  app.add_option(
         "-H,--hosts,--host", p.hosts.hosts,
         "Run on these hosts, with so many ranks at most; default: on this one. "
         "Ranks lie in blocks, one process on each host")
      ->type_name("HOST[:SLOTS],...");
  app.add_option("-f,--hostfile,--machinefile", p.hosts.host_file,
                 "The same, in a file: lines HOST, HOST:SLOTS or HOST slots=SLOTS")
      ->type_name("FILE");
  app.add_option("--ranks-per-host", p.hosts.ranks_per_host, "Ranks on each host")
      ->type_name("K")
      ->check(number_of("ranks", 1));
  app.add_option("--processes-per-host", p.hosts.processes_per_host,
                 "Processes on each host; default: 1")
      ->type_name("P")
      ->check(number_of("processes", 1));
  app.add_option("--agent", p.agent,
                 "The command that starts something on another host, as ssh does")
      ->type_name("COMMAND");
}

std::string fault_of_pattern(const std::string& text) {
  return job::OutputPattern(text).fault();
}

void declare_output(CLI::App& app, Parsed& p) {
  app.add_flag("-l,--label", p.label, "Begin each line of output with its rank");
  app.add_option(
         "--label-pattern", p.label_pattern,
         "Begin each line with this text, in which %r is the rank, %h the host, "
         "%t the time, %o stdout or stderr")
      ->type_name("TEXT")
      ->check(fault_of_pattern);
  app.add_option(
         "--output-file", p.output_file,
         "Write the ranks' standard output to files; %r in the name is the rank")
      ->type_name("FILE")
      ->check(fault_of_pattern);
  app.add_option("--error-file", p.error_file, "The same for standard error")
      ->type_name("FILE")
      ->check(fault_of_pattern);
  app.add_flag("--copy-output", p.copy_output,
               "Print what --output-file and --error-file have, too");
}

void declare_job(CLI::App& app, Parsed& p) {
  app.add_option("--stack-size", p.stack_size,
                 "Stack of each rank, or unlimited; memory is used only when "
                 "touched; default: "
                 "8M, or `ulimit -s` if that is more")
      ->type_name("BYTES[k|M|G]");
  declare_output(app, p);
  app.add_option("--timeout", p.timeout, "End the job after that many seconds")
      ->type_name("SECONDS")
      ->check(fault_of_timeout);
  app.add_option("--set", p.settings,
                 "A setting of the runtime; mpcinfo settings lists them")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--trace", p.trace,
                 "Write a timeline of ranks, MPI calls and background work, for "
                 "ui.perfetto.dev or mpcinfo trace")
      ->type_name("FILE.json");
  app.add_flag(
      "--profile", p.profile,
      "Print at the end where the ranks' time went, who waited for whom, and who "
      "sent how much (to standard error)");
  app.add_option("--profile-file", p.profile_file,
                 "The same, and write it for mpcinfo profile")
      ->type_name("FILE.json");
  app.add_flag("--counters", p.counters,
               "Print at the end how often the runtime did what (to standard error)");
  app.add_flag("--show", p.show, "Print placement and settings, run nothing");
  app.add_flag("--report", p.report,
               "Print placement and settings to standard error, then run");
  app.add_option("--export-all", p.exports_of_all, "As -x, for all programs of the job")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_flag("--no-stdin", p.no_stdin, "Rank 0 has an empty standard input, too");
  app.set_version_flag("-V,--version", std::string("mpcrun ") + version_text());
}

void declare(CLI::App& app, Parsed& p, bool first) {
  app.add_option("-n,--np,-c", p.ranks,
                 "Number of ranks of this program; -np is the same")
      ->type_name("N")
      ->check(number_of("ranks", 1));
  app.add_option("-x,--export", p.exports,
                 "Environment variable of the ranks: NAME=VALUE, or NAME to pass it on")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("--wdir,--wd", p.wdir,
                 "Run in this folder; before another program: that one only")
      ->type_name("DIR");
  if (first) {
    declare_hosts(app, p);
    declare_processes(app, p);
    declare_cores(app, p);
    declare_job(app, p);
  }
  app.add_option("program", p.shown, "The program and its arguments")
      ->type_name("PROGRAM [ARG...]");
}

// The options of `all`; those that `app` lacks are not allowed here.
std::vector<KnownOption> known_options(const CLI::App& all, const CLI::App& app) {
  std::vector<KnownOption> known;
  for (const CLI::Option* option : all.get_options()) {
    if (option->get_positional()) continue;
    KnownOption out;
    out.names = option->get_lnames();
    out.full_name = "--" + out.names.front();
    const auto& letters = option->get_snames();
    out.names.insert(out.names.end(), letters.begin(), letters.end());
    const bool is_flag = option->get_items_expected_max() == 0;
    if (!is_flag) out.value = option->get_type_name();
    out.may_repeat = is_flag || option->get_expected_max() > 1;
    out.is_allowed = app.get_option_no_throw(out.full_name) != nullptr;
    known.push_back(std::move(out));
  }
  return known;
}

// CLI11's text is "--NAME: what is wrong".
std::string with_typed_name(const std::string& text, const Words& words) {
  const size_t colon = text.find(": ");
  const auto found = words.typed.find(text.substr(0, colon));
  if (found == words.typed.end()) return text;
  return found->second + " " + text.substr(colon + 2);
}

// ":" as an argument of its own separates the programs of an MPMD job.
std::vector<std::vector<std::string>> split_programs(int argc, char** argv) {
  std::vector<std::vector<std::string>> out(1);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == ":") {
      out.emplace_back();
    } else {
      out.back().emplace_back(argv[i]);
    }
  }
  return out;
}

// The programs of a file that the first program's options name, in place of `programs`.
Result<std::vector<std::vector<std::string>>> take_program_file(
    std::vector<std::vector<std::string>> programs,
    const std::vector<KnownOption>& known) {
  auto words = read_words(programs[0], known);
  // Faults in them are reported by the function that reads all of them.
  if (!words || words->program_file.empty()) return programs;
  const std::string typed = words->typed["--configfile"];
  if (!words->command.empty() || programs.size() > 1)
    return {Errc::kArg,
            fmt::format("{} {}: the programs stand in that file, and here is another "
                        "one: {}",
                        typed, words->program_file,
                        words->command.empty() ? ":" : words->command.front())};
  auto lines = read_program_file(words->program_file);
  if (!lines) return {Errc::kArg, typed + " " + lines.error().message};
  std::vector<std::string>& first = lines->front();
  first.insert(first.begin(), words->others.begin(), words->others.end());
  return std::move(*lines);
}

Finished usage_error(const std::string& message) {
  return {ExitStatus::kExitUsage, "", fmt::format("mpcrun: {}\n", message)};
}

}  // namespace

std::variant<Command, Finished> parse_options(int argc, char** argv) {
  Command command;
  JobSpec& spec = command.spec;
  Parsed unused, of_job;
  Words words_of_job;
  CLI::App first_app;
  declare(first_app, unused, true);
  const auto programs = take_program_file(split_programs(argc, argv),
                                          known_options(first_app, first_app));
  if (!programs) return usage_error(programs.error().message);
  for (size_t i = 0; i < programs->size(); ++i) {
    CLI::App app{kDescription, "mpcrun"};
    app.footer(kExamples);
    Parsed parsed;
    declare(app, parsed, i == 0);
    const auto words = read_words((*programs)[i], known_options(first_app, app));
    if (!words) return usage_error(words.error().message);
    command.warnings.insert(command.warnings.end(), words->warnings.begin(),
                            words->warnings.end());
    if (!words->program_file.empty())
      return usage_error(words->typed.at("--configfile") +
                         " goes before the first program, on the command line");
    try {
      // CLI11 wants the words in reverse order.
      std::vector<std::string> options(words->options.rbegin(), words->options.rend());
      app.parse(options);
    } catch (const CLI::ParseError& error) {
      std::ostringstream out, err;
      const int code = app.exit(error, out, err);
      if (code == 0) return Finished{0, out.str(), ""};
      return usage_error(with_typed_name(error.what(), *words));
    }
    if (auto filled = fill_app(parsed, words->command, command); !filled)
      return usage_error(as_typed(filled.error().message, *words));
    for (std::string& warning : command.warnings)
      warning = as_typed(std::move(warning), *words);
    if (i > 0) continue;
    of_job = parsed;
    command.has_no_input = parsed.no_stdin;
    words_of_job = *words;
    if (auto filled = fill_job(parsed, spec); !filled)
      return usage_error(as_typed(filled.error().message, *words));
  }
  if (auto finished = finish(of_job, words_of_job, command); !finished)
    return usage_error(as_typed(finished.error().message, words_of_job));
  return command;
}

}  // namespace mpc::tools
