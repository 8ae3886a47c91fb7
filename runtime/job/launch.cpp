#include "runtime/job/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/settings.h"
#include "runtime/job/console.h"
#include "runtime/job/inherited.h"
#include "runtime/job/node_job.h"
#include "runtime/job/spawner.h"
#include "runtime/trace/trace_file.h"

namespace mpc::job {
namespace {

BoolSetting report_placement{
    "job.report", false,
    "Print where ranks run to standard error before they begin (mpcrun --report)"};

int exit_status_of(Errc code) {
  switch (code) {
    case Errc::kNotFound:
      return kExitNotFound;
    case Errc::kPermission:
    case Errc::kImage:
      return kExitNotExecutable;
    case Errc::kArg:
      return kExitUsage;
    default:
      return kExitLaunch;
  }
}

// The process must not wait for what the libraries behind several processes do at exit().
int end_process(int status, wireup::Wireup& wireup) {
  if (wireup.has_launcher()) ::_exit(wireup.end_together(status));
  return status;
}

// Several processes fail in the same way: their launcher prints it once.
int report(const Error& error, wireup::Wireup* wireup) {
  const int status = exit_status_of(error.code);
  if (wireup != nullptr && wireup->has_launcher()) {
    wireup->tell(wireup::Report::kEnding, status, "mpcrun: " + error.message);
    return end_process(status, *wireup);
  }
  if (!error.message.empty())
    std::fprintf(stderr, "mpcrun: %s\n", error.message.c_str());
  return status;
}

Result<> apply_settings(const JobSpec& spec, bool is_first_process) {
  MPC_TRY(Settings::load_environment());
  for (const std::string& assignment : spec.settings)
    MPC_TRY(Settings::assign(assignment));
  if (!is_first_process) return {};
  for (const std::string& unknown : Settings::unknown_in_environment())
    log::warn("{}", unknown);
  return {};
}

int show(NodeJob& job) {
  const auto text = job.describe();
  if (!text) return report(text.error(), job.wireup());
  if (std::fputs(text->c_str(), stdout) == EOF || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "mpcrun: standard output: %s\n", std::strerror(errno));
    return kExitOutput;
  }
  job.wireup()->tell(wireup::Report::kFinished, 0, {});
  job.wireup()->finalize();
  return end_process(0, *job.wireup());
}

// Like show(), for a job that runs.
Result<> report_if_asked(NodeJob& job) {
  if (!report_placement.get()) return {};
  const auto text = job.describe();
  MPC_TRY(text);
  console::say(*text);
  return {};
}

}  // namespace
}  // namespace mpc::job

int mpc_run_job(const mpc::job::JobSpec& spec) {
  using namespace mpc::job;
  if (spec.own_bytes != sizeof(JobSpec)) {
    std::fprintf(
        stderr,
        "mpcrun: mpcrun and its libmpi_abi.so.1 are of different versions; install "
        "both again, and look at LD_LIBRARY_PATH\n");
    return kExitLaunch;
  }
  inherited::take();
  set_spawner(spec.spawner);
  auto connected = mpc::wireup::Wireup::connect(
      {spec.processes, spec.timeout_seconds, &console::say});
  // What a launcher's library holds until exit() is not ours to free.
  if (!connected) ::_exit(report(connected.error(), nullptr));
  mpc::wireup::Wireup* const wireup = connected->get();
  console::share(wireup->console_memory());
  if (auto applied = apply_settings(spec, wireup->index() == 0); !applied)
    return report(applied.error(), wireup);
  if (!spec.working_directory.empty() && ::chdir(spec.working_directory.c_str()) != 0)
    return report({mpc::Errc::kArg, fmt::format("--wdir {}: {}", spec.working_directory,
                                                std::strerror(errno))},
                  wireup);
  // Never destroyed: threads that ranks started may still run when the process exits.
  // Static: a leak checker finds it, also after a launch that failed.
  static auto* const job = new NodeJob(spec, std::move(*connected));
  if (auto prepared = job->prepare(); !prepared)
    return report(prepared.error(), wireup);
  if (spec.show_only) return show(*job);
  if (auto reported = report_if_asked(*job); !reported)
    return report(reported.error(), wireup);
  if (auto opened = job->open_records(); !opened) return report(opened.error(), wireup);
  auto status = job->run();
  const bool is_whole = mpc::trace::TraceFile::write() && job->has_whole_records();
  if (!status) return report(status.error(), wireup);
  std::fflush(nullptr);
  // No destructors of program copies: their ranks have run them.
  ::_exit(wireup->end_together(*status == 0 && !is_whole ? kExitOutput : *status));
}
