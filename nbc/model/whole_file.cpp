#include "nbc/model/whole_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace mpc::nbc {

Result<std::string> read_whole_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (exists(status) && !is_regular_file(status))
    return {Errc::kArg, path + ": is no regular file"};
  std::ifstream file(path);
  if (!file) return {Errc::kNotFound, path + ": cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<> write_whole_file(const std::string& text, const std::string& path) {
  std::error_code error;
  const std::string partial = path + "." + std::to_string(getpid());
  std::ofstream file(partial);
  file << text;
  file.close();
  if (!file.fail()) std::filesystem::rename(partial, path, error);
  if (file.fail() || error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return {Errc::kSystem, path + ": cannot be written" +
                               (error ? " (" + error.message() + ")" : std::string())};
  }
  return {};
}

std::string cache_folder() {
  std::string folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME");
      cache != nullptr && *cache == '/')
    folder = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    folder = std::string(home) + "/.cache";
  return folder.empty() ? "" : folder + "/mpc";
}

}  // namespace mpc::nbc
