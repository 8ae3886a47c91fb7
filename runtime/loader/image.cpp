#include "runtime/loader/image.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/log.h"
#include "base/settings.h"
#include "runtime/loader/blueprint.h"
#include "runtime/loader/debugger_view.h"
#include "runtime/loader/registry.h"

namespace mpc::loader {
namespace {

StringSetting private_libraries{"loader.private_libraries", "",
                                "file names of system libraries of which each rank "
                                "gets its own copy, separated by ':'"};
StringSetting shared_libraries{"loader.shared_libraries", "",
                               "file names of libraries that all ranks share although "
                               "it is not usual, separated by ':'"};

constexpr size_t kFirstChunkCopies = 16;

// One dlopen at a time, and no two blueprints at once.
std::mutex g_open_mutex;

struct Variables {
  std::vector<PrivateVariable> list;
  size_t bytes = 0;
};
Variables& variables() {
  // `environ` comes first: Copy::environment().
  static Variables instance{
      {{{"environ", "__environ", "_environ"}, std::vector<char>(sizeof(char**)), 0}},
      sizeof(char**)};
  return instance;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(":, ", begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Error no_room(const std::string& path, size_t copies) {
  const int error = errno;
  return Error{Errc::kNoMem,
               fmt::format("{}: cannot map {} more copies: {}; raise vm.max_map_count "
                           "(sysctl) or the limit of virtual memory (ulimit -v)",
                           path, copies, std::strerror(error))};
}

}  // namespace

size_t private_variable(std::initializer_list<const char*> names, const void* initial,
                        size_t bytes) {
  Variables& v = variables();
  const size_t offset = (v.bytes + 7) & ~size_t{7};
  const char* data = static_cast<const char*>(initial);
  v.list.push_back({{names.begin(), names.end()}, {data, data + bytes}, offset});
  v.bytes = offset + bytes;
  return offset;
}

Result<std::unique_ptr<Image>> Image::open(const std::string& path,
                                           const ImageOptions& options) {
  std::lock_guard lock(g_open_mutex);
  BlueprintOptions blueprint_options;
  blueprint_options.preload = options.preload;
  blueprint_options.private_names = split_names(private_libraries.get());
  blueprint_options.shared_names = split_names(shared_libraries.get());
  auto blueprint =
      Blueprint::make(path, blueprint_options, variables().list, variables().bytes);
  if (!blueprint) return blueprint.error();
  std::unique_ptr<Image> image(new Image);
  image->blueprint_ = std::move(*blueprint);
  image->path_ = image->blueprint_->modules[0].file->path();
  for (const Module& m : image->blueprint_->modules) {
    if (!Registry::instance().add_master(m.master, m.master_base()))
      return Error{Errc::kNoMem, "too many private libraries"};
    log::debug("loader: {} is private, {} KiB of data and bss", m.file->path(),
               (m.data_end - m.data_begin) / 1024);
  }
  return image;
}

void* Image::find_variable(const Copy& copy, const char* name) noexcept {
  for (const PrivateVariable& v : variables().list)
    for (const std::string& n : v.names)
      if (n == name) return copy.variable(v.offset);
  return nullptr;
}

char**& Copy::environment() const noexcept {
  return *static_cast<char***>(variable(0));
}

bool is_master(uintptr_t load_address) noexcept {
  return Registry::instance().is_master(load_address);
}
bool is_master_handle(const void* handle) noexcept {
  return Registry::instance().is_master_handle(handle);
}

Image::~Image() {
  for (const auto& copy : copies_) {
    DebuggerView::remove_copy(*copy);
    Registry::instance().set_copy(copy->base(), nullptr);
    ::munmap(copy->base(), blueprint_->bundle_bytes);
  }
}

bool Image::has_library(std::string_view name) const noexcept {
  const auto& modules = blueprint_->modules;
  return std::any_of(modules.begin() + 1, modules.end(), [&](const Module& module) {
    return std::string_view(module.name).starts_with(name);
  });
}
bool Image::needs_executable_stack() const noexcept {
  return blueprint_->needs_executable_stack;
}
int Image::maps_per_copy() const noexcept { return blueprint_->maps_per_copy; }
size_t Image::bytes_per_copy() const noexcept { return blueprint_->bundle_bytes; }

Result<> Image::reserve(size_t copies) {
  std::lock_guard lock(mutex_);
  return copies > left_ ? reserve_locked(copies - left_) : Result<>();
}

Result<> Image::reserve_locked(size_t copies) {
  if (left_ > 0) {  // chunks are contiguous: give the rest of the old one back
    ::munmap(next_, left_ * blueprint_->bundle_bytes);
    copies += left_;
    left_ = 0;
  }
  const size_t alignment = blueprint_->alignment;
  const size_t bytes = copies * blueprint_->bundle_bytes;
  const size_t room = bytes + (alignment - kPageBytes);
  void* map = ::mmap(nullptr, room, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return no_room(path_, copies);
  const auto begin = reinterpret_cast<uintptr_t>(map);
  const uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
  if (aligned > begin) ::munmap(map, aligned - begin);
  if (room - (aligned - begin) > bytes)
    ::munmap(reinterpret_cast<char*>(aligned + bytes),
             room - (aligned - begin) - bytes);
  next_ = reinterpret_cast<char*>(aligned);
  if (!Registry::instance().add_chunk(next_, blueprint_->bundle_bytes, copies)) {
    ::munmap(next_, bytes);
    return Error{Errc::kNoMem, fmt::format("{}: too many groups of copies", path_)};
  }
  left_ = chunk_ = copies;
  return {};
}

Result<> Image::map_copy(char* base) {
  const auto map = [](char* at, size_t bytes, int protection, int fd, size_t offset) {
    const int flags = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);
    return bytes == 0 || ::mmap(at, bytes, protection, flags, fd,
                                static_cast<off_t>(offset)) != MAP_FAILED;
  };
  constexpr int kData = PROT_READ | PROT_WRITE;
  for (const Module& m : blueprint_->modules) {
    char* module = base + m.bundle_offset;
    for (const FileMap& t : m.text)
      if (!map(module + t.vaddr, t.bytes, t.protection, m.file->fd(), t.file_offset))
        return no_room(path_, 1);
    const size_t image_end = m.is_bss_in_image ? m.data_end : m.data_file_end;
    if (!map(module + m.data_begin, image_end - m.data_begin, kData,
             blueprint_->image_fd, m.image_offset) ||
        !map(module + image_end, m.data_end - image_end, kData, -1, 0))
      return no_room(path_, 1);
  }
  const auto bias = reinterpret_cast<uintptr_t>(base);
  for (const size_t slot : blueprint_->slots) {
    uintptr_t value;
    std::memcpy(&value, base + slot, sizeof value);
    value += bias;
    std::memcpy(base + slot, &value, sizeof value);
  }
  for (const PrivateVariable& v : variables().list)
    std::memcpy(base + blueprint_->variables_offset + v.offset, v.initial.data(),
                v.initial.size());
  return {};
}

Result<Copy*> Image::load_copy(int rank) {
  std::lock_guard lock(mutex_);
  if (left_ == 0) MPC_TRY(reserve_locked(std::max(kFirstChunkCopies, 2 * chunk_)));
  char* base = next_;
  MPC_TRY(map_copy(base));
  next_ += blueprint_->bundle_bytes;
  --left_;
  copies_.emplace_back(new Copy(*this, rank, base));
  Copy* copy = copies_.back().get();
  Registry::instance().set_copy(base, copy);
  DebuggerView::add_copy(*copy);
  return copy;
}

AddressInfo describe_address(const void* address) noexcept {
  AddressInfo info;
  if (const Copy* copy = find_copy(address)) {
    info.rank = copy->rank();
    const Module* m = copy->module_of(address);
    if (m == nullptr) return info;
    info.path = m->file->path().c_str();
    info.offset = static_cast<uintptr_t>(static_cast<const char*>(address) -
                                         (copy->base() + m->bundle_offset));
    if (const Elf64_Sym* s = m->file->find_symbol_at(info.offset, &info.symbol))
      info.symbol_offset = info.offset - s->st_value;
    return info;
  }
  Dl_info dl{};
  if (::dladdr(address, &dl) != 0) {
    info.path = dl.dli_fname;
    info.offset = static_cast<uintptr_t>(static_cast<const char*>(address) -
                                         static_cast<const char*>(dl.dli_fbase));
    info.symbol = dl.dli_sname;
    if (dl.dli_sname != nullptr)
      info.symbol_offset = static_cast<uintptr_t>(
          static_cast<const char*>(address) - static_cast<const char*>(dl.dli_saddr));
  }
  return info;
}

void for_each_copy(void (*visit)(Copy&, void*), void* argument) {
  Registry::instance().for_each(visit, argument);
}

}  // namespace mpc::loader
