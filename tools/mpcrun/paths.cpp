#include "tools/mpcrun/paths.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>

#include "runtime/job/launch.h"

namespace mpc::tools {

std::string file_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

std::string beside_library(const char* name) {
  std::string path = file_of(reinterpret_cast<const void*>(&mpc_run_job));
  path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  return path + name;
}

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

}  // namespace mpc::tools
