#include "runtime/job/rank_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/settings.h"

namespace mpc::job {
namespace {

constexpr char kKnown[] = "rRhtog%";

std::string fault_of_pattern(std::string_view text) {
  return OutputPattern(std::string(text)).fault();
}

BoolSetting g_label{
    "job.label", false,
    "Begin each line that a rank prints with its number (mpcrun --label)."};
StringSetting g_label_pattern{
    "job.label_pattern", "[%r] ",
    "What stands before each line with job.label: %r is the rank, %R the same with "
    "leading zeros, %h the host, %t the time, %o stdout or stderr (mpcrun "
    "--label-pattern)",
    "any text", &fault_of_pattern};
StringSetting g_output_file{
    "job.output_file", "",
    "The file for what ranks write to standard output, with %r and the like as in "
    "job.label_pattern (mpcrun --output-file)",
    "a file's name, or nothing", &fault_of_pattern};
StringSetting g_error_file{"job.error_file", "",
                           "The same for standard error (mpcrun --error-file)",
                           "a file's name, or nothing", &fault_of_pattern};
BoolSetting g_copy{"job.output_copy", false,
                   "What goes to job.output_file and job.error_file is printed, too "
                   "(mpcrun --copy-output)"};

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string time_text() {
  const time_t now = ::time(nullptr);
  tm parts{};
  ::localtime_r(&now, &parts);
  char text[64];
  return {text, ::strftime(text, sizeof text, "%F %T", &parts)};
}

std::string padded(int rank, int ranks) {
  const auto width = std::to_string(ranks).size();
  return fmt::format("{:0{}}", rank, width);
}

const StringSetting& file_of(int fd) noexcept {
  return fd == STDERR_FILENO ? g_error_file : g_output_file;
}

bool is_of_one_rank(const OutputPattern& pattern) {
  return pattern.has('r') || pattern.has('R');
}

Result<int> open_file(const std::string& path, int flags) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // open() says what is wrong
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty())
    fs::create_directories(folder, ignored);
  constexpr mode_t kMode = 0666;  // less the umask
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, kMode);
  if (fd >= 0) return fd;
  return {Errc::kSystem, fmt::format("{}: {}", path, std::strerror(errno))};
}

}  // namespace

std::string OutputPattern::fault() const {
  for (size_t i = 0; (i = text_.find('%', i)) != std::string::npos; i += 2) {
    const char what = i + 1 < text_.size() ? text_[i + 1] : ' ';
    if (std::strchr(kKnown, what) == nullptr || what == 0)
      return fmt::format(
          "has '%{}', which stands for nothing; there are %r (rank), %R (with leading "
          "zeros), %h (host), %t (time), %o (stdout or stderr), %%",
          what);
  }
  return "";
}

bool OutputPattern::has(char what) const noexcept {
  for (size_t i = 0; (i = text_.find('%', i)) != std::string::npos; i += 2)
    if (i + 1 < text_.size() && text_[i + 1] == what) return true;
  return false;
}

std::string OutputPattern::fill(const Values& values) const {
  std::string out;
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] != '%' || i + 1 == text_.size()) {
      out += text_[i];
      continue;
    }
    switch (text_[++i]) {
      case 'r':
        out += std::to_string(values.rank);
        break;
      case 'R':
        out += padded(values.rank, values.ranks);
        break;
      case 'h':
        out += host_name();
        break;
      case 't':
        out += time_text();
        break;
      case 'o':
        out += values.fd == STDERR_FILENO ? "stderr" : "stdout";
        break;
      case 'g':
        out += '0';
        break;
      default:
        out += text_[i];
    }
  }
  return out;
}

LineLabel::LineLabel(const OutputPattern::Values& values)
    : pattern_(g_label_pattern.get()),
      values_(values),
      is_there_(g_label.get()),
      has_time_(pattern_.has('t')),
      fixed_(is_there_ && !has_time_ ? pattern_.fill(values) : "") {}

bool has_output_files() {
  return !g_output_file.get().empty() || !g_error_file.get().empty();
}

Result<int> open_output_file(const OutputPattern::Values& values) {
  const std::string text = file_of(values.fd).get();
  if (text.empty()) return -1;
  const OutputPattern pattern(text);
  // Not emptied where its other stream, or another rank, may have written already.
  const bool is_own = is_of_one_rank(pattern) &&
                      (values.fd == STDOUT_FILENO || text != g_output_file.get());
  return open_file(pattern.fill(values), O_APPEND | (is_own ? O_TRUNC : 0));
}

bool is_output_copied() noexcept { return g_copy.get(); }

bool is_output_setting(std::string_view assignment) noexcept {
  return assignment.starts_with("job.label") || assignment.starts_with("job.output_") ||
         assignment.starts_with("job.error_file");
}

Result<> empty_shared_output_files(int ranks) {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    const OutputPattern pattern(file_of(fd).get());
    const std::string path = pattern.fill({0, ranks, fd});
    if (path.empty() || is_of_one_rank(pattern)) continue;
    auto opened = open_file(path, O_TRUNC);
    MPC_TRY(opened);
    ::close(*opened);
  }
  return {};
}

}  // namespace mpc::job
