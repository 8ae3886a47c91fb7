#include "tools/mpcinfo/trace_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mpc::tools {
namespace {

constexpr double kLeft = 170, kWidth = 1000, kRight = 30;
constexpr double kTop = 96, kCoreRow = 54, kRankRow = 22, kGap = 10;
constexpr size_t kMostRanks = 64;  // rows of ranks; more would be unreadable

// Colours: strong for work that moves data, pale for time that passes.
constexpr const char* kCopy = "#1f77b4";
constexpr const char* kReduce = "#d95f02";
constexpr const char* kLocal = "#7b4fa3";
constexpr const char* kOther = "#9aa5b1";
constexpr const char* kCompute = "#cfe8cf";
constexpr const char* kCall = "#f3c6c6";
constexpr const char* kProgress = "#e3ecf7";
constexpr const char* kIdle = "#ffffff";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

const char* colour_of(const WorkSlice& work) {
  if (work.name.find("reduce") != std::string::npos) return kReduce;
  return work.context >= 0 ? kCopy : kLocal;
}

class Picture {
 public:
  Picture(const TraceData& data, const CollectiveTrace& collective, size_t number)
      : data_(data),
        collective_(collective),
        number_(number),
        summary_(summarize(data, collective)),
        window_(summary_.window) {
    // A margin on both sides, which shows how it began.
    const double air = (window_.end - window_.begin) * 0.03 + 1;
    window_.begin = std::max(0.0, window_.begin - air);
    window_.end = std::min(data.end, window_.end + air);
    // Never of zero width, even if no time passed: other numbers are divided by it.
    window_.end = std::max(window_.end, window_.begin + 1);
  }
  std::string draw();

