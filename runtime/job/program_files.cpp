#include "runtime/job/program_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace mpc::job {
namespace {

bool is_executable_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return {Errc::kNotFound, "the name of the program is empty"};
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) == 0) return name;
    return {Errc::kNotFound,
            fmt::format("program '{}': {}", name, std::strerror(errno))};
  }
  const char* path = std::getenv("PATH");
  const std::string_view folders =
      path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string_view folder = folders.substr(begin, end - begin);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (is_executable_file(candidate)) return candidate;
    begin = end + 1;
  }
  if (::access(name.c_str(), F_OK) == 0)
    return "./" + name;  // what is wrong with it is reported later
  return {Errc::kNotFound,
          fmt::format("program '{}' is neither in PATH nor in this folder", name)};
}

std::string absolute(const std::string& path) {
  char* found = ::realpath(path.c_str(), nullptr);
  std::string out = found != nullptr ? found : path;
  std::free(found);
  return out;
}

std::vector<std::string> merged_environment(const AppSpec& app) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool replaced = std::any_of(
        app.environment.begin(), app.environment.end(), [&](const auto& pair) {
          return text.size() > pair.first.size() && text.starts_with(pair.first) &&
                 text[pair.first.size()] == '=';
        });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : app.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<std::string> changed_environment(std::vector<std::string> environment,
                                             const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    const std::string head = change.substr(0, equals) + "=";
    std::erase_if(environment,
                  [&](const std::string& entry) { return entry.starts_with(head); });
    if (equals != std::string::npos) environment.push_back(change);
  }
  return environment;
}

std::vector<std::string> preloads(const AppSpec& app) {
  std::vector<std::string> out;
  for (const auto& [name, value] : app.environment) {
    if (name != "LD_PRELOAD") continue;
    out.clear();
    for (size_t begin = 0; begin < value.size();) {
      const size_t end = std::min(value.find_first_of(": ", begin), value.size());
      if (end > begin) out.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

}  // namespace mpc::job
