#include "runtime/loader/plugin_space.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <vector>

namespace mpc::loader {
namespace {

// A copy of Python with its modules is some 50 MiB: a thousand ranks fit into the first area.
constexpr size_t kAreaBytes[] = {size_t{64} << 30, size_t{4} << 30, size_t{256} << 20};
constexpr size_t kMaxAreas = 64;

struct Area {
  uintptr_t begin = 0;
  size_t bytes = 0;
  size_t used = 0;
  std::atomic<const PluginPlace*>* granules =
      nullptr;  // pages are created when they are touched
};

Area g_areas[kMaxAreas];
std::atomic<size_t> g_area_count{0};
std::mutex g_mutex;  // guards the following, and changes of the areas

std::multimap<size_t, char*>& free_ranges() {
  static auto* const instance = new std::multimap<size_t, char*>;
  return *instance;
}

void* reserve(size_t bytes, int protection) {
  void* map = ::mmap(nullptr, bytes, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? nullptr : map;
}

bool add_area(size_t wanted) {
  const size_t index = g_area_count.load(std::memory_order_relaxed);  // under g_mutex
  if (index == kMaxAreas) {
    errno = ENOMEM;
    return false;
  }
  for (const size_t usual : kAreaBytes) {
    const size_t bytes = usual > wanted ? usual : wanted + kGranuleBytes;
    void* granules =
        reserve(bytes / kGranuleBytes * sizeof(void*), PROT_READ | PROT_WRITE);
    if (granules == nullptr) continue;
    void* room = reserve(bytes, PROT_NONE);
    if (room == nullptr) {
      ::munmap(granules, bytes / kGranuleBytes * sizeof(void*));
      continue;
    }
    const auto at = reinterpret_cast<uintptr_t>(room);
    Area& area = g_areas[index];
    area.begin = (at + kGranuleBytes - 1) & ~(kGranuleBytes - 1);
    area.bytes = (at + bytes - area.begin) & ~(kGranuleBytes - 1);
    area.granules = static_cast<std::atomic<const PluginPlace*>*>(granules);
    g_area_count.store(index + 1, std::memory_order_release);  // pairs with area_of
    return true;
  }
  return false;
}

const Area* area_of(uintptr_t address) {
  const size_t count =
      g_area_count.load(std::memory_order_acquire);  // pairs with add_area
  for (size_t i = 0; i < count; ++i)
    if (address - g_areas[i].begin < g_areas[i].bytes) return &g_areas[i];
  return nullptr;
}

char* take(size_t bytes, size_t alignment) {
  const size_t count = g_area_count.load(std::memory_order_relaxed);  // under g_mutex
  if (count == 0) return nullptr;
  Area& area = g_areas[count - 1];
  const uintptr_t at = (area.begin + area.used + alignment - 1) & ~(alignment - 1);
  if (at + bytes > area.begin + area.bytes) return nullptr;
  area.used = at + bytes - area.begin;
  return reinterpret_cast<char*>(at);
}

}  // namespace

PluginSpace& PluginSpace::instance() noexcept {
  static constinit PluginSpace space;
  return space;
}

char* PluginSpace::allocate(size_t bytes, size_t alignment) noexcept {
  std::lock_guard lock(g_mutex);
  if (alignment < kGranuleBytes) alignment = kGranuleBytes;
  auto& ranges = free_ranges();
  for (auto [it, end] = ranges.equal_range(bytes); it != end; ++it) {
    char* found = it->second;
    if (reinterpret_cast<uintptr_t>(found) % alignment != 0) continue;
    ranges.erase(it);
    return found;
  }
  if (char* found = take(bytes, alignment)) return found;
  return add_area(bytes + alignment) ? take(bytes, alignment) : nullptr;
}

void PluginSpace::set(char* base, size_t bytes, const PluginPlace* place) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(base);
  const Area* area = area_of(at);
  for (size_t i = 0; i < bytes / kGranuleBytes; ++i)
    area->granules[(at - area->begin) / kGranuleBytes + i].store(
        place, std::memory_order_release);  // pairs with find
}

void PluginSpace::release(char* base, size_t bytes) noexcept {
  set(base, bytes, nullptr);
  (void)::mmap(base, bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  std::lock_guard lock(g_mutex);
  free_ranges().emplace(bytes, base);
}

const PluginPlace* PluginSpace::find(const void* address) const noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const Area* area = area_of(at);
  return area == nullptr ? nullptr
                         : area->granules[(at - area->begin) / kGranuleBytes].load(
                               std::memory_order_acquire);  // pairs with set
}

}  // namespace mpc::loader
