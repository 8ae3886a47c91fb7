// Queries about an address of a program's code: dladdr, backtrace_symbols. The dynamic linker
// knows only the master of a program; these functions know the copies.
//
// See also: runtime/loader/blueprint.h.

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/rank_linker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::instance_at;
using mpc::loader::LoadedModule;
using mpc::loader::ModuleAt;
using mpc::loader::ProgramInstance;

namespace {

void* in_master(const ModuleAt& place, const void* address) {
  return reinterpret_cast<void*>(
      place.module->master_base() +
      static_cast<uintptr_t>(static_cast<const char*>(address) - place.base));
}

// Changes the master's answer into one about the copy.
void move_to_instance(const ModuleAt& place, Dl_info* info) {
  info->dli_fname = place.module->file->path().c_str();
  info->dli_fbase = place.base;
  if (info->dli_saddr != nullptr)
    info->dli_saddr = place.base + (reinterpret_cast<uintptr_t>(info->dli_saddr) -
                                    place.module->master_base());
}

}  // namespace

MPC_EXPORT int dladdr(const void* address, Dl_info* info) noexcept {
  const ProgramInstance* instance = instance_at(address);
  const ModuleAt place = instance != nullptr ? instance->place_of(address) : ModuleAt{};
  if (place.module == nullptr) return NEXT(dladdr)(address, info);
  const int result = NEXT(dladdr)(in_master(place, address), info);
  if (result != 0) move_to_instance(place, info);
  return result;
}
MPC_EXPORT int dladdr1(const void* address, Dl_info* info, void** extra,
                       int flags) noexcept {
  ProgramInstance* instance = instance_at(address);
  const ModuleAt place = instance != nullptr ? instance->place_of(address) : ModuleAt{};
  if (place.module == nullptr) return NEXT(dladdr1)(address, info, extra, flags);
  const int result = NEXT(dladdr1)(in_master(place, address), info, extra, flags);
  if (result == 0) return result;
  move_to_instance(place, info);
  if (flags == RTLD_DL_LINKMAP)
    if (LoadedModule* m = instance->linker().module_at(address)) *extra = &m->map;
  return result;
}

namespace {

std::string describe(void* address) {
  Dl_info info{};
  char text[64];
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    std::snprintf(text, sizeof text, "[%p]", address);
    return text;
  }
  std::string line = info.dli_fname;
  const char* origin = static_cast<const char*>(
      info.dli_saddr != nullptr ? info.dli_saddr : info.dli_fbase);
  std::snprintf(text, sizeof text, "+0x%tx) [%p]",
                static_cast<const char*>(address) - origin, address);
  return line + "(" + (info.dli_sname != nullptr ? info.dli_sname : "") + text;
}

bool has_instances(void* const* addresses, int count) {
  for (int i = 0; i < count; ++i)
    if (instance_at(addresses[i]) != nullptr) return true;
  return false;
}

}  // namespace

MPC_EXPORT char** backtrace_symbols(void* const* addresses, int count) noexcept {
  if (!has_instances(addresses, count))
    return NEXT(backtrace_symbols)(addresses, count);
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    lines.push_back(describe(addresses[i]));
    bytes += sizeof(char*) + lines.back().size() + 1;
  }
  // NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): there is at least one line
  auto** result = static_cast<char**>(std::malloc(bytes));
  if (result == nullptr) return nullptr;
  char* text = reinterpret_cast<char*>(result + count);
  for (int i = 0; i < count; ++i) {
    result[i] = text;
    std::memcpy(text, lines[i].c_str(), lines[i].size() + 1);
    text += lines[i].size() + 1;
  }
  return result;
}
MPC_EXPORT void backtrace_symbols_fd(void* const* addresses, int count,
                                     int fd) noexcept {
  if (!has_instances(addresses, count))
    return NEXT(backtrace_symbols_fd)(addresses, count, fd);
  for (int i = 0; i < count; ++i) {
    const std::string line = describe(addresses[i]) + "\n";
    if (::write(fd, line.data(), line.size()) < 0) return;
  }
}
