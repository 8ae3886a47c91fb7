#include "tools/mpcinfo/trace_read.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "base/json_integer.h"
#include "nbc/schedule/schedule.h"
#include "tools/mpcinfo/trace_json.h"

namespace mpc::tools {
namespace {

RunSlice run_of(const std::string& name, double begin) {
  RunSlice slice;
  slice.begin = begin;
  if (name == "idle") slice.kind = RunSlice::kIdle;
  if (name.rfind("rank ", 0) == 0) {
    slice.rank = std::atoi(name.c_str() + 5);
    slice.kind = name.find("progress") != std::string::npos ? RunSlice::kProgress
                                                            : RunSlice::kRank;
  }
  return slice;
}

class Reader {
 public:
  explicit Reader(TraceData& data) : data_(data) {}
  void read(const Json& file);

 private:
  struct Open {
    enum Kind { kOther, kRun, kWork, kRankWork, kCall } kind = kOther;
    size_t index = 0;
  };
  void name_track(const Json& event);
  size_t core_of(int pid, int tid) const;
  Open begin_on_core(const Json& event, size_t core, double time);
  Open begin_on_rank(const Json& event, int tid, double time);
  void begin(const Json& event, int pid, int tid, double time);
  void end(int pid, int tid, double time);
  void flight(const Json& event, int pid, double time, bool is_begin);
  void point(const Json& event, double time);
  void arrow(const Json& event, double time, bool is_begin);
  void messages(const Json& other);
  void group();
  bool is_main_track(int tid) const {
    return tid % kTracksPerRank == 0 && tid < data_.ranks * kTracksPerRank;
  }

