#include "runtime/loader/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/log.h"
#include "runtime/loader/blueprint_maker.h"
#include "runtime/loader/debugger_view.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/registry.h"

namespace mpc::loader {
namespace {

constexpr size_t kFirstChunkInstances = 16;

// One dlopen at a time, and only one blueprint at a time.
std::mutex g_open_mutex;

std::mutex g_images_mutex;
std::vector<Image*>& images() {
  static auto* const all = new std::vector<Image*>;
  return *all;
}

struct Variables {
  std::vector<PrivateVariable> list;
  size_t bytes = 0;
};
Variables& variables() {
  // `environ` comes first: ProgramInstance::environment().
  static Variables instance{
      {{{"environ", "__environ", "_environ"}, std::vector<char>(sizeof(char**)), 0}},
      sizeof(char**)};
  return instance;
}

Error no_room(const std::string& path, size_t instances) {
  const int error = errno;
  return Error{Errc::kNoMem,
               fmt::format("{}: cannot map {} more copies: {}; raise vm.max_map_count "
                           "(sysctl) or the limit of virtual memory (ulimit -v)",
                           path, instances, std::strerror(error))};
}

}  // namespace

size_t private_variable(std::initializer_list<const char*> names, const void* initial,
                        size_t bytes) {
  Variables& v = variables();
  const size_t offset = (v.bytes + 7) & ~size_t{7};
  const char* data = static_cast<const char*>(initial);
  std::vector<char> value;
  if (data != nullptr) value.assign(data, data + bytes);
  v.list.push_back({{names.begin(), names.end()}, std::move(value), offset});
  v.bytes = offset + bytes;
  return offset;
}

Result<std::unique_ptr<Image>> Image::open(const std::string& path,
                                           const ImageOptions& options) {
  std::lock_guard lock(g_open_mutex);
  BlueprintOptions blueprint_options;
  blueprint_options.preload = options.preload;
  blueprint_options.sharing = sharing_rules();
  auto blueprint =
      make_blueprint(path, blueprint_options, variables().list, variables().bytes);
  if (!blueprint) return blueprint.error();
  std::unique_ptr<Image> image(new Image);
  image->blueprint_ = std::move(*blueprint);
  const ElfFile& program = *image->blueprint_->modules[0].file;
  static uint64_t last_id = 0;  // under g_open_mutex
  image->id_ = ++last_id;
  image->path_ = program.path();
  image->exports_all_ = program.find_definition("mpc_exports_all") != nullptr;
  for (const Module& m : image->blueprint_->modules) {
    for (std::string& name : m.file->needed())
      image->needed_.push_back(std::move(name));
    if (!Registry::instance().add_master(m.master, m.master_base()))
      return Error{Errc::kNoMem, "too many private libraries"};
    log::debug("loader: {} is private, {} KiB of data and bss", m.file->path(),
               (m.data_end - m.data_begin) / 1024);
  }
  if (!image->blueprint_->counterparts.empty())
    g_has_counterparts.store(true, std::memory_order_relaxed);  // before its ranks run
  const std::lock_guard images_lock(g_images_mutex);
  images().push_back(image.get());
  return image;
}

void guard_files(int tid, int signal) noexcept {
  const f_owner_ex owner{F_OWNER_TID, tid};
  std::lock_guard lock(g_images_mutex);
  for (Image* image : images())
    for (const Module& m : image->blueprint_->modules) {
      const int fd = m.file->fd();
      if (::fcntl(fd, F_SETOWN_EX, &owner) != 0 || ::fcntl(fd, F_SETSIG, signal) != 0 ||
          ::fcntl(fd, F_SETLEASE, F_RDLCK) != 0)
        log::debug("loader: {} is not guarded: {}", m.file->path(),
                   std::strerror(errno));
    }
}

void leave_files() noexcept {
  std::lock_guard lock(g_images_mutex);
  for (Image* image : images()) image->move_text_to_memory();
}

// Each mapping replaces one with the same bytes, in one step: ranks may run there.
// Closing the last descriptor of the file ends the lease.
void Image::move_text_to_memory() {
  std::lock_guard lock(mutex_);
  for (const Module& m : blueprint_->modules) {
    const int lease = ::fcntl(m.file->fd(), F_DUPFD_CLOEXEC, 0);
    if (auto moved = m.file->move_to_memory(); !moved) {
      log::error("loader: {}; the file is about to change, which may crash the job",
                 moved.error().message);
    } else {
      for (const auto& instance : instances_)
        for (const FileMap& t : m.text)
          // Not mmap(), which ThreadSanitizer would treat as a write to what ranks read.
          ::syscall(SYS_mmap, instance->base() + m.bundle_offset + t.vaddr, t.bytes,
                    t.protection, MAP_PRIVATE | MAP_FIXED, m.file->fd(),
                    static_cast<off_t>(t.file_offset));
    }
    ::fcntl(lease, F_SETLEASE, F_UNLCK);
    ::close(lease);
  }
}

void* Image::find_variable(const ProgramInstance& instance, const char* name) noexcept {
  for (const PrivateVariable& v : variables().list)
    for (const std::string& n : v.names)
      if (n == name) return instance.variable(v.offset);
  return nullptr;
}

char**& ProgramInstance::environment() const noexcept {
  return *static_cast<char***>(variable(0));
}

bool is_master(uintptr_t load_address) noexcept {
  return Registry::instance().is_master(load_address);
}
bool is_master_handle(const void* handle) noexcept {
  return Registry::instance().is_master_handle(handle);
}

Image::~Image() {
  {
    std::lock_guard lock(g_images_mutex);
    std::erase(images(), this);
  }
  for (const auto& instance : instances_) {
    DebuggerView::remove_instance(*instance);
    Registry::instance().set_instance(instance->base(), nullptr);
    ::munmap(instance->base(), blueprint_->bundle_bytes);
  }
}

bool Image::has_library(std::string_view name) const noexcept {
  const auto& modules = blueprint_->modules;
  return std::any_of(modules.begin() + 1, modules.end(), [&](const Module& module) {
    return std::string_view(module.name).starts_with(name);
  });
}
bool Image::uses_library(std::string_view name) const noexcept {
  return std::any_of(needed_.begin(), needed_.end(), [&](const std::string& needed) {
    return std::string_view(needed).starts_with(name);
  });
}
bool Image::imports(std::initializer_list<std::string_view> names) const noexcept {
  const ElfFile& program = *blueprint_->modules[0].file;
  for (const Elf64_Sym& symbol : program.dynamic_symbols())
    if (symbol.st_shndx == SHN_UNDEF &&
        std::find(names.begin(), names.end(), program.dynamic_string(symbol.st_name)) !=
            names.end())
      return true;
  return false;
}
bool Image::needs_executable_stack() const noexcept {
  return blueprint_->needs_executable_stack;
}
int Image::maps_per_instance() const noexcept { return blueprint_->maps_per_instance; }

Result<> Image::reserve(size_t instances) {
  std::lock_guard lock(mutex_);
  return instances > left_ ? reserve_locked(instances - left_) : Result<>();
}

Result<> Image::reserve_locked(size_t instances) {
  if (left_ > 0) {  // chunks are contiguous: unmap the rest of the old one
    ::munmap(next_, left_ * blueprint_->bundle_bytes);
    instances += left_;
    left_ = 0;
  }
  const size_t alignment = blueprint_->alignment;
  const size_t bytes = instances * blueprint_->bundle_bytes;
  const size_t room = bytes + (alignment - kPageBytes);
  void* map = ::mmap(nullptr, room, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return no_room(path_, instances);
  const auto begin = reinterpret_cast<uintptr_t>(map);
  const uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
  if (aligned > begin) ::munmap(map, aligned - begin);
  if (room - (aligned - begin) > bytes)
    ::munmap(reinterpret_cast<char*>(aligned + bytes),
             room - (aligned - begin) - bytes);
  next_ = reinterpret_cast<char*>(aligned);
  if (!Registry::instance().add_chunk(next_, blueprint_->bundle_bytes, instances)) {
    ::munmap(next_, bytes);
    return Error{Errc::kNoMem, fmt::format("{}: too many groups of copies", path_)};
  }
  left_ = chunk_ = instances;
  return {};
}

Result<> Image::map_instance(char* base) {
  for (const Module& m : blueprint_->modules)
    if (!map_module(m, base + m.bundle_offset, blueprint_->image_fd))
      return no_room(path_, 1);
  const auto bias = reinterpret_cast<uintptr_t>(base);
  for (const size_t slot : blueprint_->slots) {
    uintptr_t value;
    std::memcpy(&value, base + slot, sizeof value);
    value += bias;
    std::memcpy(base + slot, &value, sizeof value);
  }
  for (const PrivateVariable& v : variables().list)
    if (!v.initial.empty())
      std::memcpy(base + blueprint_->place_of_variable(v.offset), v.initial.data(),
                  v.initial.size());
  return {};
}

Result<ProgramInstance*> Image::load_instance(int rank) {
  std::lock_guard lock(mutex_);
  if (left_ == 0) MPC_TRY(reserve_locked(std::max(kFirstChunkInstances, 2 * chunk_)));
  char* base = next_;
  MPC_TRY(map_instance(base));
  next_ += blueprint_->bundle_bytes;
  --left_;
  instances_.emplace_back(new ProgramInstance(*this, rank, base));
  ProgramInstance* instance = instances_.back().get();
  Registry::instance().set_instance(base, instance);
  DebuggerView::add_instance(*instance, blueprint_->modules, base);
  return instance;
}

void* find_counterpart(void* address) noexcept {
  const ProgramInstance* instance = find_instance(address);
  if (instance == nullptr) return address;
  const auto offset =
      static_cast<size_t>(static_cast<char*>(address) - instance->base());
  for (const Counterpart& c : instance->image().blueprint().counterparts)
    if (offset - c.bundle_offset < c.bytes)
      return c.shared + (offset - c.bundle_offset);
  return address;
}

AddressInfo describe_address(const void* address) noexcept {
  AddressInfo info;
  if (const ProgramInstance* instance = find_instance(address)) {
    info.rank = instance->rank();
    const auto [m, base] = instance->place_of(address);
    if (m == nullptr) return info;
    info.path = m->file->path().c_str();
    info.offset = static_cast<uintptr_t>(static_cast<const char*>(address) - base);
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

}  // namespace mpc::loader
