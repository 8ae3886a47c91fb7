// mpcinfo possible: how much of one collective can be hidden.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "nbc/model/possible.h"
#include "tools/mpcinfo/model_command.h"
#include "tools/mpcinfo/model_setting.h"

namespace mpc::tools {

namespace {

constexpr int kMostRanks = 100000;  // as mpcrun's

void print_possible(const ModelSetting& setting, const nbc::Situation& s,
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
    std::printf("What caches cost was not measured: mpcinfo calibrate\n");
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

int possible_command(const ModelOptions& options) {
  auto setting = find_setting(options, /*needs_tree=*/false);
  if (!setting) return complain(setting.error());
  if (setting->hosts > 1)
    return complain({Errc::kArg, setting->name + ": possible knows one host only"});
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

}  // namespace mpc::tools
