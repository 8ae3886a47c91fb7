#include "runtime/loader/library_sharing.h"

#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/settings.h"

namespace mpc::loader {
namespace {

StringSetting private_libraries{"loader.private_libraries", "",
                                "file names of system libraries of which each rank "
                                "gets its own copy, separated by ':'"};
StringSetting shared_libraries{"loader.shared_libraries", "",
                               "file names of libraries that all ranks share although "
                               "it is not usual, separated by ':'"};

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(":, ", begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Parts of libc and of the compilers' runtimes that work together as one per process, and a
// few widely used libraries without state.
bool is_shared_by_nature(const std::string& name) {
  static constexpr std::string_view kNames[] = {
      "libc.so",      "ld-linux",    "libm.so",      "libmvec.so",    "libpthread.so",
      "libdl.so",     "librt.so",    "libutil.so",   "libresolv.so",  "libanl.so",
      "libnss_",      "libgcc_s.so", "libstdc++.so", "libc++.so",     "libc++abi.so",
      "libasan.so",   "libtsan.so",  "libubsan.so",  "liblsan.so",    "libquadmath.so",
      "libatomic.so", "libz.so",     "libzstd.so",   "liblzma.so",    "libbz2.so",
      "libcuda.so",   "libnvidia-",  "libhsa-",      "libmpi_abi.so", "libnuma.so"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::recursive_mutex& dynamic_linker_mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

const SharingRules& sharing_rules() {
  static const SharingRules rules{split_names(private_libraries.get()),
                                  split_names(shared_libraries.get())};
  return rules;
}

bool is_loaded(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

bool must_be_private(const std::string& file_name, const SharingRules& rules) {
  if (contains(rules.shared_names, file_name)) return false;
  if (contains(rules.private_names, file_name)) return true;
  if (is_shared_by_nature(file_name)) return false;
  // A library that was private once stays private, whatever the process loads for itself later; and
  // many ranks ask the same.
  static std::set<std::string> known;
  std::lock_guard lock(dynamic_linker_mutex());
  if (known.contains(file_name)) return true;
  if (is_loaded(file_name)) return false;
  known.insert(file_name);
  return true;
}

}  // namespace mpc::loader
