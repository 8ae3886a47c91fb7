// The names of the policies; compiled also into a build without progress threads.
#include <fmt/format.h>

#include <string>

#include "scheduler/progress/progress.h"

namespace mpc::sched {
namespace {

struct PolicyName {
  ProgressPolicy policy;
  const char* name;
};
constexpr PolicyName kPolicyNames[] = {
    {ProgressPolicy::kOff, "off"},     {ProgressPolicy::kClosest, "closest"},
    {ProgressPolicy::kSame, "same"},   {ProgressPolicy::kNext, "next"},
    {ProgressPolicy::kNuma, "numa"},   {ProgressPolicy::kList, "list"},
    {ProgressPolicy::kTasks, "tasks"},
};

}  // namespace

Result<ProgressPolicy> parse_progress_policy(std::string_view text) {
  std::string known;
  for (const PolicyName& entry : kPolicyNames) {
    if (text == entry.name) return entry.policy;
    known += known.empty() ? "" : ", ";
    known += entry.policy == ProgressPolicy::kList ? "list:WORKERS" : entry.name;
  }
  return {Errc::kArg, fmt::format("'{}' is no policy for progress threads; known: {}",
                                  text, known)};
}

const char* name_of(ProgressPolicy policy) noexcept {
  for (const PolicyName& entry : kPolicyNames)
    if (entry.policy == policy) return entry.name;
  return "?";
}

}  // namespace mpc::sched
