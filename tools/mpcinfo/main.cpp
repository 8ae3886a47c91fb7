// mpcinfo: shows the machine, the settings, traces and the models. libmpi_abi produces the first
// two texts.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "runtime/job/launch.h"
#include "tools/mpcinfo/command_line.h"

namespace {

// A table that was cut off must not look complete.
int fail_to_write(const char* why) {
  std::fprintf(stderr, "mpcinfo: standard output: %s\n", why);
  return mpc::job::kExitOutput;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = mpc::tools::run_command_line(argc, argv);
    if (status != 0) return status;
    if (std::ferror(stdout) != 0) return fail_to_write("it could not be written");
    return std::fflush(stdout) == 0 ? 0 : fail_to_write(std::strerror(errno));
  } catch (const std::system_error& error) {  // from fmt::print
    return fail_to_write(error.code().message().c_str());
  }
}
