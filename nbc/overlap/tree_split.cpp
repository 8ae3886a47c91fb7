#include "nbc/overlap/tree_split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/trace.h"
#include "nbc/model/machine_file.h"
#include "runtime/job/job.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/execution.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace mpc::nbc {
namespace {

constexpr int kAuto = -1, kInvalid = -2;
constexpr int kAllLevels = 1 << 20;
constexpr size_t kMostSites = 64;
constexpr int64_t kLeastBytes = 16 << 10;

StringSetting split_setting{
    "nbc.split", "auto",
    "Leaf levels of a non-blocking collective's tree that stay on the ranks' cores; "
    "auto: "
    "chosen by the model",
    "auto|0|1|2|...", [](std::string_view text) {
      return std::string(
          parse_split(text) == kInvalid ? "neither auto nor a number of levels" : "");
    }};
// The parameters in the file that nbc.machine_file names: read when the setting is made, before the ranks start
// and before --wdir, so that a wrong one is refused as any other wrong value is.
std::optional<Parameters>& asked_parameters() {
  static std::optional<Parameters> parameters;
  return parameters;
}
std::string read_asked_parameters(std::string_view path) {
  if (path.empty()) return "";
  auto read = read_parameters(std::string(path));
  if (!read) return read.error().message;
  asked_parameters() = std::move(*read);
  return "";
}
StringSetting parameters_setting{"nbc.machine_file", "",
                                 "File of the machine's parameters (mpcinfo "
                                 "calibrate) for the model; empty: the one "
                                 "in the user's cache, or a guess from the topology",
                                 "a file of mpcinfo calibrate", read_asked_parameters};

enum Plan { kTable, kModel };
constexpr const char* kPlans[] = {"table", "model"};
EnumSetting plan_setting{
    "nbc.plan", kModel, kPlans, 2,
    "Who chooses algorithm, arity and segments of non-blocking trees when there are "
    "cores for "
    "communication: the table of measured limits, as for blocking calls, or the model"};

Counter auto_counter{"nbc.splits_chosen",
                     "Non-blocking trees whose split the model chose"};
Counter kept_counter{"nbc.splits_above_0",
                     "Those of them that kept levels on the ranks' cores"};

Counter predicted_counter{
    "nbc.predicted_us",
    "Time of collectives that the model predicted, start to end, as predicted"};
Counter measured_counter{
    "nbc.measured_us",
    "Time of collectives that the model predicted, start to end, as measured"};

// One rank's buffer, or its block: alike at all ranks for the collectives with a tree.
int64_t bytes_of(const Shape& s) noexcept {
  const CollTraits& traits = traits_of(s.coll);
  const int64_t received = s.recv_count * s.recv_type.size;
  const int64_t sent = s.send_count * s.send_type.size;
  if (traits.has_blocks() && traits.root == RootRole::kReceives)
    return std::max(sent, s.rank == s.root ? received : 0);
  if (traits.has_blocks() && traits.root == RootRole::kSends)
    return std::max(received, s.rank == s.root ? sent : 0);
  return received;
}

MachineShape shape_of(const topo::Machine& machine) {
  const topo::Outline outline = topo::outline(machine);
  return {outline.cores, outline.cores_per_cache, outline.cores_per_numa};
}

}  // namespace

Parameters parameters_for(const topo::Machine* machine) {
  if (!parameters_setting.get().empty()) return *asked_parameters();
  if (machine != nullptr) {
    auto read = read_parameters(parameters_path(topo::fingerprint(*machine)));
    if (read) return *read;
    if (read.error().code != Errc::kNotFound)
      log::warn("parameters of the machine: {}; guessed instead", read.error().message);
  }
  return guess_parameters(machine != nullptr ? shape_of(*machine) : MachineShape{});
}

namespace {

// The machine's, read once.
const Parameters& machine_parameters() {
  static const Parameters parameters = parameters_for(job::Job::instance().machine());
  return parameters;
}

bool model_plans() noexcept { return plan_setting.get() == kModel; }

// The model's name for a row of the table: trees over places are binomial to it.
const char* model_name(const char* algorithm) noexcept {
  const std::string_view name(algorithm);
  if (name == "tree") return "binomial";
  if (name == "tree_segmented") return "binomial_segmented";
  return algorithm;
}

// What the user says for this communicator; kAuto if nothing.
int given_split(const CommView& comm) {
  if (comm.hint != nullptr) return parse_split(*comm.hint);
  static const std::optional<int> setting = forced_split();
  return setting.value_or(kAuto);
}

// As long as it seems to the program.
double elapsed_us(uint64_t started_ns) noexcept {
  const uint64_t real_ns = sched::now_ns() - started_ns;
  if (sched::Emulation::is_on()) return sched::Emulation::emulated_ns(real_ns) * 1e-3;
  return static_cast<double>(real_ns) * 1e-3;
}

}  // namespace

