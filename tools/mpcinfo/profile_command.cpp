#include "tools/mpcinfo/profile_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "tools/mpcinfo/page.h"
#include "tools/mpcinfo/profile_file.h"

namespace mpc::tools {
namespace {

int fail(const std::string& message) {
  fmt::print(stderr, "mpcinfo: {}\n", message);
  return 2;
}

}  // namespace

int profile_command(const ProfileOptions& options) {
  const auto file = read_profile(options.file);
  if (!file) return fail(file.error().message);
  if (options.html.empty()) {
    fmt::print("{}", profile::to_text(file->numbers));
    return 0;
  }
  const std::string page =
      page_html("profile of " + file->numbers.program, nullptr, file->json);
  const std::string fault = write_file(options.html, page);
  return fault.empty() ? 0 : fail(fault);
}

}  // namespace mpc::tools