  TraceData& data_;
  std::map<int, size_t> first_core_;  // of each process
  std::map<std::pair<int, int>, std::vector<Open>> stacks_;
  struct Subject {
    int rank = -1;
    int64_t bytes = 0;
  };
  Subject last_;                          // of the last event that has one: an arrow's
  std::map<std::string, size_t> arrows_;  // by id
  struct Flight {
    Part part;
    std::string call;
    int64_t context = 0, tag_base = 0;
  };
  using Number = std::pair<int, int64_t>;  // a process and its own count
  std::map<Number, Flight> flights_;
  std::map<Number, NodeFlight> nodes_;
};

void Reader::name_track(const Json& event) {
  const int pid = track_in(event, "pid");
  if (event.value("name", "") != "thread_name" || !is_of_cores(pid)) return;
  const size_t first =
      first_core_.try_emplace(process_of(pid), data_.cores.size()).first->second;
  const size_t core = first + static_cast<size_t>(track_in(event, "tid"));
  if (data_.cores.size() <= core) data_.cores.resize(core + 1);
  CoreTrack& track = data_.cores[core];
  track.name = event.at("args").value("name", "");
  track.is_communication = track.name.find("communication") != std::string::npos;
}

// Throws if there is no such core: the picture has a row only for those that exist.
size_t Reader::core_of(int pid, int tid) const {
  const size_t core = first_core_.at(process_of(pid)) + static_cast<size_t>(tid);
  (void)data_.cores.at(core);
  return core;
}

WorkSlice work_of(const Json& event, size_t core, double time) {
  const Json args = event.value("args", Json::object());
  WorkSlice work;
  work.begin = time;
  work.name = event.value("name", "");
  work.core = static_cast<int>(core);
  work.rank = static_cast<int>(number_in(args, "rank", -1));
  work.bytes = number_in(args, "bytes", 0);
  work.source = number_in(args, "source", -1);
  work.tag = number_in(args, "tag", -1);
  work.context = number_in(args, "context", -1);
  work.level = number_in(args, "level", -1);
  work.is_polling = work.name == "wait actively";
  return work;
}

Reader::Open Reader::begin_on_core(const Json& event, size_t core, double time) {
  if (event.value("cat", "").empty()) {
    auto& runs = data_.cores[core].runs;
    runs.push_back(run_of(event.value("name", ""), time));
    return {Open::kRun, runs.size() - 1};
  }
  data_.work.push_back(work_of(event, core, time));
  return {Open::kWork, data_.work.size() - 1};
}

Reader::Open Reader::begin_on_rank(const Json& event, int tid, double time) {
  if (!is_main_track(tid)) return {};
  const std::string category = event.value("cat", "");
  if (category == "mpi") {
    CallSlice call;
    call.begin = time;
    call.name = event.value("name", "");
    call.rank = tid / kTracksPerRank;
    data_.calls.push_back(call);
    return {Open::kCall, data_.calls.size() - 1};
  }
  if (category != "message" && category != "engine" && category != "direct") return {};
  data_.rank_work.push_back(work_of(event, 0, time));
  data_.rank_work.back().doer = tid / kTracksPerRank;
  return {Open::kRankWork, data_.rank_work.size() - 1};
}

void Reader::begin(const Json& event, int pid, int tid, double time) {
  auto& stack = stacks_[{pid, tid}];
  stack.push_back(is_of_cores(pid) ? begin_on_core(event, core_of(pid, tid), time)
                                   : begin_on_rank(event, tid, time));
  const auto args = event.find("args");
  if (args != event.end())
    last_ = {static_cast<int>(number_in(*args, "rank", -1)),
             number_in(*args, "bytes", 0)};
}

void Reader::end(int pid, int tid, double time) {
  auto& stack = stacks_[{pid, tid}];
  if (stack.empty()) return;
  const Open open = stack.back();
  stack.pop_back();
  switch (open.kind) {
    case Open::kCall:
      data_.calls[open.index].end = time;
      break;
    case Open::kWork:
      data_.work[open.index].end = time;
      break;
    case Open::kRankWork:
      data_.rank_work[open.index].end = time;
      break;
    case Open::kRun:
      data_.cores[core_of(pid, tid)].runs[open.index].end = time;
      break;
    case Open::kOther:
      break;
  }
}

// A message is sent, or matches its receive.
void Reader::point(const Json& event, double time) {
  if (event.value("cat", "") != "message") return;
  const Json args = event.value("args", Json::object());
  const bool is_send = event.value("name", "") == "send";
  last_ = {static_cast<int>(number_in(args, "rank", -1)), number_in(args, "bytes", 0)};
  if (!is_send && event.value("name", "") != "match") return;
  data_.points.push_back(
      {time, last_.rank,
       static_cast<int>(number_in(args, is_send ? "dest" : "source", -1)), is_send,
       last_.bytes});
}

// With two processes the end may precede the begin in the file.
void Reader::arrow(const Json& event, double time, bool is_begin) {
  const auto [found, is_new] =
      arrows_.try_emplace(event.at("id").dump(), data_.arrows.size());
  if (is_new) data_.arrows.emplace_back();
  Arrow& arrow = data_.arrows[found->second];
  (is_begin ? arrow.begin : arrow.end) = time;
  (is_begin ? arrow.from : arrow.to) = last_.rank;
  arrow.bytes = last_.bytes;
}

void Reader::messages(const Json& other) {
  const auto found = other.find("messages");
  if (found == other.end()) return;
  for (const Json& row : *found) {
    const int last = data_.ranks - 1;
    data_.messages.push_back(
        {static_cast<int>(integer_in(row.at(0), 0, last, "a rank")),
         static_cast<int>(integer_in(row.at(1), -1, last, "a rank")),
         integer_in(row.at(2), 0, kMostNumber, "a number"),
         integer_in(row.at(3), 0, kMostNumber, "a number")});
  }
}

void Reader::flight(const Json& event, int pid, double time, bool is_begin) {
  const std::string id = event.value("id", "0");
  // "NUMBER", or with several processes "PROCESS:NUMBER".
  const size_t colon = id.find(':');
  const char* const digits = id.c_str() + (colon == std::string::npos ? 0 : colon + 1);
  const Number number{process_of(pid), std::atoll(digits)};
  const bool is_collective = event.value("cat", "") == "collective";
  if (!is_begin) {
    if (is_collective)
      flights_[number].part.end = time;
    else
      nodes_[number].end = time;
    return;
  }
  const Json& args = event.at("args");
  if (is_collective) {
    Flight& flight = flights_[number];
    flight.part.begin = time;
    flight.part.rank = static_cast<int>(number_in(args, "rank", 0));
    flight.call = event.value("name", "");
    flight.context = number_in(args, "context", 0);
    flight.tag_base = number_in(args, "tag_base", 0);
  } else {
    NodeFlight& node = nodes_[number];
    node.begin = time;
    node.kind = event.value("name", "");
    node.peer = number_in(args, "peer", -1);
    node.bytes = number_in(args, "bytes", 0);
    node.level = number_in(args, "level", -1);
  }
}

// Joins the parts of all ranks that have the same tags. Tags are reused after a while, so the
// second part of a rank belongs to the second collective.
void Reader::group() {
  for (const auto& [number, node] : nodes_) {
    const auto flight = flights_.find({number.first, number.second >> 32});
    if (flight != flights_.end()) flight->second.part.nodes.push_back(node);
  }
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> known;
  std::map<std::tuple<int64_t, int64_t, int>, size_t> seen;
  for (auto& [number, flight] : flights_) {
    auto& instances = known[{flight.context, flight.tag_base}];
    const size_t turn = seen[{flight.context, flight.tag_base, flight.part.rank}]++;
    while (instances.size() <= turn) {
      instances.push_back(data_.collectives.size());
      CollectiveTrace collective;
      collective.call = flight.call;
      collective.context = flight.context;
      collective.tag_base = flight.tag_base;
      collective.begin = flight.part.begin;
      data_.collectives.push_back(collective);
    }
    CollectiveTrace& collective = data_.collectives[instances[turn]];
    collective.begin = std::min(collective.begin, flight.part.begin);
    collective.end = std::max(collective.end, flight.part.end);
    collective.parts.push_back(std::move(flight.part));
  }
  for (CollectiveTrace& collective : data_.collectives)
    std::sort(collective.parts.begin(), collective.parts.end(),
              [](const Part& a, const Part& b) { return a.rank < b.rank; });
  std::stable_sort(
      data_.collectives.begin(), data_.collectives.end(),
      [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
}

void Reader::read(const Json& file) {
  const Json& other = file.at("otherData");
  data_.program = other.value("program", "");
  data_.ranks = track_in(other, "ranks");
  data_.lost = number_in(other, "lost_events", 0);
  messages(other);
  for (const Json& event : file.at("traceEvents")) {
    const std::string phase = event.value("ph", "");
    const double time = time_of(event);
    const int pid = track_in(event, "pid"), tid = track_in(event, "tid");
    data_.end = std::max(data_.end, time);
    if (phase == "M") name_track(event);
    if (phase == "B") begin(event, pid, tid, time);
    if (phase == "E") end(pid, tid, time);
    if (phase == "b") flight(event, pid, time, true);
    if (phase == "e") flight(event, pid, time, false);
    if (phase == "i") point(event, time);
    if (phase == "s") arrow(event, time, true);
    if (phase == "f") arrow(event, time, false);
  }
  group();
}

}  // namespace

Result<TraceData> read_trace(const std::string& path) {
  TraceData data;
  MPC_TRY(load_json(path, "mpcrun --trace",
                    [&](const Json& file) { Reader(data).read(file); }));
  return data;
}

bool belongs_to(const WorkSlice& work, const CollectiveTrace& collective) {
  if (work.context >= 0) {
    return work.context == collective.context && work.tag >= collective.tag_base &&
           work.tag < collective.tag_base + nbc::kTagsPerCollective;
  }
  if (work.name == "copy" || work.name.find("reduce") != std::string::npos ||
      work.name == "application copy") {
    // Local work names only its rank: it belongs if it lies within a node of that rank's part.
    for (const Part& part : collective.parts) {
      if (part.rank != work.rank) continue;
      for (const NodeFlight& node : part.nodes)
        if (node.kind == work.name && node.begin <= work.begin && node.end >= work.end)
          return true;
    }
  }
  return false;
}

}  // namespace mpc::tools
