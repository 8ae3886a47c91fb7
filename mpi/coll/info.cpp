#include "mpi/coll/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/settings.h"
#include "mpi/coll/choices.h"
#include "nbc/direct/stages.h"
#include "nbc/direct/team.h"
#include "nbc/overlap/tuned_limits.h"
#include "nbc/schedule/limits.h"

namespace mpc::mpi {
namespace {

using nbc::Coll;

int complain(const std::string& message) {
  std::fprintf(stderr, "mpcinfo: %s\n", message.c_str());
  return 2;
}

std::string size_text(int64_t bytes) {
  if (bytes >= nbc::kNoLimit) return "no limit";
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
    return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

const char* text_of(Way way) {
  switch (way) {
    case Way::kMeeting:
      return "meeting";
    case Way::kOneWay:
      return "one way";
    case Way::kNeighbours:
      return "neighbours";
    default:
      return "messages";
  }
}

std::string text_of(const CollChoice& choice) {
  if (choice.way != Way::kMessages)
    return fmt::format("{}, {}", text_of(choice.way), choice.what);
  std::string out = choice.algorithm;
  if (choice.arity > 2) out += fmt::format(" k={}", choice.arity);
  if (choice.segment_bytes > 0) out += " of " + size_text(choice.segment_bytes);
  if (choice.split > 0) out += fmt::format(" S={}", choice.split);
  if (std::string_view(choice.by) != "table") out += fmt::format(" ({})", choice.by);
  return out;
}

bool has_limit(Coll coll, nbc::Limit limit) {
  const auto& colls = nbc::facts_of(limit).colls;
  return std::find(std::begin(colls), std::end(colls), coll) != std::end(colls);
}

std::string source_text(nbc::Limit limit) {
  switch (nbc::source_of(limit, true)) {
    case nbc::LimitSource::kTuned:
      return "measured";
    case nbc::LimitSource::kForced:
      return "nbc.limits";
    default:
      return "built in";
  }
}

struct Report {
  const DescribedJob& job;
  const nbc::TunedUse& tuned;
  std::span<const int64_t> sizes;

  std::vector<int64_t> sizes_of(Coll coll) const {
    if (coll == Coll::kBarrier) return {0};
    return {sizes.begin(), sizes.end()};
  }

  void head() const {
    std::vector<int> counts(static_cast<size_t>(job.application_cores));
    for (const int worker : job.worker_of_rank) ++counts[static_cast<size_t>(worker)];
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    fmt::print("{} rank{} on {} core{} ({}{} on each), {} for communication; {}\n",
               job.size(), job.size() == 1 ? "" : "s", job.application_cores,
               job.application_cores == 1 ? "" : "s", *least,
               *least == *most ? "" : fmt::format(" to {}", *most),
               job.communication_cores, job.machine->name());
    meeting();
    const nbc::Parameters& costs = job.chooser->parameters();
    fmt::print("costs for the model: {}, {}\n", costs.machine, costs.source);
    if (tuned.made.empty())
      fmt::print("limits: built in (mpcinfo tune measures those of this machine)\n");
    else
      fmt::print("limits: measured {}, {}\n", tuned.made, tuned.path);
  }

  // What blocking collectives without messages wait for, by the model of lines.
  void meeting() const {
    const nbc::direct::Team& team = *job.team;
    const int cores = team.place_count();
    if (cores == 1) return;
    const double at_once = nbc::direct::meeting_us(cores, cores);
    if (!team.has_stages())
      return fmt::print(
          "a meeting of {} cores: all look at all, {:.2g} us (model of lines)\n", cores,
          at_once);
    fmt::print(
        "a meeting of {} cores: {} stages, groups of at most {}, {:.2g} us; all at "
        "once: {:.2g} us "
        "(model of lines)\n",
        cores, team.stage_count(), team.largest_group(),
        nbc::direct::meeting_us(cores, team.largest_group()), at_once);
  }

  void of(Coll coll) const {
    const char* const name = nbc::name_of(coll);
    fmt::print("\n{:<24}{:<46}{}\n", name, "blocking", "non-blocking");
    for (const int64_t bytes : sizes_of(coll))
      fmt::print("{:>20}    {:<46}{}\n", coll == Coll::kBarrier ? "" : size_text(bytes),
                 text_of(blocking_choice(job, coll, bytes)),
                 text_of(nonblocking_choice(job, coll, bytes)));
    std::string forced;
    for (int i = 0; i < nbc::kLimitCount; ++i) {
      const auto limit = static_cast<nbc::Limit>(i);
      if (!has_limit(coll, limit)) continue;
      const nbc::LimitFacts& facts = nbc::facts_of(limit);
      fmt::print("  limit {} = {} ({}): {}{}\n", facts.name,
                 size_text(nbc::limit(limit, true)), source_text(limit),
                 facts.is_direct ? "blocking; " : "", facts.what);
      forced += fmt::format(", nbc.limits={}:BYTES", facts.name);
    }
    const bool is_split = nbc::traits_of(coll).has_split_tree;
    fmt::print("  forced by nbc.direct=0, nbc.algorithm={}:NAME{}{}\n", name,
               is_split ? ", nbc.split=S, nbc.plan=table" : "", forced);
  }

  void csv_of(Coll coll) const {
    for (const int64_t bytes : sizes_of(coll))
      for (const bool is_blocking : {true, false}) {
        const CollChoice choice = is_blocking ? blocking_choice(job, coll, bytes)
                                              : nonblocking_choice(job, coll, bytes);
        fmt::print("{},{},{},{},{},{},{},{},{},{}\n", nbc::name_of(coll), bytes,
                   is_blocking ? "blocking" : "nonblocking", text_of(choice.way),
                   choice.what, choice.algorithm, choice.arity, choice.segment_bytes,
                   choice.split, choice.by);
      }
  }
};

// All, or the one of that name.
Result<std::vector<Coll>> collectives_called(const std::string& name) {
  std::vector<Coll> found;
  std::vector<std::string> names;
  for (int i = 0; i < nbc::kCollCount; ++i) {
    const auto coll = static_cast<Coll>(i);
    names.emplace_back(nbc::name_of(coll));
    if (name.empty() || name == names.back()) found.push_back(coll);
  }
  if (!found.empty()) return found;
  return {Errc::kArg, fmt::format("there is no collective '{}'{}", name,
                                  did_you_mean(name, names))};
}

}  // namespace
}  // namespace mpc::mpi

int mpc_info_collectives(const MpcCollectivesQuery* query) {
  using namespace mpc;
  if (auto loaded = Settings::load_environment(); !loaded)
    return mpi::complain(loaded.error().message);
  const auto colls = mpi::collectives_called(query->collective);
  if (!colls) return mpi::complain(colls.error().message);
  const auto job = mpi::describe_job(query->machine, query->ranks, query->comm_cores);
  if (!job) return mpi::complain(job.error().message);
  const nbc::TunedUse tuned = nbc::load_tuned_limits(*job->machine);
  const mpi::Report report{*job, tuned, {query->sizes, query->size_count}};
  if (query->is_csv)
    fmt::print("collective,bytes,call,way,what,algorithm,arity,segment_bytes,S,by\n");
  else
    report.head();
  for (const nbc::Coll coll : *colls)
    query->is_csv ? report.csv_of(coll) : report.of(coll);
  std::fflush(stdout);
  return 0;
}
