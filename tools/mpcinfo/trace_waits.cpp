#include "tools/mpcinfo/trace_waits.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mpc::tools {
namespace {

// The end of something that a rank may have waited for.
struct Hint {
  double time = 0;
  int partner = kNobody;
  int64_t bytes = 0;
};

bool is_rank(const TraceData& data, int rank) noexcept {
  return rank >= 0 && rank < data.ranks;
}

class Divider {
 public:
  explicit Divider(const TraceData& data)
      : data_(data),
        hints_(static_cast<size_t>(data.ranks)),
        work_(static_cast<size_t>(data.ranks)) {
    result_.calls.resize(static_cast<size_t>(data.ranks));
    result_.shares.resize(static_cast<size_t>(data.ranks));
  }
  TraceWaits divide();

 private:
  void collect_hints();
  void collect_calls();
  void find_latecomers();
  void divide_call(CallDivided& call);
  double moved_within(const Interval& when, int rank) const;
  void wait_for(const CallDivided& call, int partner, double us);
  void share_out();

  const TraceData& data_;
  TraceWaits result_;
  std::vector<std::vector<Hint>> hints_;     // of each rank, in order of time
  std::vector<std::vector<Interval>> work_;  // what each rank does itself
  std::map<std::tuple<int, int, std::string>, Wait> waits_;
  // For calls that all ranks make together: the call, and the last rank to arrive.
  std::map<const CallDivided*, Hint> last_comers_;
};

void Divider::collect_hints() {
  for (const MessagePoint& point : data_.points)
    if (is_rank(data_, point.rank) && is_rank(data_, point.partner) && !point.is_send)
      hints_[static_cast<size_t>(point.rank)].push_back(
          {point.time, point.partner, point.bytes});
  for (const Arrow& arrow : data_.arrows)  // a large send ends when its data are copied
    if (is_rank(data_, arrow.from) && is_rank(data_, arrow.to))
      hints_[static_cast<size_t>(arrow.from)].push_back(
          {arrow.end, arrow.to, arrow.bytes});
  for (auto& of_rank : hints_)
    std::stable_sort(of_rank.begin(), of_rank.end(),
                     [](const Hint& a, const Hint& b) { return a.time < b.time; });
  for (const WorkSlice& work : data_.rank_work)
    if (is_rank(data_, work.doer) && work.end > work.begin)
      work_[static_cast<size_t>(work.doer)].push_back({work.begin, work.end});
}

void Divider::collect_calls() {
  for (const CallSlice& call : data_.calls) {
    if (!is_rank(data_, call.rank)) continue;
    auto& of_rank = result_.calls[static_cast<size_t>(call.rank)];
    const bool is_inside = !of_rank.empty() && call.begin < of_rank.back().end;
    if (is_inside || call.end < call.begin) continue;
    static_cast<CallSlice&>(of_rank.emplace_back()) = call;
  }
}

// If all ranks have called a function equally often, and none has left a call before all had
// entered theirs, these calls wait for each other: the k-th ones belong together.
void Divider::find_latecomers() {
  std::map<std::string, std::vector<std::vector<const CallDivided*>>> by_name;
  for (size_t rank = 0; rank < result_.calls.size(); ++rank)
    for (const CallDivided& call : result_.calls[rank]) {
      auto& of_ranks = by_name[call.name];
      of_ranks.resize(result_.calls.size());
      of_ranks[rank].push_back(&call);
    }
  for (const auto& [name, of_ranks] : by_name) {
    const size_t count = of_ranks.front().size();
    const bool is_even =
        of_ranks.size() > 1 &&
        std::all_of(of_ranks.begin(), of_ranks.end(),
                    [&](const auto& calls) { return calls.size() == count; });
    for (size_t k = 0; is_even && k < count; ++k) {
      const CallDivided* last = of_ranks.front()[k];
      double first_end = last->end;
      for (const auto& calls : of_ranks) {
        if (calls[k]->begin > last->begin) last = calls[k];
        first_end = std::min(first_end, calls[k]->end);
      }
      if (last->begin > first_end) continue;
      for (const auto& calls : of_ranks)
        last_comers_[calls[k]] = {last->begin, last->rank, 0};
    }
  }
}

double Divider::moved_within(const Interval& when, int rank) const {
  const auto& own = work_[static_cast<size_t>(rank)];
  auto at = std::lower_bound(
      own.begin(), own.end(), when.begin,
      [](const Interval& work, double time) { return work.begin < time; });
  double moved = 0, until = when.begin;  // nested pieces count once
  for (; at != own.end() && at->begin < when.end; ++at) {
    const Interval rest{std::max(at->begin, until), std::min(at->end, when.end)};
    if (rest.end <= rest.begin) continue;
    moved += rest.end - rest.begin;
    until = rest.end;
  }
  return moved;
}

void Divider::wait_for(const CallDivided& call, int partner, double us) {
  if (us <= 0) return;
  if (partner == call.rank) partner = kNobody;
  Wait& wait = waits_[{call.rank, partner, call.name}];
  wait.rank = call.rank;
  wait.partner = partner;
  wait.call = call.name;
  wait.us += us;
  ++wait.times;
}

// Until a hint the call waited for the partner of that hint; after the last hint, for the message
// that that one began.
void Divider::divide_call(CallDivided& call) {
  call.moving_us = moved_within(call, call.rank);
  const auto& hints = hints_[static_cast<size_t>(call.rank)];
  auto at =
      std::upper_bound(hints.begin(), hints.end(), call.begin,
                       [](double time, const Hint& hint) { return time < hint.time; });
  std::vector<Hint> inside;
  for (; at != hints.end() && at->time <= call.end; ++at) inside.push_back(*at);
  if (const auto found = last_comers_.find(&call);
      inside.empty() && found != last_comers_.end())
    inside.push_back(found->second);
  double from = call.begin, longest = 0;
  const auto piece = [&](double to, int partner) {
    const double us = to - from - moved_within({from, to}, call.rank);
    wait_for(call, partner, us);
    if (us > longest && partner != call.rank) longest = us, call.partner = partner;
    from = to;
  };
  for (const Hint& hint : inside) {
    call.bytes += hint.bytes;
    if (hint.time > from) piece(hint.time, hint.partner);
  }
  const bool is_known = !inside.empty() && inside.back().bytes > 0;
  piece(call.end, is_known ? inside.back().partner : kNobody);
}

void Divider::share_out() {
  for (size_t rank = 0; rank < result_.calls.size(); ++rank) {
    RankShare& share = result_.shares[rank];
    const auto& calls = result_.calls[rank];
    if (calls.empty()) continue;
    double in_calls = 0;
    for (const CallDivided& call : calls) {
      in_calls += call.end - call.begin;
      share.moving_us += call.moving_us;
    }
    share.waiting_us = in_calls - share.moving_us;
    share.computing_us =
        std::max(0.0, calls.back().end - calls.front().begin - in_calls);
  }
  for (const WorkSlice& work : data_.work) {
    if (!is_rank(data_, work.rank) || work.is_polling || work.end <= work.begin ||
        work.bytes <= 0)
      continue;
    RankShare& share = result_.shares[static_cast<size_t>(work.rank)];
    const auto& calls = result_.calls[static_cast<size_t>(work.rank)];
    auto at = std::lower_bound(
        calls.begin(), calls.end(), work.begin,
        [](const CallDivided& call, double time) { return call.end < time; });
    double exposed = 0;
    for (; at != calls.end() && at->begin < work.end; ++at)
      exposed += at->overlap(work);
    share.work_us += work.end - work.begin;
    share.hidden_us += std::max(0.0, work.end - work.begin - exposed);
  }
}

TraceWaits Divider::divide() {
  collect_hints();
  collect_calls();
  find_latecomers();
  for (auto& of_rank : result_.calls)
    for (CallDivided& call : of_rank) divide_call(call);
  share_out();
  for (auto& [key, wait] : waits_) result_.waits.push_back(std::move(wait));
  std::stable_sort(result_.waits.begin(), result_.waits.end(),
                   [](const Wait& a, const Wait& b) { return a.us > b.us; });
  return std::move(result_);
}

}  // namespace

TraceWaits find_waits(const TraceData& data) { return Divider(data).divide(); }

}  // namespace mpc::tools
