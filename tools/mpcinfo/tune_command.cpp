// mpcinfo tune: measures the limits of collectives, and stores them where jobs find them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>

#include "nbc/model/machine_file.h"
#include "nbc/model/tuned_file.h"
#include "tools/mpcinfo/calibrate.h"
#include "tools/mpcinfo/collectives_command.h"
#include "tools/mpcinfo/model_setting.h"
#include "tools/mpcinfo/tune_plan.h"
#include "topology/cpu_name.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace mpc::tools {
namespace {

constexpr int kPairs = 3;  // of jobs, one with each choice, in turn

double now_s() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Times of one job, by the bytes of a block. Errors: kSystem.
Result<std::map<int64_t, double>> run_job(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {Errc::kSystem, command + ": cannot be started"};
  std::map<int64_t, double> times;
  std::array<char, 256> line;
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    long bytes = 0;
    double us = 0;
    if (std::sscanf(line.data(), "TUNE %ld %lf", &bytes, &us) == 2) times[bytes] = us;
  }
  const int status = pclose(pipe);
  if (status != 0 || times.empty())
    return {Errc::kSystem, fmt::format("{}: status {}", command, status)};
  return times;
}

struct Tuner {
  std::string mpcrun, rank_program;
  int cores;
  double deadline_s;

  std::string command(const Trial& trial, int64_t limit) const {
    const int ranks = ranks_of(trial, cores);
    std::string blocks;
    for (const int64_t bytes : sizes_of(trial))
      blocks +=
          fmt::format("{}{}", blocks.empty() ? "" : ",", block_of(trial, ranks, bytes));
    return fmt::format(
        "{} -n {} --comm-cores 0 --timeout 20 --set nbc.tuned_file=none --set "
        "nbc.algorithm= --set nbc.direct=1 --set nbc.limits={}:{} {} {}:{}",
        quoted(mpcrun), ranks, trial.limit, limit, quoted(rank_program), trial.call,
        blocks);
  }

  Result<std::vector<nbc::TunedTime>> measure(const Trial& trial) const;
};

// The program next to this one that the ranks of trials run.
std::string rank_program(const std::filesystem::path& bin) {
  std::filesystem::path path;
  for (const char* folder : {"lib", MPCINFO_LIBDIR, "lib64"}) {
    path = bin.parent_path() / folder / "mpc/tune-rank";
    std::error_code error;
    if (std::filesystem::exists(path, error)) break;
  }
  return path.string();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<std::vector<nbc::TunedTime>> Tuner::measure(const Trial& trial) const {
  std::map<int64_t, std::vector<double>> below, above;  // by block
  for (int pair = 0; pair < kPairs; ++pair)
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_below = (pair + turn) % 2 == 0;
      auto times = run_job(command(trial, is_below ? 2 * trial.last : 0));
      MPC_TRY(times);
      for (const auto& [block, us] : *times)
        (is_below ? below : above)[block].push_back(us);
    }
  std::vector<nbc::TunedTime> out;
  const int ranks = ranks_of(trial, cores);
  for (const int64_t bytes : sizes_of(trial)) {
    const int64_t block = block_of(trial, ranks, bytes);
    if (below[block].empty() || above[block].empty()) continue;
    out.push_back({bytes, median(below[block]), median(above[block])});
  }
  return out;
}

// By how much calls become shorter at the sizes between both limits, on average.
std::string gain_text(const nbc::TunedLimit& limit, const nbc::LimitFacts& facts) {
  double was = 0, is = 0;
  for (const nbc::TunedTime& time : limit.times) {
    const bool below = nbc::goes_below(facts, time.bytes, limit.bytes);
    if (below == nbc::goes_below(facts, time.bytes, facts.built_in)) continue;
    is += below ? time.below_us : time.above_us;
    was += below ? time.above_us : time.below_us;
  }
  return was > 0 ? fmt::format("{:.0f} % shorter between both", 100 * (1 - is / was))
                 : "as built in";
}

std::string limit_text(int64_t bytes) {
  return bytes >= nbc::kNoLimit ? "no limit" : fmt::format("{}", bytes);
}

Result<> tune_limits(const Tuner& tuner, nbc::Tuned& tuned) {
  fmt::print("{:<26}{:>12}{:>12}  bytes\n", "limit", "built in", "here");
  for (const Trial& trial : tune_plan()) {
    const nbc::LimitFacts& facts = nbc::facts_of(*nbc::limit_of_name(trial.limit));
    const bool is_met = ranks_of(trial, tuner.cores) >= trial.least_ranks;
    if (!is_met || now_s() > tuner.deadline_s) {
      fmt::print(
          "{:<26}{:>12}{:>12}  {}\n", trial.limit, limit_text(facts.built_in), "-",
          is_met ? "not measured: the time is over" : "not met with so few cores");
      continue;
    }
    auto times = tuner.measure(trial);
    MPC_TRY(times);
    nbc::TunedLimit limit{trial.limit, facts.built_in, std::move(*times)};
    limit.bytes = std::min(nbc::best_limit(facts, limit.times), facts.most);
    fmt::print("{:<26}{:>12}{:>12}  {}\n", trial.limit, limit_text(facts.built_in),
               limit_text(limit.bytes), gain_text(limit, facts));
    std::fflush(stdout);
    tuned.limits.push_back(std::move(limit));
  }
  return {};
}

Result<> make_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return {Errc::kArg, fmt::format("{}: cannot be written: there is no folder {}", path,
                                  folder.string())};
}

std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// Stores the costs that the model uses, beside the limits; both in the user's cache.
Result<> keep_costs(const topo::Machine& machine, bool is_kept, nbc::Tuned& tuned) {
  auto costs = calibrated_parameters(machine);
  MPC_TRY(costs);
  tuned.line_us = costs->handover_us;
  tuned.message_us = costs->message_us;
  tuned.wake_us = measure_wake_us();
  fmt::print(
      "a line between cores {:.3f} us, waking a core {:.1f} us, a message {:.3f} "
      "us, copies {:.1f} GB/s\n",
      tuned.line_us, tuned.wake_us, tuned.message_us, costs->copy[0].bandwidth_gbs);
  if (!is_kept) return {};
  return nbc::write_parameters(*costs, nbc::parameters_path(tuned.machine.fingerprint));
}

}  // namespace

int tune_command(const TuneOptions& options) {
  auto machine = topo::Machine::detect();
  if (!machine) return complain(machine.error());
  nbc::Tuned tuned;
  tuned.machine = {topo::cpu_name(), (*machine)->core_count(),
                   topo::fingerprint(**machine)};
  tuned.made = today();
  const std::string path =
      options.output.empty() ? nbc::tuned_path(tuned.machine) : options.output;
  if (path.empty())
    return complain(
        {Errc::kArg, "neither XDG_CACHE_HOME nor HOME is set: give --output FILE"});
  if (auto ready = make_folder(path); !ready) return complain(ready.error());
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const Tuner tuner{(self.parent_path() / "mpcrun").string(),
                    rank_program(self.parent_path()), tuned.machine.cores,
                    now_s() + options.seconds};
  if (auto done = tune_limits(tuner, tuned); !done) return complain(done.error());
  if (auto done = keep_costs(**machine, options.output.empty(), tuned); !done)
    return complain(done.error());
  if (auto written = nbc::write_tuned(tuned, path); !written)
    return complain(written.error());
  std::fprintf(stderr, "mpcinfo: wrote %s\n", path.c_str());
  return 0;
}

}  // namespace mpc::tools
