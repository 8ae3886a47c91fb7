#include "tools/mpcrun/parsed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/index_list.h"
#include "base/sizes.h"
#include "runtime/wireup/record.h"
#include "tools/mpcrun/peers.h"
#include "tools/mpcrun/unwrap.h"

namespace mpc::tools {
namespace {

Result<size_t> parse_stack_size(const std::string& text) {
  const std::optional<int64_t> bytes = parse_size(text);
  if (!bytes)
    return {Errc::kArg, fmt::format("'{}' is not a size such as 512k, 8M or 1G", text)};
  // About half of the minimum is the thread's own data.
  constexpr int64_t kLeastBytes = 256 << 10, kMostBytes = 1'000'000'000'000;
  if (*bytes < kLeastBytes || *bytes > kMostBytes)
    return {Errc::kArg,
            fmt::format("'{}': a stack has 256k or more, and less than 1000G", text)};
  return static_cast<size_t>(*bytes);
}

using Environment = std::vector<std::pair<std::string, std::string>>;

bool has_variable(const Environment& environment, const std::string& name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

// A variable that is there already, on mpcrun's host.
Result<> pass_on(const char* option, const std::string& name, Command& command) {
  if (std::getenv(name.c_str()) != nullptr) {
    command.exports.push_back(name);
    return {};
  }
  std::string fault =
      fmt::format("{} {}: there is no such environment variable", option, name);
  // A process of the job need not judge it again.
  if (!has_peer_name() && std::getenv(wireup::kLauncherVariable) == nullptr)
    return {Errc::kArg, std::move(fault)};
  command.warnings.push_back(std::move(fault));
  return {};
}

// NAME=VALUE goes to `environment`. Open MPI takes NAME,NAME, too.
Result<> take_export(const char* option, const std::string& item,
                     Environment& environment, Command& command) {
  const size_t equals = item.find('=');
  if (equals == 0)
    return {Errc::kArg, fmt::format("{} {}: a variable has a name", option, item)};
  if (equals != std::string::npos) {
    set_variable(environment, item.substr(0, equals), item.substr(equals + 1));
    return {};
  }
  std::istringstream names(item);
  for (std::string name; std::getline(names, name, ',');)
    if (!name.empty()) MPC_TRY(pass_on(option, name, command));
  return {};
}

// MPICH and Open MPI obey this variable, too.
Result<> take_timeout(const Parsed& p, job::JobSpec& spec) {
  constexpr char kVariable[] = "MPIEXEC_TIMEOUT";
  spec.timeout_seconds = p.timeout;
  const char* const text = std::getenv(kVariable);
  if (p.timeout > 0 || text == nullptr || *text == 0) return {};
  char* end = nullptr;
  spec.timeout_seconds = std::strtod(text, &end);
  if (*end == 0 && spec.timeout_seconds >= 0 && spec.timeout_seconds < 1e9) return {};
  return {Errc::kArg,
          fmt::format("the environment variable {} is '{}', and no number of seconds; "
                      "unset it",
                      kVariable, text)};
}

}  // namespace

Result<> fill_app(const Parsed& p, const std::vector<std::string>& words,
                  Command& command) {
  job::AppSpec app;
  app.ranks = std::max(p.ranks, 1);
  if (words.empty())
    return {Errc::kArg, "no program given; mpcrun --help shows examples"};
  app.program = words.front();
  app.args.assign(words.begin() + 1, words.end());
  for (const std::string& item : p.exports)
    MPC_TRY(take_export("--export", item, app.environment, command));
  if (!p.wdir.empty()) app.working_directory = std::filesystem::absolute(p.wdir);
  unwrap(app);
  command.spec.apps.push_back(std::move(app));
  return {};
}

Result<> fill_all_apps(const Parsed& p, Command& command) {
  Environment all;
  for (const std::string& item : p.exports_of_all)
    MPC_TRY(take_export("--export-all", item, all, command));
  // A variable that was given to a single program wins.
  for (job::AppSpec& app : command.spec.apps)
    for (const auto& [name, value] : all)
      if (!has_variable(app.environment, name))
        app.environment.emplace_back(name, value);
  return {};
}

namespace {

void fill_output(const Parsed& p, job::JobSpec& spec) {
  if (p.label || !p.label_pattern.empty()) spec.settings.emplace_back("job.label=1");
  if (!p.label_pattern.empty())
    spec.settings.push_back("job.label_pattern=" + p.label_pattern);
  // Before --wdir, as the files of --trace.
  if (!p.output_file.empty())
    spec.settings.push_back("job.output_file=" +
                            std::filesystem::absolute(p.output_file).string());
  if (!p.error_file.empty())
    spec.settings.push_back("job.error_file=" +
                            std::filesystem::absolute(p.error_file).string());
  if (p.copy_output) spec.settings.emplace_back("job.output_copy=1");
}

}  // namespace

Result<> fill_job(const Parsed& p, job::JobSpec& spec) {
  if (!p.cores.empty()) {
    const bool is_count = p.cores.find_first_not_of("0123456789") == std::string::npos;
    if (is_count) {
      const long count =
          std::strtol(p.cores.c_str(), nullptr, 10);  // LONG_MAX for more
      if (count < 1) return {Errc::kArg, "--cores 0: a job needs a core"};
      if (count > kMaxRanks)
        return {Errc::kArg, fmt::format("--cores {}: no machine has so many", p.cores)};
      spec.core_count = static_cast<int>(count);
    } else {
      auto list = parse_index_list(p.cores);
      if (!list) return {Errc::kArg, "--cores " + list.error().message};
      spec.core_list = *list;
    }
  }
  spec.comm_cores = p.comm_cores;
  spec.emulate = p.emulate;
  spec.bind = p.bind == "none"   ? job::Bind::kNone
              : p.bind == "core" ? job::Bind::kCore
                                 : job::Bind::kAuto;
  if (p.placement == "scatter") {
    spec.placement = job::Placement::kScatter;
  } else if (p.placement != "compact") {
    auto list = parse_index_list(p.placement);
    if (!list) {
      return {Errc::kArg,
              "--placement " + list.error().message + ", nor compact or scatter"};
    }
    spec.placement = job::Placement::kList;
    spec.placement_list = *list;
  }
  if (p.stack_size == "unlimited") {
    spec.stack_bytes = SIZE_MAX;
  } else if (!p.stack_size.empty()) {
    auto stack = parse_stack_size(p.stack_size);
    if (!stack) return {Errc::kArg, "--stack-size " + stack.error().message};
    spec.stack_bytes = *stack;
  }
  MPC_TRY(take_timeout(p, spec));
  spec.show_only = p.show;
  spec.working_directory = p.wdir;
  if (!p.trace.empty())
    spec.trace_file = std::filesystem::absolute(p.trace);  // see --wdir
  if (!p.profile_file.empty())
    spec.profile_file = std::filesystem::absolute(p.profile_file);
  spec.settings = p.settings;
  if (!p.progress.empty()) spec.settings.push_back("progress.policy=" + p.progress);
  if (p.counters) spec.settings.emplace_back("job.counters=1");
  if (p.profile || !p.profile_file.empty()) spec.settings.emplace_back("job.profile=1");
  if (p.report) spec.settings.emplace_back("job.report=1");
  fill_output(p, spec);
  return {};
}

}  // namespace mpc::tools
