#include "runtime/trace/json.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/trace.h"
#include "runtime/trace/message_counts.h"
#include "runtime/trace/output.h"
#include "runtime/trace/pages.h"

namespace mpc::trace {
namespace {

struct Recorded {
  const Event* event;
  Writer writer;
};

// A rank's tracks are next to each other: its main execution, its progress thread. Other threads of
// ranks come after all of them. The idle loops of workers (which run tasks) are shown only on their
// cores.
constexpr int kTracksPerRank = 2;

// Kernel threads that were about to take a chunk when recording stopped.
constexpr size_t kLateWriters = 4096;

const char* name_of(const Event& event) noexcept {
  if (!event.site->is_named_by_value || event.values[0] == 0) return event.site->name;
  return reinterpret_cast<const char*>(event.values[0]);
}

bool is(const char* a, const char* b) noexcept { return std::strcmp(a, b) == 0; }

// The value that connects a send with its copy; 0: none.
uint64_t flow_of(const Event& event) noexcept {
  const char* last = event.site->values[kMaxValues - 1];
  return last != nullptr && is(last, "flow") ? event.values[kMaxValues - 1] : 0;
}

class JsonWriter {
 public:
  JsonWriter(int descriptor, const Job& job, size_t events) noexcept
      : out_(descriptor),
        job_(job),
        events_(events),
        // Indexed by chunks, some of which may not have their first event yet.
        writers_(detail::chunk_count() + kLateWriters),
        cores_(job.cores.size()),
        flights_(events),
        flows_(events) {}

  int write() noexcept;

 private:
  struct WriterState {
    uint32_t depth;  // of its open spans
    int tid;
    bool is_idle_loop;
  };
  struct CoreState {
    uint32_t depth;   // open slices, including that of the running execution
    uint32_t writer;  // the running one, plus 1
  };

  bool has_memory() noexcept {
    return events_.size() != 0 && writers_.size() != 0 && flights_.is_there() &&
           flows_.is_there();
  }
  void collect() noexcept;
  void names() noexcept;
  void name(int kind, int tid, const char* what, std::string_view text, int number,
            std::string_view more) noexcept;
  void one(const Recorded& recorded) noexcept;
  void run(const Recorded& recorded) noexcept;
  void span(const Recorded& recorded) noexcept;
  void flight(const Recorded& recorded) noexcept;
  void flow(const Recorded& recorded, bool is_begin) noexcept;
  void close_all() noexcept;

  // {"name":...,"ph":...,"ts":...,"pid":...,"tid":... without the end.
  // Different for each of several processes.
  int pid(int kind) const noexcept { return kind + kPidsPerProcess * job_.process; }
  Output& flight_id(uint64_t number) noexcept;
  Output& open(std::string_view event_name, const char* phase, uint64_t time_ns,
               int kind, int tid) noexcept;
  Output& open_runner(const Writer& writer, uint64_t time_ns, int core) noexcept;
  void arguments(const Recorded& recorded) noexcept;
  void begin(const Recorded& recorded, int kind, int tid) noexcept;
  void end(uint64_t time_ns, int kind, int tid) noexcept;

  int rank_of(const Writer& writer) const noexcept {
    return writer.who != nullptr ? job_.rank_of(writer.who) : -1;
  }
  int subject_of(const Recorded& r) const noexcept {
    return r.event->rank != kOwn ? r.event->rank : rank_of(r.writer);
  }
  // tid below kRanks.
  int track_of(const Writer& writer) const noexcept;
  static int track_of_rank(int rank) noexcept { return rank * kTracksPerRank; }
  bool has_core(const Event& event) noexcept {
    return event.core >= 0 && static_cast<size_t>(event.core) < cores_.size();
  }

