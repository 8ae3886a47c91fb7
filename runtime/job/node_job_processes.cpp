// The part of a NodeJob that deals with other processes: what it does because it is one of several,
// and what it and the launcher tell each other.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/fnv.h"
#include "base/log.h"
#include "base/settings.h"
#include "runtime/job/build_id.h"
#include "runtime/job/card.h"
#include "runtime/job/console.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/hooks.h"
#include "runtime/job/host_map.h"
#include "runtime/job/leaving.h"
#include "runtime/job/losses.h"
#include "runtime/job/node_job.h"
#include "runtime/job/program_files.h"
#include "runtime/job/rank_signals.h"
#include "runtime/job/report.h"
#include "runtime/job/signals.h"
#include "runtime/job/universe.h"

namespace mpc::job {
namespace {

constexpr char kShow[] = "mpc.show";

// For tests on every machine of what crosses processes.
IntSetting virtual_processes{
    "job.virtual_processes",
    1,
    "processes",
    "For testing: the job behaves as if its ranks lived in so many processes: messages "
    "between them are encoded and pass a network, though it is only a queue in memory",
    1,
    1 << 20};

// The k-th of n parts of `total` things, whose sizes differ by at most
// one: its first number, and the one after its last.
RankRange part_of(int total, int k, int n) {
  const auto begin = [&](int i) {
    return static_cast<int>(static_cast<long long>(total) * i / n);
  };
  return {begin(k), begin(k + 1)};
}

}  // namespace

// --- before ranks run ---------------------------------------------------------------------------

Result<> NodeJob::divide_ranks() {
  int ranks = 0;
  for (const AppSpec& app : spec_.apps) ranks += app.ranks;
  if (wireup_->is_alone()) {
    processes_ =
        ProcessMap::in_blocks(ranks, static_cast<int>(virtual_processes.get()));
    local_ = {0, ranks};
    return {};
  }
  if (!virtual_processes.is_default())
    return {Errc::kArg,
            "job.virtual_processes: this job has several real processes already"};
  // mpcrun has checked this, unless another launcher has started the process.
  if (!spec_.emulate.empty())
    return {Errc::kArg,
            fmt::format("--emulate: an emulated machine is one process, and this job "
                        "has {}: start one, or leave out --emulate",
                        wireup_->size())};
  if (wireup_->size() > ranks)
    return {Errc::kArg, fmt::format("{} processes for {} rank{}", wireup_->size(),
                                    ranks, ranks == 1 ? "" : "s")};
  const std::vector<int> sizes = wireup_->ranks_of_processes();
  processes_ = sizes.empty() ? ProcessMap::in_blocks(ranks, wireup_->size())
                             : ProcessMap::of_sizes(sizes);
  CHECK(processes_.ranks() == ranks && processes_.processes() == wireup_->size(),
        "the launcher and mpcrun divide the ranks differently");
  local_ = processes_.ranks_of(wireup_->index());
  if (wireup_->goes_on()) {
    losses::survive(wireup_->size());
    wireup_->on_loss([](int process) { losses::announce(process); });
  }
  return hooks::run_wireup(*this);
}

// The cores of this host, or those that the user has named, in as many parts as there are processes
// here. If that leaves less than one for each process, no worker is bound.
void NodeJob::take_own_cores(CoreWish& wish) {
  const int index = wireup_->local_index(), count = wireup_->local_size();
  const bool is_given = !wish.core_list.empty() || wish.core_count > 0;
  std::vector<int> all = wish.core_list;
  if (all.empty()) {
    all.resize(static_cast<size_t>(
        wish.core_count > 0 ? std::min(wish.core_count, machine_->core_count())
                            : machine_->core_count()));
    std::iota(all.begin(), all.end(), 0);
  }
  const int cores = static_cast<int>(all.size());
  if (wish.comm_cores > 0)
    wish.comm_cores = part_of(wish.comm_cores, index, count).size();
  if (cores < count) {
    wish.bind = Bind::kNone;
    wish.core_list = {all[static_cast<size_t>(index % cores)]};
    processes_per_core_ = (count + cores - 1) / cores;
    return;
  }
  const RankRange mine = part_of(cores, index, count);
  wish.core_list.assign(all.begin() + mine.first, all.begin() + mine.end);
  const auto others = uses_of_others();
  const bool is_taken =
      std::any_of(wish.core_list.begin(), wish.core_list.end(), [&](int core) {
        return static_cast<size_t>(core) < others.size() &&
               others[static_cast<size_t>(core)].has_ranks;
      });
  if (wish.bind == Bind::kAuto && is_taken && !is_given) wish.bind = Bind::kNone;
  // As many for communication as a single process would take.
  const int left = std::max(mine.size() - wish.ranks, 0);
  if (wish.comm_cores < 0 && !is_given)
    wish.comm_cores = wish.has_progress ? std::min(left, wish.ranks) : 0;
}

// From here on all processes know where all ranks are.
Result<> NodeJob::tell_others() {
  if (wireup_->is_alone()) return {};
  Card mine;
  mine.ranks = size();
  mine.local = local_;
  mine.application_workers = choice_.application_workers;
  mine.cores = sched::allowed_core_count();
  mine.host = host_identity();
  mine.settings = fnv_of(settings_text());
  mine.workers = worker_of_;
  std::vector<std::string> names = {"libmpi_abi.so.1"};
  mine.builds = {build_of_this_library()};
  for (const AppSpec& app : spec_.apps) {
    const auto path = find_program(app.program);
    names.push_back(app.program);
    mine.builds.push_back(path ? build_of(*path) : 0);
  }
  auto cards = exchange_cards(*wireup_, mine);
  MPC_TRY(cards);
  if (const std::string other = other_build(*cards, names);
      !other.empty() && wireup_->index() == 0)
    log::warn("{}", other);
  std::vector<uint64_t> hosts;
  for (const Card& card : *cards) hosts.push_back(card.host);
  set_host_map(HostMap(hosts));
  set_cores_of_job(cores_of(*cards));
  int workers_before = 0;
  for (const Card& card : *cards) {
    for (const int worker : card.workers) place_of_.push_back(workers_before + worker);
    workers_before += card.application_workers;
  }
  if (place_of_.size() != static_cast<size_t>(size()))
    return {Errc::kSystem, "the processes of the job do not have all its ranks"};
  return {};
}

int NodeJob::place_of(int world_rank) const noexcept {
  return place_of_.empty() ? worker_of(world_rank)
                           : place_of_[static_cast<size_t>(world_rank)];
}

Result<std::string> NodeJob::describe() {
  if (wireup_->is_alone()) return describe_process();
  const std::string text = describe_process();
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  MPC_TRY(wireup_->put(kShow, {first, first + text.size()}));
  MPC_TRY(wireup_->exchange());
  std::string out;
  for (int process = 0; wireup_->index() == 0 && process < wireup_->size(); ++process) {
    auto part = wireup_->get(process, kShow);
    MPC_TRY(part);
    out.append(reinterpret_cast<const char*>(part->data()), part->size());
  }
  return out;
}

// --- the end ------------------------------------------------------------------------------------

// What ends the job: the first report here goes to the launcher, which ends the other processes.
bool NodeJob::request(int exit_code, const std::string* message, Grace grace) noexcept {
  if (!ending_.request(exit_code, message, grace)) return false;
  if (message != nullptr)
    wireup_->tell(wireup::Report::kEnding, exit_code, *message);
  else  // in a crash its handler prints the report
    wireup_->tell(wireup::Report::kCrash, exit_code, {});
  return true;
}

bool NodeJob::request_death(int exit_code, const std::string& message) noexcept {
  if (!wireup_->goes_on()) return request(exit_code, &message, Grace::kLastWords);
  if (!ending_.request(exit_code, &message, Grace::kLastWords)) return false;
  wireup_->tell(wireup::Report::kDeath, exit_code, message);
  return true;
}

void NodeJob::note_failure(int exit_code, const std::string& message) {
  ending_.note_failure(exit_code, message);
  wireup_->tell(wireup::Report::kFailure, exit_code, message);
}

void NodeJob::note_refusal(int exit_code, const std::string& message) {
  ending_.note_refusal(exit_code, message);
  wireup_->tell(wireup::Report::kRefusal, exit_code, message);
}

// The launcher prints once what all processes have to say.
void NodeJob::say_last_words() {
  const std::string loss = console::loss();
  if (!wireup_->has_launcher()) {
    console::say(loss);
    console::say(ending_.messages());
  } else if (!loss.empty()) {
    wireup_->tell(wireup::Report::kRefusal, kExitOutput, loss);
  }
}

// No process exits while others may need it; meanwhile the code that opened the
// network keeps it moving.
void NodeJob::leave_together() {
  if (wireup_->is_alone() && !wireup_->has_launcher()) return;
  is_leaving_.store(true, std::memory_order_seq_cst);  // obey() reads it
  leave_network(*wireup_, *scheduler_);
  wireup_->tell(wireup::Report::kFinished, 0, {});
  wireup_->finalize();
}

// Called on the thread that listens to the launcher.
void NodeJob::obey(wireup::Order order, int number) {
  if (order == wireup::Order::kAskTable)
    return give_table(*this, [this](const std::string& table) {
      wireup_->tell(wireup::Report::kTable, 0, table);
    });
  static const std::string nothing;
  const bool is_handled =
      order == wireup::Order::kEndNow && rank_signals::takers(number) > 0;
  const Grace grace = is_handled                         ? Grace::kHandlers
                      : order == wireup::Order::kEndSoon ? Grace::kLastWords
                                                         : Grace::kNone;
  const bool is_first = ending_.request(0, &nothing, grace);
  if (is_handled) rank_signals::give(number);
  if (is_first) {
    signals_->finish_job();
  } else if (is_leaving_.load(std::memory_order_seq_cst)) {
    wireup_->end_by_order(
        ending_.status());  // it waits for processes that do not come any more
  }
}

}  // namespace mpc::job
