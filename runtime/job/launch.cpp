#include "runtime/job/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "base/settings.h"
#include "runtime/job/inherited.h"
#include "runtime/job/node_job.h"
#include "runtime/trace/trace_file.h"

namespace mpc::job {
namespace {

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

int report(const Error& error) {
  std::fprintf(stderr, "mpcrun: %s\n", error.message.c_str());
  return exit_status_of(error.code);
}

Result<> apply_settings(const JobSpec& spec) {
  MPC_TRY(Settings::load_environment());
  for (const std::string& assignment : spec.settings)
    MPC_TRY(Settings::assign(assignment));
  for (const std::string& unknown : Settings::unknown_in_environment())
    log::warn("{}", unknown);
  return {};
}

}  // namespace
}  // namespace mpc::job

int mpc_run_job(const mpc::job::JobSpec& spec) {
  using namespace mpc::job;  // NOLINT(google-build-using-namespace): of its own layer
  if (spec.own_bytes != sizeof(JobSpec)) {
    std::fprintf(
        stderr,
        "mpcrun: mpcrun and its libmpi_abi.so.1 are of different versions; install "
        "both again, and look at LD_LIBRARY_PATH\n");
    return kExitLaunch;
  }
  inherited::take();
  if (auto applied = apply_settings(spec); !applied) return report(applied.error());
  if (!spec.working_directory.empty() && ::chdir(spec.working_directory.c_str()) != 0) {
    std::fprintf(stderr, "mpcrun: --wdir %s: %s\n", spec.working_directory.c_str(),
                 std::strerror(errno));
    return kExitUsage;
  }
  // Never destroyed: threads that ranks started may still run when the process exits.
  // Static: a leak checker finds it, also after a launch that failed.
  static auto* const job = new NodeJob(spec);
  if (auto prepared = job->prepare(); !prepared) return report(prepared.error());
  if (spec.show_only) {
    if (std::fputs(job->describe().c_str(), stdout) != EOF && std::fflush(stdout) == 0)
      return 0;
    std::fprintf(stderr, "mpcrun: standard output: %s\n", std::strerror(errno));
    return kExitOutput;
  }
  if (auto traced = job->open_trace(); !traced) return report(traced.error());
  auto status = job->run();
  const bool is_traced = mpc::trace::TraceFile::write();
  if (!status) return report(status.error());
  std::fflush(nullptr);
  ::_exit(*status == 0 && !is_traced
              ? kExitOutput
              : *status);  // no destructors of program copies: their ranks ran them
}
