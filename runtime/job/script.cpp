#include "runtime/job/script.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::job {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr size_t kLongestLine = 256;  // BINPRM_BUF_SIZE of Linux

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the first word from `text`, and the blanks after it.
std::string take_word(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(kBlanks), text.size());
  std::string word(text.substr(0, end));
  text = trimmed(text.substr(end));
  return word;
}

// Source: env(1): the kernel passes only one argument, which -S cuts into words.
std::vector<std::string> words_of_env(std::string_view rest) {
  std::vector<std::string> words;
  if (!rest.starts_with("-S")) return {std::string(rest)};
  rest = trimmed(rest.substr(2));
  while (!rest.empty()) words.push_back(take_word(rest));
  return words;
}

bool is_plain_name(const std::vector<std::string>& words) {
  return !words.empty() && !words.front().empty() && words.front().front() != '-' &&
         words.front().find('=') == std::string::npos;
}

}  // namespace

std::string head_of_script(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (::access(path.c_str(), X_OK) != 0) return "";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char bytes[kLongestLine];
  const ssize_t count = ::read(fd, bytes, sizeof bytes);
  ::close(fd);
  const std::string_view head(bytes, count > 0 ? static_cast<size_t>(count) : 0);
  if (!head.starts_with("#!")) return "";
  return std::string(head.substr(0, head.find('\n')));
}

std::vector<std::string> words_of_script(std::string_view head) {
  if (!head.starts_with("#!")) return {};
  std::string_view rest = trimmed(head.substr(2));
  if (rest.empty()) return {};
  const std::string interpreter = take_word(rest);
  if (interpreter.ends_with("/env") && !rest.empty())
    if (auto words = words_of_env(rest); is_plain_name(words)) return words;
  std::vector<std::string> words{interpreter};
  if (!rest.empty()) words.emplace_back(rest);
  return words;
}

}  // namespace mpc::job