 private:
  double x(double time) const {
    const double share = (time - window_.begin) / (window_.end - window_.begin);
    return kLeft + kWidth * std::clamp(share, 0.0, 1.0);
  }
  double rank_top() const {
    return kTop + static_cast<double>(data_.cores.size()) * (kCoreRow + kGap) + 18;
  }
  size_t rank_rows() const { return std::min(collective_.parts.size(), kMostRanks); }
  double bottom() const {
    return rank_top() + static_cast<double>(rank_rows()) * (kRankRow + 4) + 8;
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void box(const Interval& when, double y, double height, const char* colour,
           const std::string& title, const char* more = "");
  void label(double at_x, double at_y, const std::string& text, const char* more = "");
  void header();
  void axis();
  void core(size_t index);
  void rank(size_t row);
  void legend();

  const TraceData& data_;
  const CollectiveTrace& collective_;
  const size_t number_;
  const Summary summary_;
  Interval window_;
  std::string out_;
};

void Picture::box(const Interval& when, double y, double height, const char* colour,
                  const std::string& title, const char* more) {
  if (when.overlap(window_) <= 0) return;
  const double left = x(when.begin), width = std::max(x(when.end) - left, 0.4);
  add("<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{:.1f}' fill='{}' {}>"
      "<title>{}</title></rect>",
      left, y, width, height, colour, more, escaped(title));
}

void Picture::label(double at_x, double at_y, const std::string& text,
                    const char* more) {
  add("<text x='{:.1f}' y='{:.1f}' {}>{}</text>", at_x, at_y, more, escaped(text));
}

void Picture::header() {
  label(
      20, 26,
      fmt::format("{} (collective {} of the trace): {} rank{}, messages of {}",
                  collective_.call, number_, collective_.parts.size(),
                  collective_.parts.size() == 1 ? "" : "s", bytes_text(summary_.bytes)),
      "font-size='17' font-weight='bold'");
  const double work = summary_.communication_us + summary_.application_us;
  label(
      20, 46,
      fmt::format(
          "{:.0f} us from the first start to the last end; {:.0f} us of work, {:.0f} % "
          "of it on communication cores",
          summary_.window.end - summary_.window.begin, work,
          work > 0 ? 100 * summary_.communication_us / work : 0.0));
  label(20, 64,
        fmt::format("meanwhile a rank had its core outside of MPI for up to {:.0f} us, "
                    "and was in "
                    "MPI calls for up to {:.0f} us",
                    summary_.computed_us, summary_.in_calls_us));
}

void Picture::axis() {
  const double span = window_.end - window_.begin;
  double step = std::pow(10, std::floor(std::log10(span / 5)));
  for (const double factor : {2.0, 2.5, 2.0})
    if (span / step > 12) step *= factor;
  const double y = bottom();
  add("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#444'/>", kLeft, y,
      kLeft + kWidth, y);
  const double zero = summary_.window.begin;
  for (double t = 0; zero + t <= window_.end; t += step) {
    add("<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2:.1f}' stroke='#bbb' "
        "stroke-dasharray='2,4'/>",
        x(zero + t), kTop - 6, y + 5);
    label(x(zero + t), y + 18, fmt::format("{:g}", t), "text-anchor='middle'");
  }
  label(kLeft + kWidth / 2, y + 36, "microseconds since the first rank started it",
        "text-anchor='middle'");
}

// A core's row: what had the core (pale), below it the work done there (strong).
void Picture::core(size_t index) {
  const CoreTrack& track = data_.cores[index];
  const double y = kTop + static_cast<double>(index) * (kCoreRow + kGap);
  const auto space = track.name.find(" (");
  label(20, y + 20, track.name.substr(0, space), "font-weight='bold'");
  label(20, y + 36, track.is_communication ? "communication" : "application",
        "fill='#555'");
  for (const RunSlice& run : track.runs) {
    if (run.overlap(window_) <= 0) continue;
    const char* colour = kIdle;
    std::string title = "idle";
    if (run.kind == RunSlice::kRank) {
      colour = kCompute;
      title = fmt::format("rank {} has the core, outside of MPI", run.rank);
    } else if (run.kind == RunSlice::kProgress) {
      colour = kProgress;
      title = fmt::format("progress thread of rank {} has the core", run.rank);
    }
    box(run, y, kCoreRow, colour, title);
    if (run.kind != RunSlice::kRank) continue;
    for (const CallSlice& call : data_.calls) {
      if (call.rank != run.rank || call.overlap(run) <= 0) continue;
      Interval part;
      part.begin = std::max(call.begin, run.begin);
      part.end = std::min(call.end, run.end);
      box(part, y, kCoreRow, kCall, fmt::format("rank {} in {}", run.rank, call.name));
    }
    if (x(run.end) - x(run.begin) > 46)
      label(std::max(x(run.begin), kLeft) + 3, y + 11, fmt::format("rank {}", run.rank),
            "font-size='10' fill='#555'");
  }
  for (const WorkSlice& work : data_.work) {
    if (work.core != static_cast<int>(index) || work.is_polling) continue;
    const bool moves_data = work.context >= 0 || work.level >= 0;
    if (!moves_data || work.overlap(window_) <= 0) continue;
    const bool is_ours = belongs_to(work, collective_);
    std::string title =
        fmt::format("{} of {}, {:.1f} us, for rank {}", work.name,
                    bytes_text(work.bytes), work.end - work.begin, work.rank);
    if (work.source >= 0) title += fmt::format(" from {}", work.source);
    if (!is_ours) title += " (another message)";
    box(work, y + 16, kCoreRow - 20, is_ours ? colour_of(work) : kOther, title,
        is_ours ? "stroke='#fff' stroke-width='0.3'" : "");
  }
  add("<rect x='{}' y='{:.1f}' width='{}' height='{}' fill='none' stroke='{}'/>", kLeft,
      y, kWidth, kCoreRow, track.is_communication ? "#1f4e8c" : "#2e7d32");
}

// A rank's row: the time of the collective for it, and its MPI calls.
void Picture::rank(size_t row) {
  const Part& part = collective_.parts[row];
  const double y = rank_top() + static_cast<double>(row) * (kRankRow + 4);
  label(20, y + 15, fmt::format("rank {}", part.rank));
  box(part, y + kRankRow - 6, 4, "#555",
      fmt::format("under way for rank {}: {:.1f} us", part.rank,
                  part.end - part.begin));
  for (const CallSlice& call : data_.calls) {
    if (call.rank != part.rank || call.overlap(window_) <= 0) continue;
    box(call, y, kRankRow - 8, kCall,
        fmt::format("{}: {:.1f} us", call.name, call.end - call.begin),
        "stroke='#b55' stroke-width='0.5'");
    if (x(call.end) - x(call.begin) > 70)
      label(std::max(x(call.begin), kLeft) + 3, y + 11, call.name, "font-size='10'");
  }
}

void Picture::legend() {
  struct Entry {
    const char* colour;
    const char* text;
  };
  constexpr Entry kEntries[] = {
      {kCopy, "message copied"},     {kReduce, "reduction"},
      {kLocal, "local copy"},        {kOther, "other messages"},
      {kCompute, "rank computes"},   {kCall, "rank in MPI"},
      {kProgress, "progress thread"}};
  double at = kLeft;
  for (const Entry& entry : kEntries) {
    add("<rect x='{:.0f}' y='{:.1f}' width='12' height='12' fill='{}' stroke='#999' "
        "stroke-width='0.5'/>",
        at, bottom() + 48, entry.colour);
    label(at + 17, bottom() + 58, entry.text);
    at += 140;
  }
}

std::string Picture::draw() {
  add("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1:.0f}' "
      "viewBox='0 0 {0} {1:.0f}' font-family='sans-serif' font-size='12' "
      "stroke='none'>",
      kLeft + kWidth + kRight, bottom() + 76);
  add("<rect width='100%' height='100%' fill='white'/>");
  header();
  for (size_t i = 0; i < data_.cores.size(); ++i) core(i);
  for (size_t row = 0; row < rank_rows(); ++row) rank(row);
  axis();
  legend();
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 10 << 20)
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
    return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} bytes", bytes);
}