std::optional<int> forced_split() {
  const int split = parse_split(split_setting.get());
  return split >= 0 ? std::optional<int>(split) : std::nullopt;
}

const Parameters& parameters_of_machine() { return machine_parameters(); }

int parse_split(std::string_view text) noexcept {
  if (text == "auto") return kAuto;
  int value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0
             ? value
             : kInvalid;
}

void SplitCall::note_start() noexcept {
  if (!is_chosen()) return;
  start_ns_ = sched::now_ns();
}

void SplitCall::note_started() noexcept {
  if (!is_chosen()) return;
  started_ns_ = sched::now_ns();
  is_window_open_ = true;
}

// The program has done what it wanted to do meanwhile. Levels kept in the start are no part of it.
void SplitCall::note_wait() noexcept {
  if (!is_window_open_) return;
  is_window_open_ = false;
  site_->memory->note_window(elapsed_us(started_ns_));
}

void SplitCall::note_end() const noexcept {
  if (!is_chosen()) return;
  const double total_us = elapsed_us(start_ns_);
  site_->memory->note_end(call_, total_us);
  if (predicted_us_ <= 0) return;
  predicted_counter.add(static_cast<uint64_t>(std::llround(predicted_us_)));
  measured_counter.add(static_cast<uint64_t>(std::llround(total_us)));
}

namespace {

// The memories of all ranks: a site is the same at all members of a communicator. Those of
// another process have their own, as they cannot look into this one: S may differ between them.
struct MemoryKey {
  int process;
  msg::ContextId context;
  int first_rank, size;  // disjoint communicators may have the same context
  Coll coll;
  int root;
  int64_t bytes;
  bool is_commutative;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means what the compiler generates
  auto operator<=>(const MemoryKey&) const = default;
};

std::shared_ptr<SplitMemory> memory_of(const CommView& comm, const SplitSite& site) {
  static std::mutex mutex;  // never held over a switch
  static std::map<MemoryKey, std::weak_ptr<SplitMemory>> memories;
  const MemoryKey key{comm.process, comm.context, comm.first_rank, comm.size,
                      site.coll,    site.root,    site.bytes,      site.is_commutative};
  const std::lock_guard lock(mutex);
  std::weak_ptr<SplitMemory>& known = memories[key];
  std::shared_ptr<SplitMemory> memory = known.lock();
  if (memory == nullptr) {
    memory = std::make_shared<SplitMemory>(comm.ranks_here);
    known = memory;
  }
  return memory;
}

}  // namespace

SplitSite* TreeSplitter::site_of(const CommView& comm, const Shape& shape,
                                 int64_t bytes) {
  for (const auto& site : sites_) {
    if (site->coll == shape.coll && site->root == shape.root && site->bytes == bytes &&
        site->is_commutative == shape.is_commutative)
      return site.get();
  }
  // A program of very many sizes: the first ones are remembered.
  if (sites_.size() >= kMostSites) return nullptr;
  auto site = std::make_unique<SplitSite>();
  site->coll = shape.coll;
  site->root = shape.root;
  site->bytes = bytes;
  site->is_commutative = shape.is_commutative;
  plan(*site, comm, shape);
  site->memory = memory_of(comm, *site);
  sites_.push_back(std::move(site));
  return sites_.back().get();
}

namespace {

// For so many a byte stands (mpcrun --emulate).
int64_t byte_scale() noexcept {
  return sched::Emulation::is_on() ? sched::Emulation::scale() : 1;
}

// The algorithm is settled, and S is asked for.
void settle(Situation& situation, const char* algorithm, int arity,
            int64_t segment_bytes) {
  situation.algorithm = algorithm;
  situation.arity = arity;
  situation.segment_bytes = segment_bytes * byte_scale();
}

}  // namespace

Situation situation_of(const Shape& shape, int ranks, int hosts, int application_cores,
                       int communication_cores) {
  Situation situation;
  situation.coll = shape.coll;
  situation.ranks = ranks;
  situation.hosts = hosts;
  situation.application_cores = application_cores;
  situation.communication_cores = communication_cores;
  situation.bytes = bytes_of(shape) * byte_scale();
  situation.commutative = shape.is_commutative;
  return situation;
}

