#include "runtime/transport/load_net.h"

#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/service_thread.h"
#include "base/settings.h"
#include "runtime/transport/host/host_net.h"
#include "runtime/transport/shielded_net.h"

namespace mpc::transport {
namespace {

constexpr char kLibrary[] = "/mpc/libmpc-net-ucx.so";  // next to libmpi_abi

StringSetting library_setting{
    "net.module", "",
    "The library that carries messages between the processes of a job; empty: the one "
    "that is installed with this MPI",
    "a path"};

BoolSetting host_segment_setting{
    "net.host_segment", true,
    "Processes of a job on one host send short messages through memory that both map, "
    "where the system allows that; 0: through the network's library"};

BoolSetting host_copies_setting{
    "net.host_copies", true,
    "Processes of a job on one host copy long messages themselves, from memory of one "
    "to that "
    "of the other, where the system allows that; 0: the network's library does"};

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

// Each network's pieces should have room for a posted message in addition to what UCX and the
// module put there. UCX's own lengths are some 8 KiB including all that, so a message of 8192 bytes
// would need two pieces. A process has some hundred of them at a time for each network.
std::string piece_bytes(size_t eager_bytes) {
  constexpr size_t kDefault = 8192, kMost = 64 << 10, kBeside = 256;
  return std::to_string(std::min(eager_bytes != 0 ? eager_bytes : kDefault, kMost) +
                        kBeside);
}

// Settings that UCX must see before it is loaded, because its constructors
// install signal handlers and write over the first instructions of mmap().
// The user's own values stay; ranks see none of this.
class Environment {
 public:
  Environment(size_t eager_bytes, const std::string& interfaces, bool has_own_copies) {
    const std::string piece = piece_bytes(eager_bytes);
    for (const char* name : {"UCX_POSIX_SEG_SIZE", "UCX_SYSV_SEG_SIZE",
                             "UCX_SELF_SEG_SIZE", "UCX_TCP_TX_SEG_SIZE"})
      set(name, piece.c_str());
    set("UCX_HANDLE_ERRORS", "none");  // runtime/job/crash.h handles crashes
    set("UCX_ERROR_SIGNALS", "");
    set("UCX_DEBUG_SIGNO", "0");
    if (has_own_copies) leave_out_copies();
    if (has_rdma()) return;
    set("UCX_MEM_EVENTS", "n");
    // UCX would also try interfaces that lead nowhere (docker0 has the same address on all hosts).
    if (!interfaces.empty()) set("UCX_NET_DEVICES", interfaces.c_str());
  }
  ~Environment() {
    for (const char* name : ours_) ::unsetenv(name);
    if (!networks_.empty()) ::setenv(kNetworks, networks_.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static constexpr char kNetworks[] = "UCX_TLS";

  void set(const char* name, const char* value) {
    if (::getenv(name) != nullptr) return;
    ::setenv(name, value, 1);
    ours_.push_back(name);
  }
  // UCX copies from memory of other processes if the system lets it read its own. Where it refuses
  // those of the others (programs that may not be read, prctl(PR_SET_DUMPABLE), a seccomp filter that
  // comes later), a message fails. HostNet asks first, and for what it is refused it needs another way.
  void leave_out_copies() {
    const char* const chosen = ::getenv(kNetworks);
    if (chosen == nullptr) return set(kNetworks, "^cma");
    if (chosen[0] != '^') return;  // the user names what to use
    networks_ = chosen;
    ::setenv(kNetworks, (networks_ + ",cma").c_str(), 1);
  }
  std::vector<const char*> ours_;
  std::string networks_;  // the user's; empty: unchanged
};

std::string library_path() {
  std::string chosen = library_setting.get();
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

bool uses_host_segment() noexcept { return host_segment_setting.get(); }

Result<std::unique_ptr<NetModule>> load_net(const NetConfig& config) {
  const std::string path = library_path();
  if (::access(path.c_str(), F_OK) != 0) return missing(path);
  const bool has_segment = host_segment_setting.get() && config.processes > 1;
  const Environment environment(config.eager_bytes, config.interfaces,
                                has_segment && host_copies_setting.get());
  const WithoutSignals during;
  // Never unloaded: its threads may run until the end of the process.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return unloadable(path);
  const auto open_net = reinterpret_cast<OpenNet>(::dlsym(library, kOpenNet));
  if (open_net == nullptr) return unloadable(path);
  std::string problem;
  std::unique_ptr<NetModule> module(open_net(config, &problem));
  if (module == nullptr)
    return {Errc::kSystem, "cannot open the network between processes: " + problem};
  auto shielded = make_shielded_net(std::move(module));
  if (!has_segment) return shielded;
  return std::unique_ptr<NetModule>(std::make_unique<host::HostNet>(
      config, std::move(shielded), host_copies_setting.get()));
}

}  // namespace mpc::transport
