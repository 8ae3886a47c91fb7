#include "runtime/loader/plugin_maker.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/master_file.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/plugin_space.h"
#include "runtime/loader/plugin_tls.h"
#include "runtime/loader/program_check.h"
#include "runtime/loader/registry.h"

namespace mpc::loader {
namespace {

class PluginMaker {
 public:
  explicit PluginMaker(const std::vector<std::string>& inherited)
      : inherited_(inherited), plugin_(new Plugin) {}
  ~PluginMaker() {
    if (plugin_ != nullptr && plugin_->image_fd >= 0) ::close(plugin_->image_fd);
    delete plugin_;
  }

  Result<Plugin*> make(std::unique_ptr<ElfFile> file) {
    MPC_TRY(check_plugin(*file));
    module().file = std::move(file);
    module().name = this->file().soname();
    read_flags();
    MPC_TRY(sort_needs());
    MPC_TRY(load_master());
    lay_out(module());
    extend_data(module(),
                (module().data_end + kGranuleBytes - 1) & ~(kGranuleBytes - 1));
    module().hooks = hooks_of(this->file());
    MPC_TRY(make_image());
    MPC_TRY(register_thread_locals(*plugin_));
    if (!Registry::instance().add_master(module().master, module().master_base()))
      return Error{Errc::kNoMem, "too many private libraries"};
    module().master->l_name = const_cast<char*>("");  // gdb: skip
    log::debug("loader: {} is private, {} KiB of data and bss", plugin_->path(),
               (module().data_end - module().data_begin) / 1024);
    Plugin* made = plugin_;
    plugin_ = nullptr;
    return made;
  }

 private:
  Module& module() { return plugin_->module; }
  const ElfFile& file() { return *plugin_->module.file; }

  void read_flags() {
    const uint64_t flags = file().dynamic_value(DT_FLAGS);
    plugin_->has_static_tls = (flags & DF_STATIC_TLS) != 0;
    plugin_->binds_to_self =
        (flags & DF_SYMBOLIC) != 0 || file().has_dynamic(DT_SYMBOLIC);
    plugin_->binds_now = (flags & DF_BIND_NOW) != 0 ||
                         file().has_dynamic(DT_BIND_NOW) ||
                         (file().dynamic_value(DT_FLAGS_1) & DF_1_NOW) != 0;
    const Elf64_Phdr* stack = file().segment(PT_GNU_STACK);
    plugin_->needs_executable_stack = stack != nullptr && (stack->p_flags & PF_X) != 0;
  }

  // Ranks handle private libraries themselves; the master is bound only to the shared ones.
  Result<> sort_needs() {
    for (const std::string& name : file().needed()) {
      const std::string path = find_library(name, {&file(), inherited_});
      if (path.empty() && is_loaded(name)) continue;
      if (must_be_private(name, sharing_rules())) {
        plugin_->needs.push_back({name, path});
      } else if (!path.empty() && !is_loaded(name)) {
        // The master is not in the folder that $ORIGIN means, so give the path. It stays loaded.
        if (::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
          return Error{Errc::kImage, ::dlerror()};
      }
    }
    return {};
  }

  Result<> load_master() {
    auto master = MasterFile::make(file());
    if (!master) return master.error();
    std::set<std::string> private_names;
    for (const Need& need : plugin_->needs) private_names.insert(need.name);
    (*master)->hold_back_hooks();
    (*master)->loosen_symbols();
    (*master)->drop_needed(private_names);
    if (file().segment(PT_TLS) != nullptr)
      plugin_->tls_bytes = (*master)->extend_thread_locals(kThreadMarkBytes);
    const std::string& path = (*master)->path();
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::string text = ::dlerror();
      for (size_t at; (at = text.find(path)) != std::string::npos;)
        text.replace(at, path.size(), file().path());
      return Error{Errc::kImage, text};
    }
    (*master)->keep();
    module().master = static_cast<link_map*>(handle);
    ::dlinfo(handle, RTLD_DI_TLS_MODID, &module().tls_module);
    return {};
  }

  Result<> make_image() {
    Module& m = module();
    const size_t bytes =
        (m.is_bss_in_image ? m.data_end : m.data_file_end) - m.data_begin;
    auto fd = make_memory_file("mpc-data", bytes);
    if (!fd) return fd.error();
    plugin_->image_fd = *fd;
    if (bytes == 0) return {};
    void* map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (map == MAP_FAILED)
      return Error{Errc::kNoMem,
                   fmt::format("{}: cannot map {} bytes of data: {}", plugin_->path(),
                               bytes, std::strerror(errno))};
    image_ = static_cast<char*>(map);
    copy_master_data(m, image_);
    Result<> done = collect_words();
    ::munmap(map, bytes);
    return done;
  }

  Result<> collect_words() {
    for_each_packed(file(), [&](uint64_t vaddr) {
      if (in_data(vaddr)) add_relative(vaddr, word(vaddr) - module().master_base());
    });
    MPC_TRY(read_table(DT_RELA, DT_RELASZ));
    return read_table(DT_JMPREL, DT_PLTRELSZ);
  }

