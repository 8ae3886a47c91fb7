#include "tools/mpcrun/hosted.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include "runtime/job/program_probe.h"
#include "runtime/job/rank_output.h"
#include "runtime/job/rank_variables.h"
#include "runtime/loader/tool_hints.h"
#include "runtime/wireup/ranks_variable.h"
#include "runtime/wireup/record.h"
#include "runtime/wireup/starter.h"
#include "tools/mpcrun/paths.h"
#include "tools/mpcrun/peers.h"
#include "tools/mpcrun/unwrap.h"

namespace mpc::tools {
namespace {

constexpr char kLauncher[] = "/mpc/mpclaunch";

// An option that is about workers, cores or copies; null: there is none.
const char* foreign_option(const Parsed& p) {
  if (!p.cores.empty()) return "--cores";
  if (p.comm_cores > 0) return "--comm-cores";
  if (!p.progress.empty()) return "--progress";
  if (!p.emulate.empty()) return "--emulate";
  if (p.bind == "core") return "--bind core";
  if (p.placement != "compact") return "--placement";
  if (!p.stack_size.empty()) return "--stack-size";
  if (!p.trace.empty()) return "--trace";
  if (p.counters) return "--counters";
  if (p.profile) return "--profile";
  if (!p.profile_file.empty()) return "--profile-file";
  return nullptr;
}

// The program where it will be looked for.
job::AppSpec in_folder(const job::JobSpec& spec, job::AppSpec app) {
  app.program = seen_from(spec.working_directory, app.program);
  return app;
}

// Do several programs want the same place in each thread of a process?
bool exclude_each_other(const job::JobSpec& spec) {
  std::set<std::string> programs;
  for (const job::AppSpec& app : spec.apps)
    if (mpc_has_fixed_place(in_folder(spec, app))) programs.insert(app.program);
  return programs.size() > 1;
}

Result<> check_options(const Parsed& parsed) {
  const char* option = foreign_option(parsed);
  if (option == nullptr) return {};
  return {Errc::kArg,
          fmt::format(
              "{}: with --ranks-per-process 1 each rank is a process of its own, as "
              "any program is, and this option does not reach it: leave it out, or "
              "write -p RANKS, for programs built by mpcc",
              option)};
}

// Is it a program that mpcc did not make? Not a script, which may end in one that it did; not a
// tool, which goes before mpcrun.
bool is_foreign_program(const job::AppSpec& app) {
  const std::string path = find_in_path(app.program);
  std::ifstream file(path, std::ios::binary);
  char magic[4] = "";
  std::string ignored;
  return file.read(magic, sizeof magic) && std::memcmp(magic, "\177ELF", 4) == 0 &&
         loader::hint_for_tool(path).empty() && mpc_can_be_process(app, ignored) &&
         !mpc_can_be_copied(app);
}

// The advice for such a program, a process for each rank, would not have the option.
Result<> check_shared_options(const Parsed& parsed, const Command& command) {
  const char* option = foreign_option(parsed);
  if (option == nullptr) return {};
  for (const job::AppSpec& app : command.spec.apps)
    if (is_foreign_program(in_folder(command.spec, app)))
      return {Errc::kArg,
              fmt::format("{}: {} was not built by mpcc, and this option is for ranks "
                          "that share a process: compile and link it with mpcc, mpcxx "
                          "or mpcfort; or write --ranks-per-process 1 and leave the "
                          "option out",
                          option, app.program)};
  return {};
}

// The program of the job to which this rank belongs.
const job::AppSpec& app_of(const job::JobSpec& spec, int rank) {
  for (const job::AppSpec& app : spec.apps) {
    if (rank < app.ranks) return app;
    rank -= app.ranks;
  }
  return spec.apps.back();
}

int ranks_of(const job::JobSpec& spec) {
  int ranks = 0;
  for (const job::AppSpec& app : spec.apps) ranks += app.ranks;
  return ranks;
}

// The launcher says how many ranks each process has, here one, with a ';' between hosts.
job::RankNumbers numbers_of(int rank, int ranks) {
  job::RankNumbers out{rank, ranks, rank, ranks};
  int first = 0;
  for (const std::vector<int>& host : wireup::ranks_in_environment()) {
    const int on_host = static_cast<int>(host.size());
    if (rank < first + on_host) {
      out.local_rank = rank - first;
      out.local_size = on_host;
      return out;
    }
    first += on_host;
  }
  return out;
}

void prepare_environment(const job::JobSpec& spec, const job::AppSpec& app, int rank) {
  ::setenv(wireup::kProgramVariable, std::to_string(&app - spec.apps.data()).c_str(),
           1);
  for (const std::string& setting : spec.settings)
    if (!job::is_output_setting(setting)) set_environment_of(setting);
  for (const auto& [name, value] : app.environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  job::set_rank_variables(numbers_of(rank, ranks_of(spec)));
  ::unsetenv(wireup::kHostedVariable);
}

// The launchers of others start whatever they are given: so does mpcrun under their names, if no option says how many
// processes there are, or needs a process of ours.
bool is_left_to_us(const Parsed& parsed, const HostWish& wish) {
  return has_peer_name() && wish.processes == 0 && wish.processes_per_host == 0 &&
         foreign_option(parsed) == nullptr;
}

// For the shim, which sees to the output.
std::string output_settings(const job::JobSpec& spec) {
  std::string out;
  for (const std::string& setting : spec.settings)
    if (job::is_output_setting(setting)) out += setting + '\n';
  return out;
}

// The launcher names the host, and tells it once if all processes say the same.
int refuse(int status, const std::string& text) {
  wireup::RecordHead head{static_cast<int32_t>(wireup::Report::kEnding), status,
                          static_cast<int32_t>(text.size())};
  iovec parts[] = {{&head, sizeof head}, {const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const char* const launcher = std::getenv(wireup::kLauncherVariable);
  if (launcher == nullptr || ::sendmsg(std::atoi(launcher), &message, MSG_NOSIGNAL) < 0)
    std::fprintf(stderr, "%s\n", text.c_str());
  return status;
}

}  // namespace

void set_environment_of(const std::string& setting) {
  const size_t equals = setting.find('=');
  std::string name = "MPC_" + setting.substr(0, equals);
  for (char& c : name)
    c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  ::setenv(name.c_str(),
           equals == std::string::npos ? "" : setting.c_str() + equals + 1, 1);
}

std::string fault_of_ranks_per_process(const std::string& text) {
  if (text == "auto") return "";
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  const bool is_number = end != text.c_str() && *end == 0;
  if (is_number && number >= 1 && number <= kMaxRanks) return "";
  return fmt::format("wants a number of ranks{}, or auto, not '{}'",
                     is_number ? fmt::format(" from 1 to {}", kMaxRanks) : "", text);
}

Result<> decide_hosted(const Parsed& parsed, HostWish& wish, Command& command) {
  const std::string& text = parsed.ranks_per_process;
  if (text.empty() && !is_left_to_us(parsed, wish))
    return check_shared_options(parsed, command);
  const auto& apps = command.spec.apps;
  const bool is_auto = text.empty() || text == "auto";
  if (!is_auto) wish.ranks_per_process = std::atoi(text.c_str());
  if (is_auto && (exclude_each_other(command.spec) ||
                  !std::all_of(apps.begin(), apps.end(), [&](const job::AppSpec& app) {
                    return mpc_can_be_copied(in_folder(command.spec, app));
                  })))
    wish.ranks_per_process = 1;
  command.is_hosted = wish.ranks_per_process == 1;
  return command.is_hosted ? check_options(parsed) : Result<>();
}

Result<> decide_to_go_on(const Parsed& parsed, Command& command) {
  // A process of the job receives it from the launcher.
  if (parsed.on_fail != "notify" || std::getenv(wireup::kLauncherVariable) != nullptr)
    return {};
  const char* why = nullptr;
  if (wireup::find_starter().kind != wireup::Starter::Kind::kNone)
    why =
        "another launcher has started mpcrun, and ends all processes when one dies: "
        "start mpcrun without it";
  else if (command.plan.processes() < 2)
    why =
        "a job of one process has no others that could go on: write "
        "--ranks-per-process 1 "
        "beside it, -p, or --hosts";
  if (why != nullptr) return {Errc::kArg, fmt::format("--on-fail notify: {}", why)};
  command.goes_on = true;
  return {};
}

bool can_be_hosted(const Command& command) {
  for (const job::AppSpec& app : command.spec.apps) {
    std::string why;
    if (mpc_can_be_process(in_folder(command.spec, app), why)) continue;
    std::fprintf(stderr, "mpcrun: %s\n", why.c_str());
    return false;
  }
  return true;
}

void mark_hosted(const Command& command) {
  if (command.is_hosted)
    ::setenv(wireup::kHostedVariable, "1", 1);
  else
    ::unsetenv(wireup::kHostedVariable);
  if (command.goes_on)
    ::setenv(wireup::kGoesOnVariable, "1", 1);
  else
    ::unsetenv(wireup::kGoesOnVariable);
}

bool is_part_of_hosted() {
  return std::getenv(wireup::kHostedVariable) != nullptr &&
         std::getenv(wireup::kLauncherVariable) != nullptr;
}

int become_shim(const Command& command) {
  const job::JobSpec& spec = command.spec;
  const char* index = std::getenv("PMIX_RANK");  // each process has one rank
  const int rank = index != nullptr ? std::atoi(index) : 0;
  const job::AppSpec& app = app_of(spec, rank);
  if (!spec.working_directory.empty() && ::chdir(spec.working_directory.c_str()) != 0)
    return refuse(job::kExitUsage,
                  fmt::format("mpcrun: --wdir {}: {}", spec.working_directory,
                              std::strerror(errno)));
  // The key wdir of MPI_Comm_spawn.
  if (!app.working_directory.empty() && ::chdir(app.working_directory.c_str()) != 0)
    return refuse(job::kExitLaunch, fmt::format("mpcrun: {}: {}", app.working_directory,
                                                std::strerror(errno)));
  prepare_environment(spec, app, rank);
  const std::string path = beside_library(kLauncher);
  std::string own[] = {std::to_string(rank), std::to_string(ranks_of(spec)),
                       output_settings(spec), app.program};
  std::string name = "mpcrun", shim = "--shim";
  std::vector<char*> words = {name.data(), shim.data()};
  for (std::string& word : own) words.push_back(word.data());
  std::vector<std::string> arguments = app.args;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  return refuse(job::kExitLaunch,
                fmt::format("mpcrun: {}: {}", path, std::strerror(errno)));
}

int show_hosted(const Command& command) {
  std::string text;
  int rank = 0;
  for (const launch::HostPlan& host : command.plan.hosts) {
    for (size_t i = 0; i < host.ranks.size(); ++i, ++rank) {
      const job::AppSpec& app = app_of(command.spec, rank);
      text += fmt::format("rank {}: a process of its own{}:", rank,
                          host.name.empty() ? "" : " on host " + host.name);
      text += " " + app.program;
      for (const std::string& word : app.args) text += " " + word;
      text += '\n';
    }
  }
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : job::kExitOutput;
}

}  // namespace mpc::tools
