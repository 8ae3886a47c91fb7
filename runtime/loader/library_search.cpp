#include "runtime/loader/library_search.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace mpc::loader {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The dynamic linker skips files of another class or machine and continues the search.
bool is_loadable(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Elf64_Ehdr header{};
  const bool read = ::read(fd, &header, sizeof header) == sizeof header;
  ::close(fd);
  return read && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
}

// /etc/ld.so.cache, new format: a header, then (flags, key, value, ...) records of offsets
// into the string area, counted from the header's first byte. Source: ldconfig(8) of glibc.
struct CacheHeader {
  char magic[20];  // "glibc-ld.so.cache1.1"
  uint32_t entry_count;
  uint32_t string_bytes;
  uint32_t unused[5];
};
struct CacheEntry {
  int32_t flags;
  uint32_t key;
  uint32_t value;
  uint32_t os_version;
  uint64_t hardware;
};
constexpr int32_t kX8664Library = 0x0303;

std::unordered_map<std::string, std::string> read_cache() {
  std::unordered_map<std::string, std::string> found;
  const int fd = ::open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return found;
  struct stat status {};
  const bool statted = ::fstat(fd, &status) == 0 && status.st_size > 0;
  const size_t size = statted ? static_cast<size_t>(status.st_size) : 0;
  void* map = size > sizeof(CacheHeader)
                  ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0)
                  : MAP_FAILED;
  ::close(fd);
  if (map == MAP_FAILED) return found;
  const char* bytes = static_cast<const char*>(map);
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  const auto* header = reinterpret_cast<const CacheHeader*>(bytes);
  if (std::string_view(bytes, kMagic.size()) == kMagic && bytes[size - 1] == '\0' &&
      header->entry_count <= (size - sizeof(CacheHeader)) / sizeof(CacheEntry)) {
    const auto* entries =
        reinterpret_cast<const CacheEntry*>(bytes + sizeof(CacheHeader));
    for (uint32_t i = 0; i < header->entry_count; ++i) {
      const CacheEntry& e = entries[i];
      if (e.flags == kX8664Library && e.key < size && e.value < size)
        found.emplace(bytes + e.key, bytes + e.value);
    }
  }
  ::munmap(map, size);
  return found;
}

std::string in_directories(const std::string& name,
                           const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::string path = directory.empty() ? "./" + name : directory + "/" + name;
    if (is_loadable(path)) return path;
  }
  return "";
}

}  // namespace

std::vector<std::string> expand_path_list(const std::string& list,
                                          const std::string& origin) {
  std::vector<std::string> directories;
  if (list.empty()) return directories;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = list.find(':', begin);
    if (end == std::string::npos) end = list.size();
    std::string directory = list.substr(begin, end - begin);
    for (std::string_view form : {"$ORIGIN", "${ORIGIN}"})
      replace_all(directory, form, origin);
    for (std::string_view form : {"$LIB", "${LIB}"})
      replace_all(directory, form, "lib/x86_64-linux-gnu");
    for (std::string_view form : {"$PLATFORM", "${PLATFORM}"})
      replace_all(directory, form, "x86_64");
    directories.push_back(directory);
    begin = end + 1;
  }
  return directories;
}

std::string find_library(const std::string& name, const SearchScope& scope) {
  if (name.find('/') != std::string::npos) return is_loadable(name) ? name : "";
  const std::string origin = scope.file->directory();
  if (scope.file->run_path().empty()) {
    std::string own =
        in_directories(name, expand_path_list(scope.file->inherited_path(), origin));
    if (!own.empty()) return own;
    std::string inherited = in_directories(name, scope.inherited);
    if (!inherited.empty()) return inherited;
  }
  if (const char* list = ::getenv("LD_LIBRARY_PATH")) {
    std::string text = list;
    replace_all(text, ";", ":");
    std::string found = in_directories(name, expand_path_list(text, origin));
    if (!found.empty()) return found;
  }
  std::string own =
      in_directories(name, expand_path_list(scope.file->run_path(), origin));
  if (!own.empty()) return own;
  static const std::unordered_map<std::string, std::string> cache = read_cache();
  if (const auto it = cache.find(name); it != cache.end() && is_loadable(it->second))
    return it->second;
  return in_directories(name, {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                               "/lib64", "/usr/lib64", "/lib", "/usr/lib"});
}

bool in_system_directory(const std::string& path) {
  for (std::string_view directory : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"})
    if (path.starts_with(directory)) return true;
  return false;
}

}  // namespace mpc::loader