  Result<> read_table(int64_t table_tag, int64_t bytes_tag) {
    const size_t count = file().dynamic_value(bytes_tag) / sizeof(Elf64_Rela);
    const auto table =
        file().at_address<Elf64_Rela>(file().dynamic_value(table_tag), count);
    if (table.size() != count)
      return Error{Errc::kImage,
                   fmt::format("{}: damaged relocation table", plugin_->path())};
    for (const Elf64_Rela& r : table) MPC_TRY(read_entry(r));
    return {};
  }

  Result<> read_entry(const Elf64_Rela& r) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
    if (type == R_X86_64_NONE) return {};
    if (!in_data(r.r_offset)) return refuse(type, "outside of its data");
    switch (type) {
      case R_X86_64_RELATIVE:
      case R_X86_64_RELATIVE64:
        add_relative(r.r_offset, static_cast<uint64_t>(r.r_addend));
        return {};
      case R_X86_64_IRELATIVE:
        add_relative(r.r_offset, word(r.r_offset) - module().master_base());
        return {};
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:  // neither calls our __tls_get_addr()
        plugin_->has_static_tls = true;
        return add_symbolic(r, type);
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_64:
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_SIZE64:
        return add_symbolic(r, type);
      default:
        return refuse(type, "not supported");
    }
  }

  Error refuse(uint32_t type, const char* why) {
    return Error{
        Errc::kImage,
        fmt::format("{}: relocation of type {} is {}; compile all of it with -fPIC",
                    plugin_->path(), type, why)};
  }

  Result<> add_symbolic(const Elf64_Rela& r, uint32_t type) {
    const auto index = static_cast<uint32_t>(ELF64_R_SYM(r.r_info));
    const auto addend = type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT
                            ? 0
                            : static_cast<uint64_t>(r.r_addend);
    const bool is_thread_local = type == R_X86_64_TPOFF64 ||
                                 type == R_X86_64_DTPMOD64 ||
                                 type == R_X86_64_DTPOFF64 || type == R_X86_64_TLSDESC;
    if (index > 0 && index >= file().dynamic_symbols().size())
      return refuse(type, "of a symbol that is not there");
    if (index == 0) {
      // Its own thread_locals: the same in all copies.
      if (!is_thread_local) add_relative(r.r_offset, addend);
      return {};
    }
    note_thread_pointer(r.r_offset);
    plugin_->references.push_back({r.r_offset, type, index, addend, word(r.r_offset)});
    return {};
  }

  void add_relative(uint64_t vaddr, uint64_t target) {
    std::memcpy(image_ + (vaddr - module().data_begin), &target, sizeof target);
    plugin_->relative.push_back(vaddr);
    note_thread_pointer(vaddr);
  }

  void note_thread_pointer(uint64_t vaddr) {
    const Elf64_Phdr* tls = file().segment(PT_TLS);
    if (tls != nullptr && vaddr >= tls->p_vaddr && vaddr < tls->p_vaddr + tls->p_filesz)
      plugin_->has_thread_pointers = true;
  }

  bool in_data(uint64_t vaddr) {
    return vaddr >= module().data_begin &&
           vaddr + sizeof(uint64_t) <= module().data_file_end;
  }
  uint64_t word(uint64_t vaddr) {
    uint64_t value;
    std::memcpy(&value, image_ + (vaddr - module().data_begin), sizeof value);
    return value;
  }

  const std::vector<std::string>& inherited_;
  Plugin* plugin_;
  char* image_ = nullptr;
};

// Distinguishes a file from one that replaced it under the same name.
struct FileKey {
  dev_t device;
  ino_t inode;
  off_t size;
  int64_t changed_ns;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means what the compiler generates
  auto operator<=>(const FileKey&) const = default;
};

FileKey key_of(const struct stat& s) {
  return {s.st_dev, s.st_ino, s.st_size,
          s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec};
}

using Plugins = std::map<FileKey, Plugin*>;
// Guarded by dynamic_linker_mutex().
Plugins& plugins() {
  static auto* const all = new Plugins;  // ranks may outlive static destructors
  return *all;
}

}  // namespace

Plugin* find_plugin(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return nullptr;
  std::lock_guard lock(dynamic_linker_mutex());
  const auto known = plugins().find(key_of(status));
  return known != plugins().end() ? known->second : nullptr;
}

Result<Plugin*> get_plugin(const std::string& path,
                           const std::vector<std::string>& inherited) {
  if (Plugin* known = find_plugin(path)) return known;
  std::lock_guard lock(dynamic_linker_mutex());
  auto file = ElfFile::open(path);
  if (!file) return file.error();
  struct stat status {};
  ::fstat((*file)->fd(), &status);
  const FileKey key = key_of(status);
  if (const auto known = plugins().find(key); known != plugins().end())
    return known->second;
  auto made = PluginMaker(inherited).make(std::move(*file));
  if (!made) return made.error();
  // A constructor of a needed library may have loaded it meanwhile; then that one is used.
  const auto [entry, is_new] = plugins().emplace(key, *made);
  if (is_new) (*made)->id = static_cast<uint32_t>(plugins().size());
  return entry->second;
}

}  // namespace mpc::loader
