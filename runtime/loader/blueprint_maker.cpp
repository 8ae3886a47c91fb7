#include "runtime/loader/blueprint_maker.h"

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
#include "runtime/loader/copied_variables.h"
#include "runtime/loader/fixed_thread_locals.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/library_sharing.h"
#include "runtime/loader/master_file.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/program_check.h"
#include "runtime/loader/relocation.h"
#include "runtime/loader/tool_hints.h"

namespace mpc::loader {
namespace {

// The second one is right unless the dynamic linker cannot reuse all room of the first.
constexpr int kMostAttempts = 4;

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
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
      if (!must_be_private(name, options_.sharing)) {
        // The master is not in the folder that $ORIGIN means, so give the path.
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

  size_t find_module(const std::string& path) {
    for (size_t i = 0; i < modules().size(); ++i)
      if (modules()[i].file->path() == path) return i;
    return SIZE_MAX;
  }

  // One dlopen of the program's master; its needs lead to the other masters. Preloaded
  // libraries come first, and are found by symbol lookups because lookups of private modules
  // follow our own order (relocation.cpp).
  Result<> load_masters() {
    for (size_t i = 0; i < masters_.size(); ++i)
      if (!redirects_[i].empty()) MPC_TRY(masters_[i]->redirect(redirects_[i]));
    for (size_t i = blueprint_->preload_count + 1; i-- > 0;)
      MPC_TRY(i == 0 ? load_program() : load_master(i));
    for (size_t i = 0; i < masters_.size(); ++i) {
      Module& m = modules()[i];
      m.master = find_loaded(masters_[i]->path());
      if (m.master == nullptr)
        return Error{Errc::kInternal, fmt::format("{}: not loaded", m.file->path())};
      masters_[i]->keep();
      // A library that the program's master brought gets a scope
      // of its own, so that it can be asked.
      ::dlopen(masters_[i]->path().c_str(), RTLD_LAZY | RTLD_NOLOAD);
      ::dlinfo(m.master, RTLD_DI_TLS_MODID, &m.tls_module);
    }
    for (Module& m : modules()) m.master->l_name = const_cast<char*>("");  // gdb: skip
    return {};
  }

  // The first attempt shows how far the thread_locals of other libraries reach, those that come with the program
  // included; then the length is known with which the program's block begins where its code expects it.
  Result<> load_program() {
    const auto fixed = fixed_thread_locals(*modules()[0].file);
    if (!fixed) return load_master(0);
    for (const auto& master : masters_) master->make_closable();
    size_t bytes = std::max<size_t>(fixed->own_bytes, 1);
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      masters_[0]->set_thread_locals(bytes);
      MPC_TRY(load_master(0));
      const size_t distance = thread_distance(find_loaded(masters_[0]->path()));
      if (distance == fixed->distance_bytes || fixed->own_bytes == 0) return {};
      const size_t used = distance - bytes;
      if (used + fixed->own_bytes > fixed->distance_bytes) break;
      bytes = fixed->distance_bytes - used;
      close_program();
    }
    return Error{Errc::kImage,
                 fmt::format("{}: code that was compiled without -fPIC has "
                             "thread_local variables, whose place in each "
                             "thread is taken by a library or by another program of "
                             "the job; compile that "
                             "code with -fPIC, {}",
                             modules()[0].file->path(), kOwnProcess)};
  }

  void close_program() {
    if (link_map* master = find_loaded(masters_[0]->path())) ::dlclose(master);
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
    const size_t memory_end = lay_out(m);
    if (&m != &modules()[0]) return;
    for (const CopiedVariable& v : copied_variables(*m.file))
      extend_file_data(m, v.vaddr + v.bytes);
    // libc's variables in the slack of the program's bss
    blueprint_->variables_offset = (memory_end + 15) & ~size_t{15};
    extend_data(m, blueprint_->variables_offset + variables_bytes_);
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
    for (const Module& m : modules()) copy_master_data(m, image);
    Relocator relocator(*blueprint_, image, variables_);
    const Result<> done = relocator.run();
    if (image != nullptr) ::munmap(image, blueprint_->image_bytes);
    if (!done) return done.error();
    std::sort(blueprint_->slots.begin(), blueprint_->slots.end());
    return {};
  }

  void order_hooks() {
    for (Module& m : modules()) m.hooks = hooks_of(*m.file);
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
      blueprint_->maps_per_instance +=
          static_cast<int>(m.text.size()) + (m.data_file_end > m.data_begin) +
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

}  // namespace

Result<std::unique_ptr<Blueprint>> make_blueprint(
    const std::string& path, const BlueprintOptions& options,
    const std::vector<PrivateVariable>& variables, size_t variables_bytes) {
  return BlueprintMaker(options, variables, variables_bytes).make(path);
}

}  // namespace mpc::loader
