#include "runtime/loader/debugger_view.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "runtime/loader/module.h"
#include "runtime/loader/plugin_space.h"

namespace mpc::loader {
namespace {

// struct r_debug_extended of glibc 2.35: the lists of further namespaces are linked by r_next.
struct Namespace {
  r_debug base;
  Namespace* next;
};
constexpr int kVersionWithNext = 2;

struct View {
  std::mutex mutex;
  Namespace space{};
  link_map* last = nullptr;
  bool is_linked = false;
  // The nodes of each copy, and of each copy of a plugin; they never move.
  std::unordered_map<const void*, std::vector<link_map>> nodes;
};
View& view() {
  static auto* const instance = new View;  // ranks may outlive static destructors
  return *instance;
}

bool has_namespaces() {
  int major = 0, minor = 0;
  return std::sscanf(::gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 &&
         (major > 2 || minor >= 35);
}

// Our list goes after those of the dynamic linker, which appends new ones in the same way.
void link_namespace(View& v) {
  if (v.is_linked) return;
  v.is_linked = true;
  if (!has_namespaces()) return;
  v.space.base = _r_debug;
  v.space.base.r_version = kVersionWithNext;
  v.space.base.r_map = nullptr;
  auto* end = reinterpret_cast<Namespace*>(&_r_debug);
  end->base.r_version = kVersionWithNext;
  while (end->next != nullptr) end = end->next;
  end->next = &v.space;
}

// Asking costs some 30 us, and a library may be opened thousands of times a second.
constexpr int64_t kAskAgainNs = 20'000'000;

bool is_worth_asking() {
  static std::atomic<int64_t> asked_ns{-kAskAgainNs};
  const auto now = static_cast<int64_t>(now_ns());
  // Relaxed: two threads that ask at once do no harm.
  if (now - asked_ns.load(std::memory_order_relaxed) < kAskAgainNs) return false;
  asked_ns.store(now, std::memory_order_relaxed);
  return true;
}

bool is_traced() {
  static std::atomic<bool> was_traced{false};
  if (!is_worth_asking()) return was_traced.load(std::memory_order_relaxed);
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096];
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* line = std::strstr(text, "TracerPid:");
  const bool is = line != nullptr && std::atoi(line + std::strlen("TracerPid:")) != 0;
  was_traced.store(is, std::memory_order_relaxed);
  return is;
}

void append(View& v, std::vector<link_map>& nodes, const Module& m, char* base) {
  link_map& node = nodes.emplace_back();
  node.l_addr = reinterpret_cast<ElfW(Addr)>(base);
  node.l_name = const_cast<char*>(m.file->path().c_str());
  node.l_ld = reinterpret_cast<ElfW(Dyn)*>(base + m.file->segment(PT_DYNAMIC)->p_vaddr);
  node.l_prev = v.last;
  if (v.last != nullptr)
    v.last->l_next = &node;
  else
    v.space.base.r_map = &node;
  v.last = &node;
}

void remove(const void* key) {
  View& v = view();
  std::lock_guard lock(v.mutex);
  const auto found = v.nodes.find(key);
  if (found == v.nodes.end()) return;
  for (link_map& node : found->second) {
    (node.l_prev != nullptr ? node.l_prev->l_next : v.space.base.r_map) = node.l_next;
    (node.l_next != nullptr ? node.l_next->l_prev : v.last) = node.l_prev;
  }
  v.nodes.erase(found);
}

}  // namespace

void DebuggerView::add_instance(const ProgramInstance& instance,
                                const std::vector<Module>& modules, char* base) {
  View& v = view();
  std::lock_guard lock(v.mutex);
  link_namespace(v);
  std::vector<link_map>& nodes = v.nodes[&instance];
  nodes.reserve(modules.size());
  for (const Module& m : modules) append(v, nodes, m, base + m.bundle_offset);
}

void DebuggerView::add_plugin(const PluginPlace& place) {
  View& v = view();
  std::lock_guard lock(v.mutex);
  link_namespace(v);
  append(v, v.nodes[&place], *place.module, place.base);
}

void DebuggerView::remove_instance(const ProgramInstance& instance) {
  remove(&instance);
}
void DebuggerView::remove_plugin(const PluginPlace& place) { remove(&place); }

void DebuggerView::announce() {
  if (!is_traced()) return;
  // gdb reads all lists when the dynamic linker reports that it unloaded something.
  for (const char* small : {"libBrokenLocale.so.1", "libanl.so.1", "libutil.so.1"})
    if (void* handle = ::dlopen(small, RTLD_LAZY | RTLD_NOLOAD); handle == nullptr) {
      if ((handle = ::dlopen(small, RTLD_LAZY | RTLD_LOCAL)) == nullptr) continue;
      ::dlclose(handle);
      return;
    } else {
      ::dlclose(handle);
    }
}

}  // namespace mpc::loader
