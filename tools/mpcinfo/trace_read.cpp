#include "tools/mpcinfo/trace_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "nbc/schedule/schedule.h"

namespace mpc::tools {
namespace {

using Json = nlohmann::json;

constexpr int kCores = 1;          // the first of the file's "processes"; 2: ranks
constexpr int kTracksPerRank = 2;  // a rank's main execution and its progress thread

// No trace has as many tracks or lasts as long; sums of what is smaller do not overflow.
constexpr int kMostTracks = 1 << 20;
constexpr double kLatestUs = 1e15;
constexpr int64_t kMostNumber = int64_t{1} << 53;

int64_t number_in(const Json& args, const char* name, int64_t fallback) {
  const auto found = args.find(name);
  if (found == args.end() || !found->is_number_integer()) return fallback;
  const auto number = found->get<int64_t>();
  return number >= -kMostNumber && number <= kMostNumber ? number : fallback;
}

// These two throw, as nlohmann-json does where something is missing.
int track_in(const Json& object, const char* name) {
  const int64_t number = number_in(object, name, 0);
  if (number < 0 || number > kMostTracks) throw std::out_of_range(name);
  return static_cast<int>(number);
}
double time_of(const Json& event) {
  const double time = event.value("ts", 0.0);
  if (!(time >= 0 && time <= kLatestUs)) throw std::out_of_range("ts");
  return time;
}

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
    bool is_call, is_work;
    size_t index;
  };
  void name_track(const Json& event);
  void begin(const Json& event, int pid, int tid, double time);
  void end(int pid, int tid, double time);
  void flight(const Json& event, double time, bool is_begin);
  void group();

  TraceData& data_;
  std::map<std::pair<int, int>, std::vector<Open>> stacks_;
  struct Flight {
    Part part;
    std::string call;
    int64_t context = 0, tag_base = 0;
  };
  std::map<int64_t, Flight> flights_;
  std::map<int64_t, NodeFlight> nodes_;  // by number
};

void Reader::name_track(const Json& event) {
  if (event.value("name", "") != "thread_name" || track_in(event, "pid") != kCores)
    return;
  const auto core = static_cast<size_t>(track_in(event, "tid"));
  if (data_.cores.size() <= core) data_.cores.resize(core + 1);
  CoreTrack& track = data_.cores[core];
  track.name = event.at("args").value("name", "");
  track.is_communication = track.name.find("communication") != std::string::npos;
}

void Reader::begin(const Json& event, int pid, int tid, double time) {
  Open open{false, false, 0};
  auto& stack = stacks_[{pid, tid}];
  const std::string category = event.value("cat", "");
  if (pid == kCores && category.empty()) {
    auto& runs = data_.cores.at(static_cast<size_t>(tid)).runs;
    open.index = runs.size();
    runs.push_back(run_of(event.value("name", ""), time));
  } else if (pid == kCores) {
    (void)data_.cores.at(static_cast<size_t>(tid));  // the picture has a row for it
    const Json args = event.value("args", Json::object());
    WorkSlice work;
    work.begin = time;
    work.name = event.value("name", "");
    work.core = tid;
    work.rank = static_cast<int>(number_in(args, "rank", -1));
    work.bytes = number_in(args, "bytes", 0);
    work.source = number_in(args, "source", -1);
    work.tag = number_in(args, "tag", -1);
    work.context = number_in(args, "context", -1);
    work.level = number_in(args, "level", -1);
    work.is_polling = work.name == "wait actively";
    open = {false, true, data_.work.size()};
    data_.work.push_back(work);
  } else if (category == "mpi" && tid % kTracksPerRank == 0 &&
             tid < data_.ranks * kTracksPerRank) {
    open = {true, false, data_.calls.size()};
    CallSlice call;
    call.begin = time;
    call.name = event.value("name", "");
    call.rank = tid / kTracksPerRank;
    data_.calls.push_back(call);
  }
  stack.push_back(open);
}

void Reader::end(int pid, int tid, double time) {
  auto& stack = stacks_[{pid, tid}];
  if (stack.empty()) return;
  const Open open = stack.back();
  stack.pop_back();
  if (open.is_call)
    data_.calls[open.index].end = time;
  else if (open.is_work)
    data_.work[open.index].end = time;
  else if (pid == kCores)
    data_.cores[static_cast<size_t>(tid)].runs[open.index].end = time;
}

void Reader::flight(const Json& event, double time, bool is_begin) {
  const int64_t number = std::atoll(event.value("id", "0").c_str());
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

// The parts of all ranks with the same tags; tags come again after a while, so the second one
// of a rank belongs to the second collective.
void Reader::group() {
  for (const auto& [number, node] : nodes_) {
    const auto flight = flights_.find(number >> 32);
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
  for (const Json& event : file.at("traceEvents")) {
    const std::string phase = event.value("ph", "");
    const double time = time_of(event);
    const int pid = track_in(event, "pid"), tid = track_in(event, "tid");
    data_.end = std::max(data_.end, time);
    if (phase == "M") name_track(event);
    if (phase == "B") begin(event, pid, tid, time);
    if (phase == "E") end(pid, tid, time);
    if (phase == "b") flight(event, time, true);
    if (phase == "e") flight(event, time, false);
  }
  group();
}

}  // namespace

Result<TraceData> read_trace(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (exists(status) &&
      !is_regular_file(status))  // a FIFO would wait for who writes to it
    return {Errc::kArg, path + " is no regular file"};
  std::ifstream file(path);
  if (!file)
    return {Errc::kNotFound, fmt::format("{}: {}", path, std::strerror(errno))};
  TraceData data;
  try {
    Reader(data).read(Json::parse(file));
  } catch (const Json::parse_error&) {
    return {Errc::kArg,
            path + " is no file of mpcrun --trace: it is no JSON, or was cut"};
  } catch (const std::exception&) {
    return {Errc::kArg, path + " is no file of mpcrun --trace"};
  }
  return data;
}

bool belongs_to(const WorkSlice& work, const CollectiveTrace& collective) {
  if (work.context >= 0) {
    return work.context == collective.context && work.tag >= collective.tag_base &&
           work.tag < collective.tag_base + nbc::kTagsPerCollective;
  }
  if (work.name == "copy" || work.name.find("reduce") != std::string::npos ||
      work.name == "application copy") {
    // Local work names its rank only: it is one of the nodes of that rank's part.
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
