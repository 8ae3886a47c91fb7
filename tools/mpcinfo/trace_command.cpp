#include "tools/mpcinfo/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tools/mpcinfo/page.h"
#include "tools/mpcinfo/profile_file.h"
#include "tools/mpcinfo/trace_svg.h"

namespace mpc::tools {
namespace {

int fail(const std::string& message) {
  fmt::print(stderr, "mpcinfo: {}\n", message);
  return 2;
}

void print_list(const TraceData& data) {
  fmt::print("{}: {} ranks, {} cores, {:.3f} ms\n", data.program, data.ranks,
             data.cores.size(), data.end * 1e-3);
  if (data.lost > 0)
    fmt::print("incomplete: the last {} events were lost\n", data.lost);
  fmt::print("{:>6}  {:<24} {:>6} {:>11} {:>12} {:>10} {:>12} {:>10} {:>10}\n",
             "number", "call", "ranks", "message", "start ms", "us", "comm core us",
             "rank us", "in MPI us");
  for (size_t i = 0; i < data.collectives.size(); ++i) {
    const CollectiveTrace& collective = data.collectives[i];
    const Summary summary = summarize(data, collective);
    fmt::print(
        "{:>6}  {:<24} {:>6} {:>11} {:>12.3f} {:>10.1f} {:>12.1f} {:>10.1f} "
        "{:>10.1f}\n",
        i, collective.call, collective.parts.size(), bytes_text(summary.bytes),
        collective.begin * 1e-3, summary.window.end - summary.window.begin,
        summary.communication_us, summary.application_us, summary.in_calls_us);
  }
  fmt::print(
      "\nus: from the first rank's start to the end of the last rank's wait; comm "
      "core, rank: "
      "work done for it\non communication cores, on application cores; in MPI: the "
      "longest time "
      "of a rank in MPI calls.\n");
}

size_t longest(const TraceData& data) {
  const auto length = [](const CollectiveTrace& c) { return c.end - c.begin; };
  return static_cast<size_t>(
      std::max_element(
          data.collectives.begin(), data.collectives.end(),
          [&](const auto& a, const auto& b) { return length(a) < length(b); }) -
      data.collectives.begin());
}

}  // namespace

namespace {

int write_page(const TraceData& data, const TraceOptions& options) {
  Json profile;
  if (!options.profile.empty()) {
    auto file = read_profile(options.profile);
    if (!file) return fail(file.error().message);
    profile = std::move(file->json);
  }
  const std::string page =
      page_html("trace of " + data.program, page_data(data), profile);
  const std::string fault = write_file(options.html, page);
  return fault.empty() ? 0 : fail(fault);
}

}  // namespace

int trace_command(const TraceOptions& options) {
  if (options.html.empty() && !options.profile.empty())
    return fail("--profile needs --html FILE.html");
  auto data = read_trace(options.file);
  if (!data) return fail(data.error().message);
  if (!options.html.empty()) return write_page(*data, options);
  if (options.svg.empty() && options.collective < 0) {
    print_list(*data);
    return 0;
  }
  if (options.svg.empty()) return fail("--collective needs --svg FILE.svg");
  if (data->collectives.empty())
    return fail(options.file + ": no collective in this trace");
  const size_t number =
      options.collective < 0 ? longest(*data) : static_cast<size_t>(options.collective);
  if (number >= data->collectives.size()) {
    return fail(fmt::format("{}: there is no collective {}; there are {}, from 0 on",
                            options.file, number, data->collectives.size()));
  }
  const std::string fault = write_file(options.svg, collective_svg(*data, number));
  return fault.empty() ? 0 : fail(fault);
}

}  // namespace mpc::tools
