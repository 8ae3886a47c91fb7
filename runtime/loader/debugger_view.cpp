#include "runtime/loader/debugger_view.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/loader/blueprint.h"
#include "runtime/loader/image.h"

namespace mpc::loader {
namespace {

// struct r_debug_extended of glibc 2.35: the lists of further namespaces hang off r_next.
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
  // The nodes of each copy; they stay where they are.
  std::unordered_map<const Copy*, std::vector<link_map>> nodes;
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

// Our list goes behind those of the dynamic linker, which appends new ones in the same way.
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

bool is_traced() {
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096];
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* line = std::strstr(text, "TracerPid:");
  return line != nullptr && std::atoi(line + std::strlen("TracerPid:")) != 0;
}

}  // namespace

void DebuggerView::add_copy(const Copy& copy) {
  View& v = view();
  std::lock_guard lock(v.mutex);
  link_namespace(v);
  std::vector<link_map>& nodes = v.nodes[&copy];
  nodes.reserve(copy.image().blueprint().modules.size());
  for (const Module& m : copy.image().blueprint().modules) {
    char* base = copy.base() + m.bundle_offset;
    link_map& node = nodes.emplace_back();
    node.l_addr = reinterpret_cast<ElfW(Addr)>(base);
    node.l_name = const_cast<char*>(m.file->path().c_str());
    node.l_ld =
        reinterpret_cast<ElfW(Dyn)*>(base + m.file->segment(PT_DYNAMIC)->p_vaddr);
    node.l_prev = v.last;
    if (v.last != nullptr)
      v.last->l_next = &node;
    else
      v.space.base.r_map = &node;
    v.last = &node;
  }
}

void DebuggerView::remove_copy(const Copy& copy) {
  View& v = view();
  std::lock_guard lock(v.mutex);
  const auto found = v.nodes.find(&copy);
  if (found == v.nodes.end()) return;
  for (link_map& node : found->second) {
    (node.l_prev != nullptr ? node.l_prev->l_next : v.space.base.r_map) = node.l_next;
    (node.l_next != nullptr ? node.l_next->l_prev : v.last) = node.l_prev;
  }
  v.nodes.erase(found);
}

void DebuggerView::announce() {
  if (!is_traced()) return;
  // gdb reads all lists when the dynamic linker says that it unloaded something.
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