int first_split(Chooser& chooser, Situation situation, const Shape& shape,
                const TreePlan& plan) {
  const bool is_planned = plan.algorithm != nullptr;
  settle(situation, is_planned ? plan.algorithm : model_name(select(shape).name),
         plan.arity > 0 ? plan.arity : arity_of(shape),
         plan.segment_bytes > 0 ? plan.segment_bytes : segment_bytes_of(shape));
  return chooser.choose(situation).split;
}

namespace {

// The other processes are taken to be alike.
Situation situation_of(const Shape& shape, const CommView& comm) {
  return nbc::situation_of(shape, comm.ranks_here, comm.processes,
                           comm.job.application_workers(),
                           comm.job.communication_workers());
}

}  // namespace

// From what all ranks know alike: not from this rank's window, nor, with members in several
// processes, from parameters and cores, which are those of one process.
void TreeSplitter::plan(SplitSite& site, const CommView& comm, const Shape& shape) {
  if (!chooser_) chooser_ = std::make_unique<Chooser>(machine_parameters());
  site.planned = model_name(select(shape).name);
  site.planned_arity = arity_of(shape);
  site.planned_segment_bytes = segment_bytes_of(shape);
  if (comm.ranks_here < comm.size) return;
  const TreePlan plan = plan_tree(*chooser_, situation_of(shape, comm), shape);
  if (plan.algorithm == nullptr) return;
  site.algorithm = site.planned = plan.algorithm;
  site.arity = plan.arity;
  if (site.arity > 0) site.planned_arity = site.arity;
  site.segment_bytes = plan.segment_bytes;
  if (site.segment_bytes > 0) site.planned_segment_bytes = site.segment_bytes;
}

TreePlan plan_tree(Chooser& chooser, const Situation& situation, const Shape& shape) {
  if (wanted_algorithm(shape) != nullptr || !model_plans()) return {};
  const Choice choice = chooser.choose(situation);
  if (choice.algorithm == nullptr) return {};
  const Algorithm* found = find_algorithm(shape.coll, choice.algorithm);
  if (found == nullptr || !is_applicable(*found, shape)) return {};
  TreePlan plan{found->name, choice.arity >= 2 ? choice.arity : 0, 0};
  if (choice.segment_bytes > 0)
    plan.segment_bytes = std::max<int64_t>(1, choice.segment_bytes / byte_scale());
  return plan;
}

int TreeSplitter::split_of(SplitCall& call, const CommView& comm, const Shape& shape) {
  SplitSite& site = *call.site_;
  Situation situation = situation_of(shape, comm);
  // Ranks that share a core compute one after the other.
  const int cores = std::max(situation.application_cores, 1);
  const int ranks_of_core = (situation.ranks + cores - 1) / cores;
  settle(situation, site.planned, site.planned_arity, site.planned_segment_bytes);
  const Prediction& prediction = chooser_->prediction(situation);
  call.call_ = site.calls++;
  const auto decision =
      site.memory->decide(call.call_, prediction.times, prediction.nominal_window_us,
                          std::max(ranks_of_core, 1));
  auto_counter.add();
  if (decision.split > 0) kept_counter.add();
  call.predicted_us_ = decision.predicted_us;
  // All is kept: also where a larger process makes the tree higher than the model of this one.
  const bool keeps_all = situation.hosts > 1 && !prediction.times.empty() &&
                         decision.split == prediction.times.back().split;
  return keeps_all ? kAllLevels : decision.split;
}

bool is_worth_a_choice(const Shape& shape, int communication_workers) noexcept {
  // Without cores for communication all of it is done in calls anyway; of little data, too.
  return communication_workers > 0 && bytes_of(shape) >= kLeastBytes;
}

bool needs_choice(const CommView& comm, Shape& shape) {
  if (!traits_of(shape.coll).has_split_tree || shape.size < 2) return false;
  const int given = given_split(comm);
  if (given >= 0) {
    shape.split = given;
    return false;
  }
  return is_worth_a_choice(shape, comm.job.communication_workers());
}

SplitCall TreeSplitter::choose(const CommView& comm, Shape& shape) {
  const std::lock_guard lock(mutex_);
  SplitCall call;
  call.site_ = site_of(comm, shape, bytes_of(shape));
  if (call.site_ == nullptr) return {};
  shape.algorithm = call.site_->algorithm;
  shape.arity = call.site_->arity;
  shape.segment_bytes = call.site_->segment_bytes;
  shape.split = split_of(call, comm, shape);
  MPC_TRACE("model", "split", shape.split);
  return call;
}

}  // namespace mpc::nbc
