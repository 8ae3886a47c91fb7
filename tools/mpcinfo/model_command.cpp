#include "tools/mpcinfo/model_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "nbc/algorithms/collectives.h"
#include "nbc/model/levels.h"
#include "nbc/model/paper.h"
#include "sim/experiment.h"
#include "tools/mpcinfo/model_setting.h"
#include "tools/mpcinfo/model_table.h"

namespace mpc::tools {

namespace {

// Prints or plots, according to the options.
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

ModelTable empty_table(const ModelSetting& setting, const char* kind,
                       const char* unit) {
  ModelTable table;
  table.kind = kind;
  table.unit = unit;
  table.cores = setting.cores();
  table.hosts = setting.hosts;
  table.title = fmt::format("{} on {}", setting.operation.name, setting.name);
  return table;
}

// The cost of a message between hosts, in copies within a host.
nbc::PaperNetwork network_of(const ModelSetting& setting) {
  const nbc::Parameters& p = setting.parameters;
  const int64_t bytes = setting.operation.bytes;
  return {setting.hosts,
          nbc::network_us(p, bytes) / nbc::copy_us(p, nbc::Reach::kNuma, bytes)};
}

ModelTable paper_model(const ModelSetting& setting, nbc::PaperOperation operation) {
  ModelTable table =
      empty_table(setting, name_of(operation.weight), "transfers of one buffer");
  const nbc::PaperNetwork network =
      setting.hosts > 1 ? network_of(setting) : nbc::PaperNetwork{};
  if (setting.hosts > 1)
    table.title +=
        fmt::format(", a transfer between hosts as {:.3g} within", network.transfer);
  for (const nbc::PaperRow& row : nbc::paper_table(operation, setting.cores(), network))
    table.rows.push_back({row.ranks, row.height, row.compute, row.blocking,
                          row.nonblocking, row.overlapped, row.best_split, -1});
  return table;
}

ModelTable calibrated_model(const ModelSetting& setting) {
  ModelTable table = empty_table(setting, "calibrated", "us");
  const int above = nbc::tree_height(setting.hosts);
  const int max_split = nbc::tree_height(setting.cores()) + above;
  for (int ranks = 2; ranks < setting.cores(); ++ranks) {
    nbc::Situation s =
        situation_of(setting.operation, setting.cores(), ranks, setting.hosts);
    s.algorithm = setting.hosts > 1 ? "tree" : "binomial";
    const double window = nbc::nominal_window_us(s, setting.parameters);
    const auto times = nbc::predict(s, nbc::plans_for(s).front(), setting.parameters);
    ModelTable::Row row{
        ranks, nbc::tree_height(ranks) + above, window, times.back().kept_us, {}, {}, 0,
        -1};
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

ModelTable simulated(const ModelSetting& setting,
                     const std::vector<sim::Point>& points) {
  ModelTable table = empty_table(setting, "simulated", "us");
  table.title += fmt::format(", {} bytes", setting.operation.bytes);
  for (const sim::Point& p : points)
    table.rows.push_back({p.ranks, p.height, p.compute_us, p.blocking_us,
                          p.nonblocking_us, p.overlapped_us, p.best_split,
                          p.chosen_split});
  return table;
}

// `usual`: the default, if none is named.
Result<const nbc::Algorithm*> algorithm_of(const Operation& operation,
                                           const std::string& name, const char* usual) {
  const nbc::Algorithm* found =
      nbc::find_algorithm(operation.coll, name.empty() ? usual : name);
  if (found != nullptr) return found;
  std::string known;
  for (const nbc::Algorithm& algorithm : nbc::algorithms(operation.coll))
    known += fmt::format("{}{}", known.empty() ? "" : ", ", algorithm.name);
  return {Errc::kArg, fmt::format("algorithm '{}': {} knows {}", name,
                                  nbc::name_of(operation.coll), known)};
}

}  // namespace

int model_command(const ModelOptions& options) {
  auto setting = find_overlap_setting(options);
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

namespace {

// For a large cluster each number of ranks takes seconds. So unless the options say more, only some
// numbers are computed, from three quarters of the cores on.
constexpr int kManyRanks = 4096, kRows = 8;

bool is_large(const ModelSetting& setting) {
  return setting.hosts > 1 && setting.hosts * setting.cores() > kManyRanks;
}
int first_ranks_of(const ModelOptions& options, const ModelSetting& setting) {
  if (options.first_ranks > 0) return options.first_ranks;
  return is_large(setting) ? std::max(2, setting.cores() * 3 / 4) : 2;
}
int step_of(const ModelOptions& options, const ModelSetting& setting, int from,
            int to) {
  if (options.step > 0) return options.step;
  return is_large(setting) ? (to - from) / kRows + 1 : 1;
}

}  // namespace

int simulate_command(const ModelOptions& options) {
  auto setting = find_overlap_setting(options);
  if (!setting) return complain(setting.error());
  auto algorithm = algorithm_of(setting->operation, options.algorithm,
                                setting->hosts > 1 ? "tree" : "binomial");
  if (!algorithm) return complain(algorithm.error());
  const int last = setting->cores() - 1;
  const int from = first_ranks_of(options, *setting);
  const int to = options.last_ranks > 0 ? options.last_ranks : last;
  if (from < 2 || to > last || from > to || options.step < 0)
    return complain(
        {Errc::kArg,
         fmt::format("ranks must be 2 to {} in steps of at least 1", last)});
  sim::Experiment e;
  e.machine = setting->machine.get();
  e.parameters = setting->parameters;
  e.coll = setting->operation.coll;
  e.bytes = setting->operation.bytes;
  e.hosts = setting->hosts;
  e.algorithm = *algorithm;
  e.rules.waits_help = options.waits_help;
  auto points = sim::simulate_all(e, from, to, step_of(options, *setting, from, to));
  if (!points) return complain(points.error());
  return show(simulated(*setting, *points), options);
}

}  // namespace mpc::tools