Summary summarize(const TraceData& data, const CollectiveTrace& collective) {
  Summary summary;
  summary.window = collective;
  // In a damaged file it may end before it begins.
  summary.window.end = std::max(summary.window.end, summary.window.begin);
  for (const Part& part : collective.parts) {
    for (const NodeFlight& node : part.nodes)
      summary.bytes = std::max(summary.bytes, node.bytes);
    // The call in which the rank learns that it is over.
    for (const CallSlice& call : data.calls)
      if (call.rank == part.rank && call.begin <= part.end && call.end > part.end)
        summary.window.end = std::max(summary.window.end, call.end);
  }
  for (const WorkSlice& work : data.work) {
    if (!belongs_to(work, collective)) continue;
    const bool apart = data.cores[static_cast<size_t>(work.core)].is_communication;
    (apart ? summary.communication_us : summary.application_us) +=
        work.end - work.begin;
  }
  for (const Part& part : collective.parts) {
    double in_calls = 0, has_core = 0, has_core_in_calls = 0;
    for (const CallSlice& call : data.calls)
      if (call.rank == part.rank) in_calls += call.overlap(summary.window);
    for (const CoreTrack& core : data.cores)
      for (const RunSlice& run : core.runs) {
        if (run.kind != RunSlice::kRank || run.rank != part.rank) continue;
        has_core += run.overlap(part);
        for (const CallSlice& call : data.calls) {
          if (call.rank != part.rank) continue;
          Interval both;
          both.begin = std::max(call.begin, run.begin);
          both.end = std::min(call.end, run.end);
          has_core_in_calls += both.overlap(part);
        }
      }
    summary.in_calls_us = std::max(summary.in_calls_us, in_calls);
    summary.computed_us = std::max(summary.computed_us, has_core - has_core_in_calls);
  }
  return summary;
}

std::string collective_svg(const TraceData& data, size_t number) {
  return Picture(data, data.collectives[number], number).draw();
}

}  // namespace mpc::tools
