#include "runtime/transport/load_net.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/settings.h"
#include "runtime/transport/shielded_net.h"

namespace mpc::transport {
namespace {

constexpr char kLibrary[] = "/mpc/libmpc-net-ucx.so";  // beside libmpi_abi

StringSetting library_setting{
    "net.module", "",
    "The library that carries messages between the processes of a job; empty: the one "
    "that is installed with this MPI",
    "a path"};

// Memory of ranks is registered with such a card, so UCX has to see what is unmapped.
bool has_rdma() {
  DIR* const folder = ::opendir("/sys/class/infiniband");
  if (folder == nullptr) return false;
  bool is_found = false;
  while (const dirent* entry = ::readdir(folder))
    is_found = is_found || entry->d_name[0] != '.';
  ::closedir(folder);
  return is_found;
}

// What UCX is to be told before it is loaded, for its constructors install signal handlers and
// write over the first instructions of mmap(). What the user has set stays; ranks see none of it.
class Environment {
 public:
  explicit Environment(const std::string& interfaces) {
    set("UCX_HANDLE_ERRORS", "none");  // crashes are runtime/job/crash.h's
    set("UCX_ERROR_SIGNALS", "");
    set("UCX_DEBUG_SIGNO", "0");
    if (has_rdma()) return;
    set("UCX_MEM_EVENTS", "n");
    // UCX would try what leads nowhere, too (docker0 has the same address on all hosts).
    if (!interfaces.empty()) set("UCX_NET_DEVICES", interfaces.c_str());
  }
  ~Environment() {
    for (const char* name : ours_) ::unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* name, const char* value) {
    if (::getenv(name) != nullptr) return;
    ::setenv(name, value, 1);
    ours_.push_back(name);
  }
  std::vector<const char*> ours_;
};

// Threads that are started meanwhile take no signals: those of the process are for others.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

std::string library_path() {
  const std::string chosen = library_setting.get();
  if (!chosen.empty()) return chosen;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&load_net), &info) == 0 ||
      info.dli_fname == nullptr)
    return kLibrary + 1;
  const std::string here = info.dli_fname;
  const size_t slash = here.rfind('/');
  return (slash == std::string::npos ? "." : here.substr(0, slash)) + kLibrary;
}

Error missing(const std::string& path) {
  return {Errc::kNotFound,
          "a job of several processes needs " + path +
              ", which is not there: install the package libucx-dev, then build and "
              "install this MPI again"};
}

Error unloadable(const std::string& path) {
  const char* const why = ::dlerror();
  return {Errc::kNotFound, "a job of several processes needs " + path +
                               ", which cannot be loaded (" +
                               (why != nullptr ? why : "no reason given") +
                               "): is the package libucx0 installed?"};
}

}  // namespace

Result<std::unique_ptr<NetModule>> load_net(const NetConfig& config) {
  const std::string path = library_path();
  if (::access(path.c_str(), F_OK) != 0) return missing(path);
  const Environment environment(config.interfaces);
  const NoSignals no_signals;
  // It stays: its threads may run until the end of the process.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return unloadable(path);
  const auto open_net = reinterpret_cast<OpenNet>(::dlsym(library, kOpenNet));
  if (open_net == nullptr) return unloadable(path);
  std::string problem;
  std::unique_ptr<NetModule> module(open_net(config, &problem));
  if (module == nullptr)
    return {Errc::kSystem, "cannot open the network between processes: " + problem};
  return make_shielded_net(std::move(module));
}

}  // namespace mpc::transport
