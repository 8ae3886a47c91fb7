// The data of a page: the trace as arrays of numbers.
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/mpcinfo/page.h"
#include "tools/mpcinfo/trace_waits.h"

namespace mpc::tools {
namespace {

int64_t ns_of(double us) { return std::llround(us * 1000); }

// Numbers texts that occur often.
class Names {
 public:
  int number_of(const std::string& name) {
    const auto [found, is_new] = numbers_.try_emplace(name, numbers_.size());
    if (is_new) list_.push_back(name);
    return static_cast<int>(found->second);
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, size_t> numbers_;
  Json list_ = Json::array();
};

// The slices of a row: difference to the last begin, duration, and further numbers.
class Row {
 public:
  void add(const Interval& when, std::initializer_list<int64_t> more) {
    const int64_t begin = ns_of(when.begin);
    numbers_.push_back(begin - last_);
    numbers_.push_back(std::max<int64_t>(ns_of(when.end) - begin, 0));
    for (const int64_t value : more) numbers_.push_back(value);
    last_ = begin;
  }
  Json take() { return std::move(numbers_); }

 private:
  Json numbers_ = Json::array();
  int64_t last_ = 0;
};

Json cores_of(const TraceData& data, Names& names) {
  std::vector<Row> work(data.cores.size());
  for (const WorkSlice& slice : data.work)
    work.at(static_cast<size_t>(slice.core))
        .add(slice,
             {names.number_of(slice.name), slice.rank, slice.source, slice.bytes});
  Json cores = Json::array();
  for (size_t i = 0; i < data.cores.size(); ++i) {
    Row runs;
    for (const RunSlice& run : data.cores[i].runs) runs.add(run, {run.kind, run.rank});
    cores.push_back({{"name", data.cores[i].name},
                     {"runs", runs.take()},
                     {"work", work[i].take()}});
  }
  return cores;
}

Json ranks_of(const TraceData& data, const TraceWaits& waits, Names& names) {
  std::vector<Row> work(waits.calls.size());
  for (const WorkSlice& slice : data.rank_work)
    if (slice.doer >= 0 && static_cast<size_t>(slice.doer) < work.size())
      work[static_cast<size_t>(slice.doer)].add(
          slice, {names.number_of(slice.name), slice.rank, slice.source, slice.bytes});
  Json ranks = Json::array();
  for (size_t rank = 0; rank < waits.calls.size(); ++rank) {
    Row calls;
    for (const CallDivided& call : waits.calls[rank])
      calls.add(call, {names.number_of(call.name), call.partner, call.bytes,
                       ns_of(call.moving_us)});
    const RankShare& share = waits.shares[rank];
    ranks.push_back(
        {{"calls", calls.take()},
         {"work", work[rank].take()},
         {"share",
          {ns_of(share.computing_us), ns_of(share.waiting_us), ns_of(share.moving_us),
           ns_of(share.work_us), ns_of(share.hidden_us)}}});
  }
  return ranks;
}

Json arrows_of(const TraceData& data) {
  std::vector<const Arrow*> whole;
  for (const Arrow& arrow : data.arrows)
    if (arrow.from >= 0 && arrow.to >= 0) whole.push_back(&arrow);
  std::stable_sort(whole.begin(), whole.end(),
                   [](const Arrow* a, const Arrow* b) { return a->begin < b->begin; });
  Row row;
  for (const Arrow* arrow : whole)
    row.add(*arrow, {arrow->from, arrow->to, arrow->bytes});
  return row.take();
}

}  // namespace

Json page_data(const TraceData& data) {
  const TraceWaits waits = find_waits(data);
  Names names;
  Json page;
  page["program"] = data.program;
  page["ranks"] = data.ranks;
  page["lost"] = data.lost;
  page["end"] = ns_of(data.end);
  page["cores"] = cores_of(data, names);
  page["rows"] = ranks_of(data, waits, names);
  page["arrows"] = arrows_of(data);
  Json list = Json::array();
  for (const Wait& wait : waits.waits)
    list.push_back({wait.rank, wait.partner, names.number_of(wait.call), ns_of(wait.us),
                    wait.times});
  page["waits"] = std::move(list);
  Json messages = Json::array();
  for (const MessageCount& count : data.messages)
    messages.push_back({count.to, count.from, count.messages, count.bytes});
  page["messages"] = std::move(messages);
  page["names"] = names.take();
  return page;
}

}  // namespace mpc::tools
