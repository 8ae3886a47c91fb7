#include "tools/mpcrun/preload.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mpc::tools {
namespace {

bool uses_mpi(const link_map& library) noexcept {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* d = library.l_ld; d->d_tag != DT_NULL; ++d) {
    // glibc has turned the offset into an address.
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
  }
  if (strings == nullptr) return false;
  for (const ElfW(Dyn)* d = library.l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag != DT_NEEDED) continue;
    if (std::strncmp(strings + d->d_un.d_val, "libmpi_abi.so", 13) == 0) return true;
  }
  return false;
}

// Where the library lies if it uses MPI, else "".
std::string path_if_uses_mpi(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr)
    return "";  // the dynamic linker has complained about it already
  link_map* library = nullptr;
  std::string path;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0 && uses_mpi(*library)) {
    path = library->l_name;
  }
  ::dlclose(handle);
  return path;
}

}  // namespace

Preload split_preload(const std::string& list) {
  Preload out;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find_first_of(": ", begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    std::string path = path_if_uses_mpi(name);
    if (!path.empty()) {
      out.own.push_back(std::move(path));
    } else {
      out.rest += (out.rest.empty() ? "" : ":") + name;
    }
  }
  return out;
}

}  // namespace mpc::tools
