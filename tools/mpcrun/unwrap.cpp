#include "tools/mpcrun/unwrap.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace mpc::tools {
namespace {

using Words = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_assignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<long>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// Is `name` a program? A built-in word of the shell (cd, if) is not.
bool is_program(const std::string& name) {
  return name.find('/') != std::string::npos || !find_in_path(name).empty();
}

// Removes NAME=VALUE ... from the beginning of `words`, and returns them.
Environment take_assignments(Words& words) {
  Environment out;
  auto next = words.begin();
  for (; next != words.end() && is_assignment(*next); ++next) {
    const size_t equals = next->find('=');
    out.emplace_back(next->substr(0, equals), next->substr(equals + 1));
  }
  words.erase(words.begin(), next);
  return out;
}

// The command behind env or a shell, with the variables that these add; no words: the command
// cannot be determined.
std::pair<Words, Environment> look_behind(const std::string& program,
                                          const Words& args) {
  Words words;
  if (base_name(program) == "env") {
    words = args;
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
  } else if (is_shell(program) && args.size() == 2 && args[0] == "-c") {
    words = plain_command(args[1]).value_or(Words{});
  }
  Environment environment = take_assignments(words);
  if (is_shell(program) && words.size() > 1 && words.front() == "exec")
    words.erase(words.begin());
  if (words.empty() || words.front().compare(0, 1, "-") == 0 ||
      !is_program(words.front()))
    return {};
  return {std::move(words), std::move(environment)};
}

}  // namespace

bool is_shell(const std::string& program) {
  const std::string name = base_name(program);
  return name == "sh" || name == "bash" || name == "dash" || name == "ksh" ||
         name == "zsh";
}

std::string find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* folders = std::getenv("PATH");
  std::istringstream in(folders != nullptr ? folders : "");
  for (std::string folder; std::getline(in, folder, ':');) {
    std::string path = folder + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string seen_from(const std::string& folder, const std::string& program) {
  const bool is_there = !folder.empty() && !program.starts_with('/') &&
                        program.find('/') != std::string::npos;
  return is_there ? folder + "/" + program : program;
}

std::optional<Words> plain_command(const std::string& text) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != '\'' && (c == '$' || c == '`')) return std::nullopt;
    if (quote != 0) {
      if (quote == '"' && c == '\\') return std::nullopt;
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (is_blank) {
      if (c == '\n' && i + 1 < text.size()) return std::nullopt;
      if (in_word) words.push_back(std::exchange(word, ""));
      in_word = false;
    } else if (std::string(";|&<>()*?[]#~{}!\\").find(c) != std::string::npos) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(word);
  return words;
}

void set_variable(Environment& environment, const std::string& name,
                  const std::string& value) {
  for (auto& entry : environment) {
    if (entry.first != name) continue;
    entry.second = value;
    return;
  }
  environment.emplace_back(name, value);
}

void unwrap(job::AppSpec& app) {
  constexpr int kMostLayers = 8;  // env sh -c 'env ...'
  for (int i = 0; i < kMostLayers; ++i) {
    auto [words, environment] = look_behind(app.program, app.args);
    if (words.empty()) return;
    app.program = words.front();
    app.args.assign(words.begin() + 1, words.end());
    for (const auto& [name, value] : environment)
      set_variable(app.environment, name, value);
  }
}

}  // namespace mpc::tools
