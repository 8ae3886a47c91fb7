#include "runtime/wireup/open_modex.h"

#include <dlfcn.h>

#include <string>

namespace mpc::wireup {
namespace {

constexpr char kLibrary[] = "/mpc/libmpc-wireup-pmix.so";  // next to this library

std::string library_path() {
  Dl_info info{};
  static constexpr char kInThisLibrary = 0;
  if (::dladdr(&kInThisLibrary, &info) == 0 || info.dli_fname == nullptr)
    return kLibrary + 1;
  std::string path = info.dli_fname;
  path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  return path + kLibrary;
}

}  // namespace

Result<std::unique_ptr<Modex>> open_modex() {
  const std::string path = library_path();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return {Errc::kUnsupported, std::string("a job of several processes needs PMIx: ") +
                                    (why != nullptr ? why : path)};
  }
  const auto open = reinterpret_cast<OpenModex>(::dlsym(library, kOpenModex));
  if (open == nullptr)
    return {Errc::kUnsupported, path + " is of another version; install mpcrun again"};
  std::string problem;
  std::unique_ptr<Modex> modex(open(&problem));
  if (modex == nullptr) return {Errc::kSystem, problem};
  return modex;
}

}  // namespace mpc::wireup
