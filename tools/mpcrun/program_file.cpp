#include "tools/mpcrun/program_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace mpc::tools {
namespace {

using Words = std::vector<std::string>;

// nullopt: a quote is not closed, or nothing follows a '\' at the end.
std::optional<Words> cut(const std::string& line) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'') {
      if (++i == line.size()) return std::nullopt;
      word += line[i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::exchange(word, ""));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(word);
  return words;
}

bool is_comment(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] == '#';
}

// A line with its continuation lines; false: the end of the file.
bool take_line(std::istream& in, std::string& line, int& number) {
  line.clear();
  for (std::string part; std::getline(in, part);) {
    ++number;
    if (line.empty() && is_comment(part)) continue;
    if (!part.empty() && part.back() == '\r') part.pop_back();
    const bool goes_on = !part.empty() && part.back() == '\\';
    if (goes_on) part.back() = ' ';
    line += part;
    if (!goes_on) return true;
  }
  return !line.empty();
}

}  // namespace

Result<std::vector<Words>> read_program_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  // A folder can be opened, but not read.
  if (!in || (in.peek() == std::istream::traits_type::eof() && !in.eof()))
    return {Errc::kArg, fmt::format("{}: cannot be read: {}", path,
                                    std::strerror(errno != 0 ? errno : EIO))};
  std::vector<Words> programs;
  std::string line;
  for (int number = 0; take_line(in, line, number);) {
    const auto words = cut(line);
    if (!words)
      return {Errc::kArg,
              fmt::format("{}:{}: a quote has no end: {}", path, number, line)};
    // One line may have several programs, as the command line may.
    bool is_new = true;
    for (const std::string& word : *words) {
      if (word == ":") {
        is_new = true;
        continue;
      }
      if (std::exchange(is_new, false)) programs.emplace_back();
      programs.back().push_back(word);
    }
  }
  if (programs.empty())
    return {Errc::kArg,
            fmt::format("{}: names no program; a line is a program with its "
                        "options, as in: -n 4 ./prog",
                        path)};
  return programs;
}

}  // namespace mpc::tools
