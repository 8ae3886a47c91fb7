#include "runtime/message/job_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/service_thread.h"
#include "runtime/job/crash.h"
#include "runtime/message/control.h"

namespace mpc::msg {
namespace {

// A process that has not answered by then is left out of the table.
constexpr uint64_t kGatherNs = 1'000'000'000;

std::string name_of(const job::ProcessMap& map, int process) {
  const job::RankRange ranks = map.ranks_of(process);
  return ranks.size() == 1 ? fmt::format("process {} (rank {})", process, ranks.first)
                           : fmt::format("process {} (ranks {}-{})", process,
                                         ranks.first, ranks.end - 1);
}

}  // namespace

JobWatch::JobWatch(const job::ProcessMap& map, std::vector<int> here,
                   sched::Scheduler& scheduler, Ranks ranks)
    : map_(map),
      here_(std::move(here)),
      scheduler_(scheduler),
      ranks_(std::move(ranks)),
      collector_(map.processes()) {
  const Locked turn(turn_);
  for (const int process : here_) tellers_.emplace(process, RestTeller());
  set_control_handler(
      ControlChannel::kDeadlock,
      [](void* watch, int to, int from, std::span<const std::byte> message) noexcept {
        static_cast<JobWatch*>(watch)->arrive(to, from, message);
      },
      this);
}

JobWatch::~JobWatch() {
  stop();
  if (is_started_) pthread_join(thread_, nullptr);
}

Result<> JobWatch::start() {
  auto thread = start_service_thread("the watch over the job", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  sched::watch_rest(
      scheduler_, [this] { look(); }, [this] { return traffic(); });
  return {};
}

void JobWatch::stop() noexcept {
  std::vector<Use> unanswered;
  {
    const Locked turn(turn_);
    if (std::exchange(is_stopped_, true)) return;
    if (gathering_) unanswered = std::move(gathering_->uses);
    gathering_.reset();
    sched::watch_rest(scheduler_, nullptr, nullptr);
  }
  {
    const Locked lock(inbox_lock_);
    std::ranges::move(wanted_, std::back_inserter(unanswered));
    wanted_.clear();
  }
  wake();
  for (const Use& use : unanswered) use({});
}

// ---- messages left by others ---------------------------------------------------------------

void JobWatch::wake() noexcept {
  signals_.fetch_add(1, std::memory_order_release);  // pairs with run()
  futex_wake(signals_);
}

void JobWatch::look() noexcept {
  is_to_look_.store(true, std::memory_order_relaxed);
  wake();
}

void JobWatch::gather(Use use) {
  {
    const Locked lock(inbox_lock_);
    wanted_.push_back(std::move(use));
  }
  wake();
}

void JobWatch::arrive(int here, int from, std::span<const std::byte> message) noexcept {
  {
    const Locked lock(inbox_lock_);
    inbox_.push_back({here, from, {message.begin(), message.end()}});
  }
  wake();
}

uint64_t JobWatch::traffic() const noexcept {
  uint64_t sum = 0;
  for (const int process : here_) {
    const Traffic traffic = endpoint_of_process(process).traffic();
    sum += uint64_t{traffic.sent} + traffic.received;
  }
  return sum;
}

// ---- the thread ----------------------------------------------------------------------------

void* JobWatch::thread_main(void* self) {
  job::crash::prepare_kernel_thread();
  static_cast<JobWatch*>(self)->run();
  return nullptr;
}

void JobWatch::run() noexcept {
  for (;;) {
    // Acquire pairs with wake(): what was left before.
    const uint32_t seen = signals_.load(std::memory_order_acquire);
    Table table;
    {
      const Locked turn(turn_);
      if (is_stopped_) return;
      table = step();
    }
    for (const Use& use : table.uses) use(table.text);
    if (table.uses.empty()) sleep(seen);
  }
}

void JobWatch::sleep(uint32_t seen) noexcept {
  if (end_ns_ != 0) {
    futex_wait_until(signals_, seen, end_ns_);
  } else {
    futex_wait(signals_, seen);
  }
}

JobWatch::Table JobWatch::step() {
  std::vector<Message> inbox;
  std::vector<Use> wanted;
  {
    const Locked lock(inbox_lock_);
    inbox.swap(inbox_);
    wanted.swap(wanted_);
  }
  for (Use& use : wanted) begin_gathering(std::move(use));
  for (const Message& message : inbox) take(message);
  while (is_to_look_.exchange(false, std::memory_order_relaxed)) look_at_all();
  end_ns_ = gathering_ ? gathering_->end_ns : 0;
  const bool is_gathered =
      gathering_ && (gathering_->silent.empty() || sched::now_ns() >= end_ns_);
  return is_gathered ? end_gathering() : Table{};
}

void JobWatch::take(const Message& message) {
  Head head;
  std::span<const std::byte> bytes(message.bytes);
  CHECK(bytes.size() >= sizeof head, "another process tells nothing about the job");
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes = bytes.subspan(sizeof head);
  switch (head.kind) {
    case Kind::kRest:
      return take_rest(message.from, head.rest, head.number);
    case Kind::kAsk:
      tellers_.at(message.here).ask(head.number);
      is_to_look_.store(true, std::memory_order_relaxed);
      return;
    case Kind::kAskRows:
      head.kind = Kind::kRows;
      return tell(message.here, message.from, head,
                  job::encode(ranks_.rows(message.here)));
    case Kind::kRows:
      return take_rows(message.from, head.number, bytes);
  }
}

void JobWatch::tell(int here, int to, const Head& head,
                    std::span<const std::byte> rows) {
  std::vector<std::byte> message(sizeof head + rows.size());
  std::memcpy(message.data(), &head, sizeof head);
  std::ranges::copy(rows, message.begin() + sizeof head);
  send_control(here, to, ControlChannel::kDeadlock, message);
}

// ---- is it a deadlock? ---------------------------------------------------------------------

std::optional<Rest> JobWatch::rest_of(int process, const Traffic& traffic,
                                      const sched::Rest& seen) const {
  const bool has_ended = ranks_.have_ended(process);
  if (seen.kind == sched::Rest::kEmpty && !has_ended && !is_known_process(process))
    return {};  // not started yet, or unknown threads may call MPI
  return Rest{seen.epoch, traffic.sent, traffic.received, has_ended};
}

bool JobWatch::is_known_process(int process) const {
  return ranks_.is_known_process && ranks_.is_known_process(process);
}

// Received and sent counts are read first: see docs/design/0025.
void JobWatch::look_at_all() {
  if (ranks_.is_ending()) return;
  std::vector<Traffic> traffics;
  for (const int process : here_)
    traffics.push_back(endpoint_of_process(process).traffic());
  const sched::Rest seen = sched::rest_of(scheduler_);
  // Perhaps only because another thread polled: then no event will tell us later.
  if (seen.kind == sched::Rest::kNone) return sched::ask_rest(scheduler_);
  for (size_t i = 0; i < here_.size(); ++i) {
    const auto rest = rest_of(here_[i], traffics[i], seen);
    const auto answers = rest ? tellers_.at(here_[i]).tell(*rest) : std::nullopt;
    if (!answers) continue;
    if (here_[i] == 0) {
      take_rest(0, *rest, *answers);
    } else {
      tell(here_[i], 0, {Kind::kRest, *answers, *rest});
    }
  }
}

void JobWatch::take_rest(int process, const Rest& rest, uint32_t answers) {
  switch (collector_.take(process, rest, answers)) {
    case RestCollector::Verdict::kNothing:
      return;
    case RestCollector::Verdict::kAsk:
      return ask_all();
    case RestCollector::Verdict::kDeadlock:
      // A table that was requested a moment ago may not show it yet: gather anew for all.
      std::vector<Use> uses;
      if (gathering_) uses = std::move(gathering_->uses);
      gathering_.reset();
      begin_gathering(ranks_.on_deadlock);
      std::ranges::move(uses, std::back_inserter(gathering_->uses));
  }
}

void JobWatch::ask_all() {
  for (int process = 1; process < map_.processes(); ++process)
    tell(0, process, {Kind::kAsk, collector_.question(), {}});
  tellers_.at(0).ask(collector_.question());
  is_to_look_.store(true, std::memory_order_relaxed);
}

// ---- what each rank does -------------------------------------------------------------------

// A request that comes while another one is being served gets the same table.
void JobWatch::begin_gathering(Use use) {
  if (gathering_) return gathering_->uses.push_back(std::move(use));
  const int own = here_.front();
  Gathering gathering;
  gathering.number = ++gatherings_;
  gathering.end_ns = sched::now_ns() + kGatherNs;
  gathering.uses.push_back(std::move(use));
  gathering.rows = ranks_.rows(own);
  for (int process = 0; process < map_.processes(); ++process) {
    if (process == own) continue;
    gathering.silent.insert(process);
    tell(own, process, {Kind::kAskRows, gathering.number, {}});
  }
  gathering_ = std::move(gathering);
}

void JobWatch::take_rows(int from, uint32_t number, std::span<const std::byte> bytes) {
  if (!gathering_ || gathering_->number != number) return;  // too late
  job::StateTable rows;
  CHECK(job::decode(bytes, &rows), "another process tells no table of its ranks");
  std::ranges::move(rows, std::back_inserter(gathering_->rows));
  gathering_->silent.erase(from);
}

JobWatch::Table JobWatch::end_gathering() {
  Table table;
  table.text = job::to_text(job::merged(std::move(gathering_->rows)));
  for (const int process : gathering_->silent)
    table.text += fmt::format("  {} does not answer\n", name_of(map_, process));
  table.uses = std::move(gathering_->uses);
  gathering_.reset();
  end_ns_ = 0;
  return table;
}

}  // namespace mpc::msg
