#include "runtime/loader/blueprint.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/master_file.h"
#include "runtime/loader/program_check.h"
#include "runtime/loader/relocation.h"

namespace mpc::loader {
namespace {

// A bss of at most this size is mapped together with the data (one mapping less for each
// copy); a larger one is anonymous memory, which the kernel can fill with large pages.
constexpr size_t kSmallBssBytes = 64 * 1024;

bool is_loaded(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Parts of libc and of the compilers' runtimes that work together as one per process, and a
// few widely used ones that keep no state.
bool is_shared_by_nature(const std::string& name) {
  static constexpr std::string_view kNames[] = {
      "libc.so",      "ld-linux",    "libm.so",      "libmvec.so",    "libpthread.so",
      "libdl.so",     "librt.so",    "libutil.so",   "libresolv.so",  "libanl.so",
      "libnss_",      "libgcc_s.so", "libstdc++.so", "libc++.so",     "libc++abi.so",
      "libasan.so",   "libtsan.so",  "libubsan.so",  "liblsan.so",    "libquadmath.so",
      "libatomic.so", "libz.so",     "libzstd.so",   "liblzma.so",    "libbz2.so",
      "libcuda.so",   "libnvidia-",  "libhsa-",      "libmpi_abi.so", "libnuma.so"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Blueprint::~Blueprint() {
  if (image_fd >= 0) ::close(image_fd);
}

class BlueprintMaker {
 public:
  BlueprintMaker(const BlueprintOptions& options,
                 const std::vector<PrivateVariable>& variables, size_t variables_bytes)
      : options_(options),
        variables_(variables),
        variables_bytes_(variables_bytes),
        blueprint_(new Blueprint) {}

  Result<std::unique_ptr<Blueprint>> make(const std::string& path) {
    MPC_TRY(add_program(path));
    for (const std::string& library : options_.preload) MPC_TRY(add_preload(library));
    for (size_t i = 0; i < modules().size(); ++i) MPC_TRY(add_needed(i));
    MPC_TRY(load_masters());
    for (Module& m : modules()) lay_out_module(m);
    lay_out_bundle();
    MPC_TRY(make_image());
    order_hooks();
    count_maps();
    return std::move(blueprint_);
  }

 private:
  std::vector<Module>& modules() { return blueprint_->modules; }

  Result<> add_module(std::unique_ptr<ElfFile> file, const std::string& name) {
    auto master = MasterFile::make(*file);
    if (!master) return master.error();
    (*master)->hold_back_hooks();
    if (const Elf64_Phdr* stack = file->segment(PT_GNU_STACK);
        stack != nullptr && (stack->p_flags & PF_X) != 0)
      blueprint_->needs_executable_stack = true;
    Module module;
    module.name = name;
    module.file = std::move(file);
    modules().push_back(std::move(module));
    masters_.push_back(std::move(*master));
    redirects_.emplace_back();
    inherited_paths_.emplace_back();
    return {};
  }

  Result<> add_program(const std::string& path) {
    auto file = ElfFile::open(path);
    if (!file) return file.error();
    MPC_TRY(check_program(**file));
    return add_module(std::move(*file), file_name(path));
  }

  Result<> add_preload(const std::string& path) {
    auto file = ElfFile::open(path);
    if (!file) return file.error();
    MPC_TRY(check_private_library(**file, *modules()[0].file));
    modules()[0].needs.push_back(modules().size());
    ++blueprint_->preload_count;
    return add_module(std::move(*file), file_name(path));
  }

  Result<> add_needed(size_t user) {
    for (const std::string& name : modules()[user].file->needed()) {
      MPC_TRY(check_needed_name(name, *modules()[user].file));
      const SearchScope scope{modules()[user].file.get(), inherited_paths_[user]};
      const std::string path = find_library(name, scope);
      if (path.empty()) continue;  // the dynamic linker will name it
      auto file = ElfFile::open(path);
      if (!file) return file.error();
      const size_t known = find_module((*file)->path());
      if (known != SIZE_MAX) {
        modules()[user].needs.push_back(known);
        redirects_[user][name] = masters_[known]->path();
        continue;
      }
      if (!must_be_private(name)) {
        // The master does not lie where $ORIGIN points: say the path.
        if (!in_system_directory(path) && !is_loaded(name))
          redirects_[user][name] = path;
        continue;
      }
      if (auto checked = check_private_library(**file, *modules()[0].file); !checked) {
        if (!in_system_directory(path)) return checked.error();
        log::warn("loader: all ranks share {}", checked.error().message);
        continue;
      }
      const size_t index = modules().size();
      MPC_TRY(add_module(std::move(*file), name));
      modules()[user].needs.push_back(index);
      redirects_[user][name] = masters_[index]->path();
      inherited_paths_[index] = inherit_paths(user);
    }
    return {};
  }

  std::vector<std::string> inherit_paths(size_t user) {
    const ElfFile& file = *modules()[user].file;
    std::vector<std::string> paths =
        expand_path_list(file.inherited_path(), file.directory());
    paths.insert(paths.end(), inherited_paths_[user].begin(),
                 inherited_paths_[user].end());
    return paths;
  }

  // Most libraries keep state that they do not expect others to see, or are not made for
  // threads: a rank has its own, as a process would. What libmpi_abi itself uses is shared.
  bool must_be_private(const std::string& name) {
    if (contains(options_.shared_names, name)) return false;
    if (contains(options_.private_names, name)) return true;
    return !is_shared_by_nature(name) && !is_loaded(name);
  }

  size_t find_module(const std::string& path) {
    for (size_t i = 0; i < modules().size(); ++i)
      if (modules()[i].file->path() == path) return i;
    return SIZE_MAX;
  }

  // One dlopen of the program's master; its needs lead to the other masters. Preloaded
  // libraries come first, and are found by symbol lookups because lookups of private modules
  // go through our own order (relocation.cpp).
  Result<> load_masters() {
    for (size_t i = 0; i < masters_.size(); ++i)
      if (!redirects_[i].empty()) MPC_TRY(masters_[i]->redirect(redirects_[i]));
    for (size_t i = blueprint_->preload_count + 1; i-- > 0;) MPC_TRY(load_master(i));
    for (size_t i = 0; i < masters_.size(); ++i) {
      Module& m = modules()[i];
      m.master = find_loaded(masters_[i]->path());
      if (m.master == nullptr)
        return Error{Errc::kInternal, fmt::format("{}: not loaded", m.file->path())};
      masters_[i]->keep();
      ::dlinfo(m.master, RTLD_DI_TLS_MODID, &m.tls_module);
    }
    for (Module& m : modules()) m.master->l_name = const_cast<char*>("");  // gdb: skip
    return {};
  }

  Result<> load_master(size_t index) {
    if (::dlopen(masters_[index]->path().c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr)
      return {};
    std::string text = ::dlerror();
    for (size_t i = 0; i < masters_.size(); ++i)
      for (size_t at; (at = text.find(masters_[i]->path())) != std::string::npos;)
        text.replace(at, masters_[i]->path().size(), modules()[i].file->path());
    return Error{Errc::kImage, text};
  }

  static link_map* find_loaded(const std::string& path) {
    void* self = ::dlopen(nullptr, RTLD_LAZY);
    auto* map = static_cast<link_map*>(self);
    while (map != nullptr && path != map->l_name) map = map->l_next;
    ::dlclose(self);
    return map;
  }

  void lay_out_module(Module& m) {
    size_t file_end = 0;
    size_t memory_end = 0;
    m.data_begin = SIZE_MAX;
    for (const Elf64_Phdr& p : m.file->segments()) {
      if (p.p_type != PT_LOAD) continue;
      if ((p.p_flags & PF_W) != 0)
        m.data_begin = std::min(m.data_begin, page_floor(p.p_vaddr));
      if (p.p_vaddr >= m.data_begin) file_end = page_ceil(p.p_vaddr + p.p_filesz);
      memory_end = std::max(memory_end, p.p_vaddr + p.p_memsz);
      if (p.p_vaddr < m.data_begin) add_text(m, p);
    }
    m.data_end = page_ceil(memory_end);
    if (m.data_begin == SIZE_MAX) m.data_begin = file_end = m.data_end;
    m.data_file_end = file_end;
    if (&m == &modules()[0]) {  // libc's variables in the slack of the program's bss
      blueprint_->variables_offset = (memory_end + 15) & ~size_t{15};
      m.data_end = page_ceil(blueprint_->variables_offset + variables_bytes_);
      if (m.data_file_end == m.data_begin) m.data_file_end = m.data_end;
    }
    // Close the gap before the data, so that it is no mapping of its own.
    if (!m.text.empty()) m.text.back().bytes = m.data_begin - m.text.back().vaddr;
    m.is_bss_in_image = m.data_end - m.data_file_end <= kSmallBssBytes;
    m.span_bytes = m.data_end;
  }

  // Neighbours with the same distance between address and file offset become one mapping.
  static void add_text(Module& m, const Elf64_Phdr& p) {
    const size_t vaddr = page_floor(p.p_vaddr);
    const size_t offset = page_floor(p.p_offset);
    const size_t end = page_ceil(p.p_vaddr + p.p_filesz);
    const int protection = PROT_READ | ((p.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    if (!m.text.empty()) {
      FileMap& last = m.text.back();
      if (vaddr - last.vaddr == offset - last.file_offset) {
        last.bytes = end - last.vaddr;
        last.protection |= protection;
        return;
      }
      last.bytes = vaddr - last.vaddr;
    }
    m.text.push_back({vaddr, end - vaddr, offset, protection});
  }

  void lay_out_bundle() {
    size_t at = 0;
    size_t image = 0;
    for (Module& m : modules()) {
      const size_t alignment = m.file->alignment();
      blueprint_->alignment = std::max(blueprint_->alignment, alignment);
      at = (at + alignment - 1) & ~(alignment - 1);
      m.bundle_offset = at;
      at += m.span_bytes;
      m.image_offset = image;
      image += (m.is_bss_in_image ? m.data_end : m.data_file_end) - m.data_begin;
    }
    blueprint_->bundle_bytes =
        (at + blueprint_->alignment - 1) & ~(blueprint_->alignment - 1);
    blueprint_->image_bytes = image;
  }

  // Copies the masters' relocated data and turns its pointers into bundle offsets.
  Result<> make_image() {
    auto fd = make_memory_file("mpc-data", blueprint_->image_bytes);
    if (!fd) return fd.error();
    blueprint_->image_fd = *fd;
    char* image = nullptr;
    if (blueprint_->image_bytes > 0) {
      void* map = ::mmap(nullptr, blueprint_->image_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED, *fd, 0);
      if (map == MAP_FAILED)
        return Error{Errc::kNoMem,
                     fmt::format("cannot map {} bytes of program data: {}",
                                 blueprint_->image_bytes, std::strerror(errno))};
      image = static_cast<char*>(map);
    }
    for (const Module& m : modules()) copy_data(m, image);
    Relocator relocator(*blueprint_, image, variables_);
    const Result<> done = relocator.run();
    if (image != nullptr) ::munmap(image, blueprint_->image_bytes);
    if (!done) return done.error();
    std::sort(blueprint_->slots.begin(), blueprint_->slots.end());
    return {};
  }

  static void copy_data(const Module& m, char* image) {
    for (const Elf64_Phdr& p : m.file->segments()) {
      if (p.p_type != PT_LOAD || p.p_vaddr + p.p_filesz <= m.data_begin) continue;
      const size_t begin = std::max(page_floor(p.p_vaddr), m.data_begin);
      const size_t end = p.p_vaddr + p.p_filesz;
      std::memcpy(image + m.image_offset + (begin - m.data_begin),
                  reinterpret_cast<const char*>(m.master_base() + begin), end - begin);
    }
  }

  void order_hooks() {
    for (Module& m : modules()) {
      const ElfFile& f = *m.file;
      m.hooks = {f.dynamic_value(DT_INIT),
                 f.dynamic_value(DT_INIT_ARRAY),
                 f.dynamic_value(DT_INIT_ARRAYSZ) / sizeof(void*),
                 f.dynamic_value(DT_FINI),
                 f.dynamic_value(DT_FINI_ARRAY),
                 f.dynamic_value(DT_FINI_ARRAYSZ) / sizeof(void*)};
    }
    std::vector<bool> seen(modules().size());
    visit(0, seen);
  }

  void visit(size_t index, std::vector<bool>& seen) {
    if (seen[index]) return;
    seen[index] = true;
    const std::vector<size_t>& needs = modules()[index].needs;
    for (auto it = needs.rbegin(); it != needs.rend(); ++it) visit(*it, seen);
    blueprint_->init_order.push_back(index);
  }

  void count_maps() {
    for (const Module& m : modules()) {
      blueprint_->maps_per_copy += static_cast<int>(m.text.size()) +
                                   (m.data_file_end > m.data_begin) +
                                   (!m.is_bss_in_image && m.data_end > m.data_file_end);
    }
  }

  const BlueprintOptions& options_;
  const std::vector<PrivateVariable>& variables_;
  const size_t variables_bytes_;
  std::unique_ptr<Blueprint> blueprint_;
  std::vector<std::unique_ptr<MasterFile>> masters_;           // one per module
  std::vector<std::map<std::string, std::string>> redirects_;  // name to path
  std::vector<std::vector<std::string>> inherited_paths_;
};

Result<std::unique_ptr<Blueprint>> Blueprint::make(
    const std::string& path, const BlueprintOptions& options,
    const std::vector<PrivateVariable>& variables, size_t variables_bytes) {
  return BlueprintMaker(options, variables, variables_bytes).make(path);
}

}  // namespace mpc::loader
