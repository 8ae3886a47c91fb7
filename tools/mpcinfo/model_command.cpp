#include "tools/mpcinfo/model_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "nbc/algorithms/collectives.h"
#include "nbc/model/chooser.h"
#include "nbc/model/levels.h"
#include "nbc/model/machine_file.h"
#include "nbc/model/paper.h"
#include "nbc/model/possible.h"
#include "sim/experiment.h"
#include "tools/mpcinfo/calibrate.h"
#include "tools/mpcinfo/calibrate_runtime.h"
#include "tools/mpcinfo/model_table.h"
#include "tools/mpcinfo/operation.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace mpc::tools {

namespace {

constexpr int kMostRanks = 100000;  // as mpcrun's

int complain(const Error& error) {
  std::fprintf(stderr, "mpcinfo: %s\n", error.message.c_str());
  return 2;
}

// What all commands start from.
struct Setting {
  std::unique_ptr<topo::Machine> machine;
  nbc::Parameters parameters;
  Operation operation;
  int cores() const { return machine->core_count(); }
};

Result<nbc::Parameters> find_parameters(const topo::Machine& machine,
                                        const std::string& path) {
  if (!path.empty()) return nbc::read_parameters(path);
  if (machine.is_real()) {
    auto known = nbc::read_parameters(nbc::parameters_path(topo::fingerprint(machine)));
    if (known || known.error().code != Errc::kNotFound) return known;
  }
  return nbc::guess_parameters(sim::shape_of(machine));
}

Result<Setting> find_setting(const ModelOptions& options, bool needs_tree) {
  Setting setting;
  auto machine = options.machine.empty() ? topo::Machine::detect()
                                         : topo::Machine::by_name(options.machine);
  if (!machine) return machine.error();
  setting.machine = std::move(machine).value();
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

// For numbers of ranks that each have a core.
Result<Setting> prepare(const ModelOptions& options) {
  auto setting = find_setting(options, /*needs_tree=*/true);
  if (setting && setting->cores() < 3)
    return {Errc::kArg,
            fmt::format("{} has {} cores: overlap needs at least two ranks and "
                        "one more core; try --machine knl64",
                        setting->machine->name(), setting->cores())};
  return setting;
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

ModelTable empty_table(const Setting& setting, const char* kind, const char* unit) {
  ModelTable table;
  table.kind = kind;
  table.unit = unit;
  table.cores = setting.cores();
  table.title =
      fmt::format("{} on {}", setting.operation.name, setting.machine->name());
  return table;
}

ModelTable paper_model(const Setting& setting, nbc::PaperOperation operation) {
  ModelTable table =
      empty_table(setting, name_of(operation.weight), "transfers of one buffer");
  for (const nbc::PaperRow& row : nbc::paper_table(operation, setting.cores()))
    table.rows.push_back({row.ranks, row.height, row.compute, row.blocking,
                          row.nonblocking, row.overlapped, row.best_split, -1});
  return table;
}

nbc::Situation situation_of(const Operation& operation, int cores, int ranks) {
  nbc::Situation s;
  s.coll = operation.coll;
  s.ranks = s.application_cores = ranks;
  s.communication_cores = cores - ranks;
  s.bytes = operation.bytes;
  return s;
}

ModelTable calibrated_model(const Setting& setting) {
  ModelTable table = empty_table(setting, "calibrated", "us");
  const int max_split = nbc::tree_height(setting.cores());
  for (int ranks = 2; ranks < setting.cores(); ++ranks) {
    nbc::Situation s = situation_of(setting.operation, setting.cores(), ranks);
    s.algorithm = "binomial";
    const double window = nbc::nominal_window_us(s, setting.parameters);
    const auto times = nbc::predict(s, nbc::plans_for(s).front(), setting.parameters);
    ModelTable::Row row{
        ranks, nbc::tree_height(ranks), window, times.back().kept_us, {}, {}, 0, -1};
    for (int split = 0; split <= max_split; ++split) {
      const auto& time = times[std::min(static_cast<size_t>(split), times.size() - 1)];
      row.nonblocking.push_back(time.nonblocking_us());
      row.overlapped.push_back(time.overlapped_us(window));
    }
    row.best_split = nbc::best_of(times, window).split;
    table.rows.push_back(std::move(row));
  }
  return table;
}

ModelTable simulated(const Setting& setting, const std::vector<sim::Point>& points) {
  ModelTable table = empty_table(setting, "simulated", "us");
  table.title += fmt::format(", {} bytes", setting.operation.bytes);
  for (const sim::Point& p : points)
    table.rows.push_back({p.ranks, p.height, p.compute_us, p.blocking_us,
                          p.nonblocking_us, p.overlapped_us, p.best_split,
                          p.chosen_split});
  return table;
}

Result<const nbc::Algorithm*> algorithm_of(const Operation& operation,
                                           const std::string& name) {
  const nbc::Algorithm* found =
      nbc::find_algorithm(operation.coll, name.empty() ? "binomial" : name);
  if (found != nullptr) return found;
  std::string known;
  for (const nbc::Algorithm& algorithm : nbc::algorithms(operation.coll))
    known += fmt::format("{}{}", known.empty() ? "" : ", ", algorithm.name);
  return {Errc::kArg, fmt::format("algorithm '{}': {} knows {}", name,
                                  nbc::name_of(operation.coll), known)};
}

// One number of ranks for a mix of collectives that are all in flight at once.
struct Advice {
  int ranks = 0;
  double compute_us = 0, total_us = 0, blocking_us = 0;
  std::vector<nbc::Choice> choices;
};

double best_blocking_us(const nbc::Situation& s, const nbc::Parameters& p) {
  double best = HUGE_VAL;
  for (const nbc::Plan& plan : nbc::plans_for(s))
    best = std::min(best, nbc::blocking_us(s, plan, p));
  return best;
}

// Each operation in turn takes what the ones before it have left of the computation to hide in.
Advice advise(const std::vector<Operation>& mix, int cores, int ranks,
              double compute_us, const nbc::Parameters& p) {
  Advice advice;
  advice.ranks = ranks;
  advice.compute_us = compute_us * cores / ranks;
  double kept = 0, folded = 0;
  for (const Operation& operation : mix) {
    nbc::Situation s = situation_of(operation, cores, ranks);
    s.window_us = std::max(0.0, advice.compute_us - folded) / operation.count;
    const nbc::Choice choice = nbc::choose(s, p);
    const nbc::Prediction prediction = nbc::predict_best(s, p);
    for (const nbc::SplitTime& time : prediction.times) {
      if (time.split != choice.split) continue;
      kept += operation.count * time.kept_us;
      folded += operation.count * time.folded_us;
    }
    advice.blocking_us += operation.count * best_blocking_us(s, p);
    advice.choices.push_back(choice);
  }
  advice.total_us = kept + std::max(advice.compute_us, folded);
  advice.blocking_us += advice.compute_us;
  if (advice.total_us > advice.blocking_us) {
    advice.total_us = advice.blocking_us;
    for (nbc::Choice& choice : advice.choices) {
      choice.algorithm = nullptr;
      choice.keeps_all = true;
    }
  }
  return advice;
}

void print_advice(const std::vector<Advice>& all, const std::vector<Operation>& mix,
                  const Setting& setting, double compute_us) {
  const auto by_total = [](const Advice& a, const Advice& b) {
    return a.total_us < b.total_us;
  };
  const Advice& best = *std::min_element(all.begin(), all.end(), by_total);
  const Advice& full = all.back();
  std::printf("%s: %d cores; parameters: %s (%s)\n", setting.machine->name().c_str(),
              setting.cores(), setting.parameters.machine.c_str(),
              setting.parameters.source.c_str());
  std::printf("A round: %.6g us of computation on all cores, and", compute_us);
  for (const Operation& operation : mix)
    std::printf(" %d x %s of %lld bytes", operation.count, operation.name.c_str(),
                static_cast<long long>(operation.bytes));
  std::printf(
      "\n\nUse %d ranks; leave %d cores for communication: %.6g us for a round.\n",
      best.ranks, setting.cores() - best.ranks, best.total_us);
  for (size_t i = 0; i < mix.size(); ++i) {
    const nbc::Choice& choice = best.choices[i];
    std::printf("  %-12s %s, S=%d%s\n", mix[i].name.c_str(),
                choice.algorithm == nullptr ? "as blocking" : choice.algorithm,
                choice.split, choice.keeps_all ? " (all levels: no overlap)" : "");
  }
  std::printf(
      "With a rank on each core and blocking calls: %.6g us (%.3g times as long).\n",
      full.blocking_us, full.blocking_us / best.total_us);
}

void print_possible(const Setting& setting, const nbc::Situation& s,
                    const nbc::Possible& p, bool is_csv) {
  const double percent = 100 * p.hidden_share();
  if (is_csv) {
    std::printf(
        "op,bytes,ranks,application_cores,communication_cores,window_us,computation_us,"
        "blocking_us,kept_us,handed_us,S,possible_us,hidden_percent\n"
        "%s,%lld,%d,%d,%d,%.6f,%.6f,%.6f,%.6f,%.6f,%d,%.6f,%.3f\n",
        setting.operation.name.c_str(), static_cast<long long>(s.bytes), s.ranks,
        s.application_cores, s.communication_cores, p.window_us, p.computation_us,
        p.blocking_us, p.kept_us, p.handed_us, p.split, p.shortest_us(), percent);
    return;
  }
  std::printf(
      "%s of %lld bytes, %d ranks on %d core%s, %d for communication (model; %s: %s)\n",
      setting.operation.name.c_str(), static_cast<long long>(s.bytes), s.ranks,
      s.application_cores, s.application_cores == 1 ? "" : "s", s.communication_cores,
      setting.parameters.machine.c_str(), setting.parameters.source.c_str());
  if (setting.parameters.caches.empty())
    std::printf("What caches cost was not measured: mpcinfo --calibrate\n");
  std::printf(
      "%14.3f us  blocking, on the ranks' cores\n%14.3f us  computation, each rank "
      "%.3f us\n",
      p.blocking_us, p.computation_us, p.window_us);
  std::printf("%14.3f us  start, computation and wait, kept on the ranks' cores\n",
              p.kept_us);
  std::printf("%14.3f us  the same, handed over (S=%d)\n", p.handed_us, p.split);
  if (p.hands_over())
    std::printf("Possible: %.3f us; %.1f %% hidden.\n", p.shortest_us(), percent);
  else
    std::printf("Possible: %.3f us; handing over does not pay, so nothing is hidden.\n",
                p.shortest_us());
}

}  // namespace

int model_command(const ModelOptions& options) {
  auto setting = prepare(options);
  if (!setting) return complain(setting.error());
  if (options.kind == "calibrated") return show(calibrated_model(*setting), options);
  nbc::PaperOperation operation = setting->operation.paper;
  if (!options.kind.empty()) {
    const auto weight = nbc::weight_of_name(options.kind);
    if (!weight)
      return complain(
          {Errc::kArg,
           fmt::format("kind '{}': known are constant, doubling, calibrated",
                       options.kind)});
    operation.weight = *weight;
  }
  return show(paper_model(*setting, operation), options);
}

int advise_command(const ModelOptions& options) {
  auto setting = prepare(options);
  if (!setting) return complain(setting.error());
  auto mix = parse_mix(options.ops);
  if (!mix) return complain(mix.error());
  auto compute_us = parse_time_us(options.compute);
  if (!compute_us) return complain(compute_us.error());
  std::vector<Advice> all;
  for (int ranks = 1; ranks <= setting->cores(); ++ranks)
    all.push_back(
        advise(*mix, setting->cores(), ranks, *compute_us, setting->parameters));
  if (!options.is_csv) {
    print_advice(all, *mix, *setting, *compute_us);
    return 0;
  }
  std::printf("nproc,N,C_us,total_us,blocking_us\n");
  for (const Advice& a : all)
    std::printf("%d,%d,%.6f,%.6f,%.6f\n", setting->cores(), a.ranks, a.compute_us,
                a.total_us, a.blocking_us);
  return 0;
}

int simulate_command(const ModelOptions& options) {
  auto setting = prepare(options);
  if (!setting) return complain(setting.error());
  auto algorithm = algorithm_of(setting->operation, options.algorithm);
  if (!algorithm) return complain(algorithm.error());
  const int last = setting->cores() - 1;
  const int from = options.first_ranks > 0 ? options.first_ranks : 2;
  const int to = options.last_ranks > 0 ? options.last_ranks : last;
  if (from < 2 || to > last || from > to || options.step < 1)
    return complain(
        {Errc::kArg,
         fmt::format("ranks must be 2 to {} in steps of at least 1", last)});
  sim::Experiment e;
  e.machine = setting->machine.get();
  e.parameters = setting->parameters;
  e.coll = setting->operation.coll;
  e.bytes = setting->operation.bytes;
  e.algorithm = *algorithm;
  e.rules.waits_help = options.waits_help;
  auto points = sim::simulate_all(e, from, to, options.step);
  if (!points) return complain(points.error());
  return show(simulated(*setting, *points), options);
}

int possible_command(const ModelOptions& options) {
  auto setting = find_setting(options, /*needs_tree=*/false);
  if (!setting) return complain(setting.error());
  nbc::Situation s;
  s.coll = setting->operation.coll;
  s.bytes = setting->operation.bytes;
  s.ranks = options.ranks;
  const int cores = options.cores > 0 ? options.cores : setting->cores();
  s.communication_cores = options.comm_cores;
  s.application_cores = std::min(s.ranks, cores - s.communication_cores);
  if (s.ranks > kMostRanks)
    return complain({Errc::kArg, fmt::format("--ranks {}: a job has at most {}",
                                             s.ranks, kMostRanks)});
  if (s.ranks < 2 || s.communication_cores < 0 || s.application_cores < 1)
    return complain(
        {Errc::kArg,
         fmt::format("--ranks {} --comm-cores {}: at least two ranks are wanted, and "
                     "of {} cores one for them",
                     s.ranks, s.communication_cores, cores)});
  if (!options.window.empty()) {
    auto window = parse_time_us(options.window);
    if (!window) return complain(window.error());
    s.window_us = *window;
  }
  auto shared = parse_bytes(options.shared_copy);
  if (!shared) return complain(shared.error());
  print_possible(*setting, s, nbc::possible(s, setting->parameters, *shared),
                 options.is_csv);
  return 0;
}

namespace {

// Said before the measurements, which take seconds. Only the user's cache is made.
Result<> prepare_folder(const std::string& path, bool is_cache) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (is_cache) std::filesystem::create_directories(folder, error);
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return {Errc::kArg, fmt::format("{}: cannot be written: there is no folder {}", path,
                                  folder.string())};
}

}  // namespace

int calibrate_command(const ModelOptions& options) {
  if (!options.machine.empty())
    return complain({Errc::kArg, "--calibrate measures this machine: no --machine"});
  auto machine = topo::Machine::detect();
  if (!machine) return complain(machine.error());
  const std::string path = options.output.empty()
                               ? nbc::parameters_path(topo::fingerprint(**machine))
                               : options.output;
  if (path.empty())
    return complain(
        {Errc::kArg, "neither XDG_CACHE_HOME nor HOME is set: give --output FILE"});
  if (auto ready = prepare_folder(path, options.output.empty()); !ready)
    return complain(ready.error());
  auto measured = calibrate(**machine);
  if (!measured) return complain(measured.error());
  const RuntimeCosts runtime = calibrate_runtime();
  measured->node_us = runtime.node_us;
  measured->message_us = runtime.message_us;
  measured->call_us = runtime.call_us;
  char today[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(today, sizeof today, "%Y-%m-%d", std::gmtime(&now));
  const nbc::Parameters p =
      nbc::from_measured(sim::shape_of(**machine), *measured, today);
  if (auto written = nbc::write_parameters(p, path); !written)
    return complain(written.error());
  std::fputs(nbc::to_json(p).c_str(), stdout);
  std::fprintf(stderr, "mpcinfo: wrote %s\n", path.c_str());
  return 0;
}

}  // namespace mpc::tools
