// The records of a NodeJob: trace, profile, counters. It collects them while it runs and writes
// them at its end; those of several processes of one host become one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/counter.h"
#include "base/settings.h"
#include "base/trace.h"
#include "base/traffic.h"
#include "runtime/job/console.h"
#include "runtime/job/host_map.h"
#include "runtime/job/node_job.h"
#include "runtime/job/profiler.h"
#include "runtime/trace/merge.h"
#include "runtime/trace/trace_file.h"

namespace mpc::job {
namespace {

BoolSetting show_counters{
    "job.counters", false,
    "Print the runtime's counters that are not zero when the job ends"};
BoolSetting profile_setting{
    "job.profile", false,
    "Print at the end of the job where its ranks' time went (mpcrun --profile)"};

const Counter* find_counter(std::string_view name) {
  for (const Counter* counter : Counter::all())
    if (counter->name() == name) return counter;
  return nullptr;
}

// One "name value" per line.
std::string own_counters() {
  std::string text;
  for (const Counter* counter : Counter::all())
    if (counter->get() != 0)
      text += fmt::format("{} {}\n", counter->name(), counter->get());
  return text;
}

void add_counters(std::string_view text, std::map<std::string, uint64_t>& sums) {
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    const size_t blank = line.find(' ');
    if (blank != std::string::npos)
      sums[line.substr(0, blank)] += std::strtoull(line.c_str() + blank, nullptr, 10);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

std::string counter_table(const std::map<std::string, uint64_t>& sums) {
  std::string text;
  for (const auto& [name, value] : sums) {
    const Counter* const counter = find_counter(name);
    text += fmt::format("{:<28} {:>14}  {}\n", name, value,
                        counter != nullptr ? counter->help() : "");
  }
  return text;
}

}  // namespace

// --- before ranks run ---------------------------------------------------------------------------

// One for each process until the end: FILE.0.json.
std::string NodeJob::trace_path(int process) const {
  if (!has_other_processes()) return spec_.trace_file;
  constexpr std::string_view kEnd = ".json";
  std::string path = spec_.trace_file;
  if (path.ends_with(kEnd)) path.resize(path.size() - kEnd.size());
  return fmt::format("{}.{}{}", path, process, kEnd);
}

std::string NodeJob::command_text() const {
  std::string text;
  for (const Program& program : programs_) {
    if (!text.empty()) text += " :";
    for (const std::string& word : program.arguments)
      text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

Result<> NodeJob::open_trace() {
  trace::Job job;
  job.command = command_text();
  job.rank_count = size();
  job.application_workers = choice_.application_workers;
  job.cores = choice_.cores;
  job.rank_of = [](void* who) { return static_cast<const Rank*>(who)->world_rank; };
  if (has_other_processes()) {
    job.process = wireup_->index();
    job.processes = wireup_->size();
    job.first_rank = local_.first;
    job.local_ranks = local_count();
    job.begin_ns = parts_.common_ns(sched::now_ns());
  }
  trace::set_who_source([] { return sched::Execution::self().identity(); });
  return trace::TraceFile::open(trace_path(wireup_->index()), job);
}

Result<> NodeJob::open_profile_file() {
  if (spec_.profile_file.empty() || wireup_->index() != 0) return {};
  profile_descriptor_ = ::open(spec_.profile_file.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (profile_descriptor_ >= 0) return {};
  return {Errc::kArg, fmt::format("--profile-file {}: {}", spec_.profile_file,
                                  std::strerror(errno))};
}

Result<> NodeJob::open_records() {
  const bool is_traced = !spec_.trace_file.empty();
  if (!is_traced && !profile_setting.get() && !show_counters.get()) return {};
  if (has_other_processes() && host_map().hosts() == 1)
    parts_.open(wireup_->console_memory(), wireup_->size());
  MPC_TRY(open_profile_file());
  if (is_traced) MPC_TRY(open_trace());
  if ((is_traced || profile_setting.get()) &&
      !traffic::start({local_.first, local_count(), size()}))
    return {Errc::kNoMem, "--profile: no memory to count messages"};
  return {};
}

Result<> NodeJob::start_profile() {
  if (!profile_setting.get()) return {};
  profiler_ = std::make_unique<Profiler>(*this);
  return profiler_->start();
}

// --- the end ------------------------------------------------------------------------------------

profile::Profile NodeJob::own_profile() const {
  profile::Profile own = profiler_->take();
  own.program = command_text();
  traffic::for_each([&](const traffic::Flow& flow) { own.messages.push_back(flow); });
  return own;
}

// All ranks of this process have ended; those of others may still run.
void NodeJob::close_records() {
  if (profiler_ != nullptr) profiler_->stop();
  if (!trace::TraceFile::write()) has_whole_records_ = false;
  if (!parts_.is_open()) return;
  const int self = wireup_->index();
  if (show_counters.get()) parts_.put(self, SharedParts::kCounters, own_counters());
  if (profiler_ != nullptr)
    parts_.put(self, SharedParts::kProfile, profile::encode(own_profile()));
}

// All processes have closed theirs: the first one joins them.
void NodeJob::join_records() {
  if (!parts_.is_open()) return;
  are_records_joined_ = true;
  if (wireup_->index() != 0 || spec_.trace_file.empty() || !has_whole_records_) return;
  std::vector<std::string> paths;
  for (int process = 0; process < wireup_->size(); ++process)
    paths.push_back(trace_path(process));
  const std::string fault = trace::merge(paths, spec_.trace_file);
  if (fault.empty()) return;
  has_whole_records_ = false;
  console::say(fmt::format("mpcrun: --trace {}: {}; the parts are in {} to {}",
                           spec_.trace_file, fault, paths.front(), paths.back()));
}

void NodeJob::print_counters() const {
  if (!show_counters.get()) return;
  std::map<std::string, uint64_t> sums;
  if (!are_records_joined_) {
    add_counters(own_counters(), sums);
    const std::string heading =
        has_other_processes()
            ? fmt::format("process {} of {}:\n", wireup_->index(), wireup_->size())
            : "";
    return console::say(heading + counter_table(sums));
  }
  if (wireup_->index() != 0) return;
  for (int process = 0; process < wireup_->size(); ++process)
    add_counters(parts_.get(process, SharedParts::kCounters), sums);
  console::say(counter_table(sums));
}

Result<profile::Profile> NodeJob::joined_profile() const {
  profile::Profile all;
  for (int process = 0; process < wireup_->size(); ++process) {
    auto part = profile::decode(parts_.get(process, SharedParts::kProfile));
    MPC_TRY(part);
    all.add(*part);
  }
  return all;
}

void NodeJob::write_profile(const profile::Profile& profile) {
  if (profile_descriptor_ < 0) return;
  const std::string text = profile::to_json(profile);
  int error = 0;
  for (size_t at = 0; at < text.size() && error == 0;) {
    const ssize_t n = ::write(profile_descriptor_, text.data() + at, text.size() - at);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else if (errno != EINTR)
      error = errno;
  }
  if (::close(profile_descriptor_) != 0 && error == 0) error = errno;
  profile_descriptor_ = -1;
  if (error == 0) return;
  has_whole_records_ = false;
  console::say(fmt::format("mpcrun: --profile-file {}: {}; the file is not complete",
                           spec_.profile_file, std::strerror(error)));
}

// If the job ends early each process prints its own.
void NodeJob::print_profile() {
  if (profiler_ == nullptr) return;
  if (are_records_joined_ && wireup_->index() != 0) return;
  auto all =
      are_records_joined_ ? joined_profile() : Result<profile::Profile>(own_profile());
  if (!all) return console::say("mpcrun: " + all.error().message);
  std::string heading;
  if (has_other_processes() && !are_records_joined_)
    heading = fmt::format("process {} of {}:\n", wireup_->index(), wireup_->size());
  console::say(heading + profile::to_text(*all));
  write_profile(*all);
}

void NodeJob::print_records() {
  print_counters();
  print_profile();
}

}  // namespace mpc::job
