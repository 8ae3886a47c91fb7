#include "tools/mpcrun/heap.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/mpcrun/paths.h"

namespace mpc::tools {
namespace {

constexpr std::string_view kSetting = "job.allocator=";
constexpr char kVariable[] = "MPC_JOB_ALLOCATOR";
constexpr char kLibrary[] = "/mpc/libmpc_heap.so";  // beside libmpi_abi
constexpr char kPreloaded[] =
    "MPC_HEAP_PRELOADED";  // from the first start to the second

// The setting is registered in libmpi_abi, which reads it too late for this.
bool is_wanted(const job::JobSpec& spec) {
  const char* variable = std::getenv(kVariable);
  std::string_view value = variable != nullptr ? variable : "";
  for (const std::string& assignment : spec.settings)
    if (assignment.starts_with(kSetting))
      value = std::string_view(assignment).substr(kSetting.size());
  return value != "system";
}

// Does the heap belong to a preloaded allocator, or to a sanitizer? Then it is used for everything.
bool has_other_allocator() {
  const void* malloc_in_use = ::dlsym(RTLD_DEFAULT, "malloc");
  const void* exit_of_libc = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  return file_of(malloc_in_use) != file_of(exit_of_libc);
}

// valgrind replaces the functions of libc, and its checks know only those.
bool runs_under_valgrind() {
  const char* list = std::getenv("LD_PRELOAD");
  return list != nullptr &&
         std::string_view(list).find("/vgpreload_") != std::string_view::npos;
}

// A path with characters that separate entries of LD_PRELOAD cannot be named there.
bool can_be_named(const std::string& path) {
  return path.find_first_of(": ") == std::string::npos &&
         ::access(path.c_str(), R_OK) == 0;
}

}  // namespace

void preload_heap(const job::JobSpec& spec) {
  ::unsetenv(kPreloaded);
  if (!is_wanted(spec) || has_other_allocator() || runs_under_valgrind()) return;
  const std::string path = beside_library(kLibrary);
  if (!can_be_named(path)) return;
  const char* list = std::getenv("LD_PRELOAD");
  ::setenv("LD_PRELOAD", list == nullptr ? path.c_str() : (path + ":" + list).c_str(),
           1);
  ::setenv(kPreloaded, list == nullptr ? "alone" : "first", 1);
}

void hide_heap() {
  const char* how = std::getenv(kPreloaded);
  if (how == nullptr) return;
  const char* list = std::getenv("LD_PRELOAD");
  if (list != nullptr) {
    const std::string rest = list;  // setenv() may move the old value
    const size_t colon = rest.find(':');
    if (how == std::string_view("alone") || colon == std::string::npos) {
      ::unsetenv("LD_PRELOAD");
    } else {
      ::setenv("LD_PRELOAD", rest.c_str() + colon + 1, 1);
    }
  }
  ::unsetenv(kPreloaded);
}

}  // namespace mpc::tools