  Output out_;
  const Job& job_;
  Pages<Recorded> events_;
  Pages<WriterState> writers_;
  Pages<CoreState> cores_;
  Table flights_;  // number -> rank + 1 while open
  Table flows_;    // address of the send -> number of the arrow
  size_t count_ = 0;
  uint64_t first_ns_ = 0, last_ns_ = 0;
  int64_t flow_count_ = 0;
  bool is_first_ = true;
};

// ---- tracks --------------------------------------------------------------------------------

int JsonWriter::track_of(const Writer& writer) const noexcept {
  const int rank = rank_of(writer);
  if (rank >= 0 && writer.role == Role::kRank) return track_of_rank(rank);
  if (rank >= 0 && writer.role == Role::kProgress) return track_of_rank(rank) + 1;
  return job_.rank_count * kTracksPerRank + static_cast<int>(writer.number);
}

void JsonWriter::name(int kind, int tid, const char* what, std::string_view text,
                      int number, std::string_view more) noexcept {
  open(what, "M", first_ns_, kind, tid) << ",\"args\":{\"name\":\"" << text;
  if (number >= 0) out_ << number;
  out_ << more << "\"}}";
}

void JsonWriter::names() noexcept {
  const bool is_one = job_.processes == 1;
  const int process = is_one ? -1 : job_.process;
  name(kCores, 0, "process_name", is_one ? "cores" : "cores of process ", process, "");
  name(kRanks, 0, "process_name", is_one ? "ranks" : "ranks of process ", process, "");
  for (size_t i = 0; i < job_.cores.size(); ++i) {
    const bool has_ranks = static_cast<int>(i) < job_.application_workers;
    name(kCores, static_cast<int>(i), "thread_name", "core ", job_.cores[i],
         has_ranks ? " (application)" : " (communication)");
  }
  for (int rank = job_.first_rank; rank < job_.end_rank(); ++rank) {
    name(kRanks, track_of_rank(rank), "thread_name", "rank ", rank, "");
    name(kRanks, track_of_rank(rank) + 1, "thread_name", "rank ", rank, " progress");
  }
  for (size_t i = 0; i < count_; ++i) {
    const Writer& writer = events_[i].writer;
    WriterState& state = writers_[writer.number];
    if (state.tid != 0) continue;
    const int track = track_of(writer);
    state.tid = track + 1;
    state.is_idle_loop = writer.role == Role::kIdle;
    const int rank = rank_of(writer);
    if (track < job_.rank_count * kTracksPerRank || writer.role == Role::kIdle)
      continue;  // named above, or only seen on a core
    name(kRanks, track, "thread_name", rank >= 0 ? "a thread of rank " : "runtime",
         rank, "");
  }
}

// ---- events --------------------------------------------------------------------------------

Output& JsonWriter::open(std::string_view event_name, const char* phase,
                         uint64_t time_ns, int kind, int tid) noexcept {
  out_ << (is_first_ ? "" : ",\n");
  is_first_ = false;
  out_ << "{\"name\":";
  out_.quoted(event_name);
  out_ << ",\"ph\":\"" << phase << "\",\"ts\":";
  out_.micros(time_ns - first_ns_);
  return out_ << ",\"pid\":" << pid(kind) << ",\"tid\":" << tid;
}

Output& JsonWriter::open_runner(const Writer& writer, uint64_t time_ns,
                                int core) noexcept {
  char text[40] = "rank ";
  const int rank = rank_of(writer);
  if (writer.role == Role::kIdle || rank < 0)
    return open(writer.role == Role::kIdle ? "idle" : "runtime", "B", time_ns, kCores,
                core);
  size_t length = 5;
  char digits[12];
  size_t n = 0;
  for (int left = rank; n == 0 || left != 0; left /= 10)
    digits[n++] = static_cast<char>('0' + left % 10);
  while (n > 0) text[length++] = digits[--n];
  std::string_view end;
  if (writer.role == Role::kProgress) end = " progress";
  if (writer.role == Role::kUnknown) end = " thread";
  std::copy(end.begin(), end.end(), text + length);
  return open({text, length + end.size()}, "B", time_ns, kCores, core);
}

void JsonWriter::end(uint64_t time_ns, int kind, int tid) noexcept {
  out_ << ",\n{\"ph\":\"E\",\"ts\":";
  out_.micros(time_ns - first_ns_);
  out_ << ",\"pid\":" << pid(kind) << ",\"tid\":" << tid << "}";
}

void JsonWriter::arguments(const Recorded& recorded) noexcept {
  const Event& event = *recorded.event;
  out_ << ",\"args\":{";
  bool is_first = true;
  for (int i = event.site->is_named_by_value ? 1 : 0; i < kMaxValues; ++i) {
    const char* value_name = event.site->values[i];
    if (value_name == nullptr) continue;
    if (event.values[i] == 0 && is(value_name, "repeated")) continue;
    out_ << (is_first ? "" : ",");
    out_.quoted(value_name) << ":" << event.values[i];
    is_first = false;
  }
  const int subject = subject_of(recorded);
  if (subject >= 0)
    out_ << (is_first ? "" : ",") << "\"rank\":" << subject, is_first = false;
  if (event.core >= 0)
    out_ << (is_first ? "" : ",") << "\"worker\":" << int{event.core};
  out_ << "}";
}

void JsonWriter::begin(const Recorded& recorded, int kind, int tid) noexcept {
  open(name_of(*recorded.event), "B", recorded.event->time_ns, kind, tid)
      << ",\"cat\":";
  out_.quoted(recorded.event->site->layer);
  arguments(recorded);
  out_ << "}";
}

// Another execution runs on a core: ends the slices that are open there.
void JsonWriter::run(const Recorded& recorded) noexcept {
  const Event& event = *recorded.event;
  if (!has_core(event)) return;
  CoreState& core = cores_[static_cast<size_t>(event.core)];
  if (core.writer == recorded.writer.number + 1) return;
  for (; core.depth > 0; --core.depth) end(event.time_ns, kCores, event.core);
  open_runner(recorded.writer, event.time_ns, event.core) << "}";
  core.depth = 1;
  core.writer = recorded.writer.number + 1;
}

void JsonWriter::span(const Recorded& recorded) noexcept {
  const Event& event = *recorded.event;
  WriterState& writer = writers_[recorded.writer.number];
  const bool is_begin = event.kind == Kind::kBegin;
  if (!is_begin && writer.depth == 0) return;  // its begin came before the trace
  is_begin ? ++writer.depth : --writer.depth;
  if (recorded.writer.role != Role::kIdle) {
    const int track = track_of(recorded.writer);
    is_begin ? begin(recorded, kRanks, track) : end(event.time_ns, kRanks, track);
  }
  if (is_begin) flow(recorded, false);
  if (!event.site->is_work || !has_core(event)) return;
  CoreState& core = cores_[static_cast<size_t>(event.core)];
  if (core.writer != recorded.writer.number + 1) return;
  if (is_begin) {
    begin(recorded, kCores, event.core);
    ++core.depth;
  } else if (core.depth > 1) {
    end(event.time_ns, kCores, event.core);
    --core.depth;
  }
}

// Viewers join events with the same id, in any process.
Output& JsonWriter::flight_id(uint64_t number) noexcept {
  out_ << "\"id\":\"";
  if (job_.processes > 1) out_ << job_.process << ":";
  return out_ << number << "\"";
}

void JsonWriter::flight(const Recorded& recorded) noexcept {
  const Event& event = *recorded.event;
  const bool is_begin = event.kind == Kind::kFlightBegin;
  const uint64_t number = event.values[kMaxValues - 1];
  const int rank = std::max(subject_of(recorded), 0);
  uint64_t& is_open = flights_[number];
  if ((is_open != 0) == is_begin) return;
  is_open = is_begin ? static_cast<uint64_t>(rank) + 1 : 0;
  open(name_of(event), is_begin ? "b" : "e", event.time_ns, kRanks, track_of_rank(rank))
      << ",\"cat\":";
  out_.quoted(event.site->name) << ",";
  flight_id(number);
  if (is_begin) arguments(recorded);
  out_ << "}";
}

// An arrow from the moment of a send to the copy of its data. A number with the upper bit set is
// known to both processes; the other end may be in another file.
void JsonWriter::flow(const Recorded& recorded, bool is_begin) noexcept {
  const Event& event = *recorded.event;
  const uint64_t send = flow_of(event);
  if (send == 0) return;
  const bool is_common = job_.processes > 1 && send >> 63 != 0;
  uint64_t& arrow = flows_[send];
  if (is_begin && !is_common) arrow = static_cast<uint64_t>(++flow_count_);
  if (arrow == 0 && !is_common) return;
  const bool is_idle_loop = recorded.writer.role == Role::kIdle;
  open("message", is_begin ? "s" : "f", event.time_ns, is_idle_loop ? kCores : kRanks,
       is_idle_loop ? event.core : track_of(recorded.writer))
      << ",\"cat\":\"message\",\"id\":";
  if (is_common)
    out_ << "\"common " << (send & ~(uint64_t{1} << 63)) << "\"";
  else if (job_.processes > 1)
    out_ << "\"" << job_.process << " " << arrow << "\"";
  else
    out_ << arrow;
  out_ << (is_begin ? "}" : ",\"bp\":\"e\"}");
  if (!is_begin && !is_common) arrow = 0;
}

void JsonWriter::one(const Recorded& recorded) noexcept {
  const Event& event = *recorded.event;
  switch (event.kind) {
    case Kind::kRun:
      return run(recorded);
    case Kind::kBegin:
    case Kind::kEnd:
      return span(recorded);
    case Kind::kFlightBegin:
    case Kind::kFlightEnd:
      return flight(recorded);
    case Kind::kInstant:
      break;
  }
  const bool is_idle_loop = recorded.writer.role == Role::kIdle;
  if (is_idle_loop && !has_core(event)) return;
  open(name_of(event), "i", event.time_ns, is_idle_loop ? kCores : kRanks,
       is_idle_loop ? event.core : track_of(recorded.writer))
      << ",\"s\":\"t\",\"cat\":";
  out_.quoted(event.site->layer);
  arguments(recorded);
  out_ << "}";
  flow(recorded, true);
}

void JsonWriter::close_all() noexcept {
  for (size_t core = 0; core < cores_.size(); ++core)
    for (; cores_[core].depth > 0; --cores_[core].depth)
      end(last_ns_, kCores, static_cast<int>(core));
  for (WriterState& writer : writers_)
    for (; writer.depth > 0 && !writer.is_idle_loop; --writer.depth)
      end(last_ns_, kRanks, writer.tid - 1);
  flights_.for_each([&](uint64_t number, uint64_t rank) {
    const bool is_node = number >> 32 != 0;
    open("unfinished", "e", last_ns_, kRanks, track_of_rank(static_cast<int>(rank) - 1))
        << ",\"cat\":" << (is_node ? "\"node\"," : "\"collective\",");
    flight_id(number) << "}";
  });
}

void JsonWriter::collect() noexcept {
  for_each([&](const Event& event, const Writer& writer) {
    if (count_ < events_.size() && writer.number < writers_.size())
      events_[count_++] = {&event, writer};
  });
  // Events of one execution keep their order, even if their times are equal.
  std::sort(events_.begin(), events_.begin() + count_,
            [](const Recorded& a, const Recorded& b) {
              return a.event->time_ns != b.event->time_ns
                         ? a.event->time_ns < b.event->time_ns
                         : a.event < b.event;
            });
  first_ns_ = count_ > 0 ? events_[0].event->time_ns : 0;
  if (job_.begin_ns != 0) first_ns_ = std::min(first_ns_, job_.begin_ns);
  last_ns_ = count_ > 0 ? events_[count_ - 1].event->time_ns : 0;
}

int JsonWriter::write() noexcept {
  if (!has_memory()) return ENOMEM;
  collect();
  out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":";
  out_.quoted(job_.command) << ",\"ranks\":" << job_.rank_count
                            << ",\"events\":" << count_
                            << ",\"lost_events\":" << lost_count();
  write_messages(out_);
  out_ << "},\n\"traceEvents\":[\n";
  names();
  for (size_t i = 0; i < count_; ++i) one(events_[i]);
  close_all();
  out_ << "\n]}\n";
  out_.flush();
  return out_.error();
}

}  // namespace

int write_json(int descriptor, const Job& job) noexcept {
  size_t events = 0;
  for_each([&](const Event&, const Writer&) { ++events; });
  JsonWriter writer(descriptor, job, events + 1);
  return writer.write();
}

}  // namespace mpc::trace
