#include "nbc/model/whole_file.h"

#include <unistd.h>

#include <cerrno>
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

namespace {

namespace fs = std::filesystem;

// `name`: for messages.
Result<> write_to(const fs::path& path, const std::string& text,
                  const std::string& name) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file.fail()) return {};
  const std::string why =
      errno != 0 ? " (" + std::generic_category().message(errno) + ")" : "";
  return {Errc::kSystem, name + ": cannot be written" + why};
}

}  // namespace

Result<> write_whole_file(const std::string& text, const std::string& path) {
  std::error_code error, ignored;
  const fs::file_status old = fs::status(path, error);
  const bool is_link = fs::is_symlink(fs::symlink_status(path, ignored));
  // A device or a FIFO stays what it is, a link to nothing gets its file.
  if (fs::exists(old) ? !fs::is_regular_file(old) : is_link)
    return write_to(path, text, path);
  const fs::path place = is_link ? fs::canonical(path, error) : fs::path(path);
  const fs::path partial = place.string() + "." + std::to_string(getpid());
  Result<> result = write_to(partial, text, path);
  if (result.ok()) {
    if (fs::exists(old)) fs::permissions(partial, old.permissions(), ignored);
    fs::rename(partial, place, error);
    if (!error) return result;
    result = {Errc::kSystem, path + ": cannot be written (" + error.message() + ")"};
  }
  fs::remove(partial, ignored);
  return result;
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
