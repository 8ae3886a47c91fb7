#include "runtime/loader/binding.h"

#include <dlfcn.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/loader/image.h"
#include "runtime/loader/plugin.h"
#include "runtime/loader/plugin_tls.h"
#include "runtime/loader/relocation.h"

// The object that contains this code; the linker defines these symbols.
extern "C" __attribute__((visibility("hidden"))) char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) char _end[];

namespace mpc::loader {
namespace {

bool is_in(const Module& m, uint64_t address) {
  return address >= m.master_base() &&
         address <= m.master_base() + m.file->memory_end();
}

// Ranks have copies of what masters define.
void* unless_of_master(void* address) {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0) return address;
  return is_master(reinterpret_cast<uintptr_t>(info.dli_fbase)) ? nullptr : address;
}

void* find_in_process(void* handle, const std::string& name,
                      const std::string& version) {
  void* found = version.empty() ? ::dlsym(handle, name.c_str())
                                : ::dlvsym(handle, name.c_str(), version.c_str());
  if (found == nullptr) ::dlerror();  // the program must not see this error
  return unless_of_master(replacement_of(name, found));
}

// In the order of loading: the first definition counts for all.
Definition first_unique(std::span<LoadedModule* const> all, const Definition& found,
                        std::string_view name) {
  for (LoadedModule* m : all)
    if (const Elf64_Sym* s = m->module->file->find_version(name, "");
        s != nullptr && ELF64_ST_BIND(s->st_info) == STB_GNU_UNIQUE)
      return {m, s, nullptr};
  return found;
}

// The indirect function's choice, made in the master: an offset in the module.
uint64_t indirect_target(const Module& m, const Elf64_Sym& symbol) {
  const char* name = m.file->dynamic_string(symbol.st_name);
  const auto found = reinterpret_cast<uint64_t>(::dlsym(m.master, name));
  return is_in(m, found) ? found - m.master_base() : symbol.st_value;
}

class Binder {
 public:
  Binder(const LoadedModule& user, const LookupScope& scope, bool binds_now)
      : user_(user), scope_(scope), binds_now_(binds_now) {}

  Result<std::unique_ptr<Binding>> run() {
    for (const Reference& r : user_.plugin->references) MPC_TRY(bind_word(r));
    binding_->owners.assign(owners_.begin(), owners_.end());
    return std::move(binding_);
  }

 private:
  const ElfFile& file() const { return *user_.module->file; }

  Result<> bind_word(const Reference& r) {
    const Elf64_Sym& wanted = file().dynamic_symbols()[r.index];
    const std::string name = file().dynamic_string(wanted.st_name);
    const Definition found = find(r, wanted, name);
    switch (r.type) {
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_64:
        return bind_address(r, wanted, found, name);
      case R_X86_64_SIZE64:
        if (found.symbol != nullptr) put(r, nullptr, found.symbol->st_size + r.addend);
        return {};
      default:
        return bind_thread_local(r, found, name);
    }
  }

  Result<> bind_address(const Reference& r, const Elf64_Sym& wanted,
                        const Definition& found, const std::string& name) {
    if (found.owner != nullptr) {
      put_definition(r, found);
    } else if (found.shared != nullptr) {
      put(r, nullptr, reinterpret_cast<uint64_t>(found.shared) + r.addend);
    } else if (ELF64_ST_BIND(wanted.st_info) == STB_WEAK) {
      put(r, nullptr, r.type == R_X86_64_64 ? r.addend : 0);
    } else if (r.type == R_X86_64_JUMP_SLOT && !binds_now_) {
      binding_->missing.push_back({r.vaddr, r.index});
    } else {
      return undefined(name, r);
    }
    return {};
  }

  void put_definition(const Reference& r, const Definition& found) {
    const Elf64_Sym& s = *found.symbol;
    if (s.st_shndx == SHN_ABS) return put(r, nullptr, s.st_value + r.addend);
    const uint64_t value = ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC
                               ? indirect_target(*found.owner->module, s)
                               : s.st_value;
    put(r, found.owner, value + r.addend);
  }

  // The dynamic linker's word is used where it knew better: in the library itself, or in a library
  // that all ranks share.
  Result<> bind_thread_local(const Reference& r, const Definition& found,
                             const std::string& name) {
    if (found.owner == nullptr)
      return r.master != 0 || r.type == R_X86_64_DTPOFF64 ? Result<>()
                                                          : undefined(name, r);
    const Module& m = *found.owner->module;
    if (r.type == R_X86_64_DTPMOD64) {
      put(r, nullptr, m.tls_module);
    } else if (r.type == R_X86_64_DTPOFF64) {
      put(r, nullptr, found.symbol->st_value + r.addend);
    } else if (found.owner != &user_) {
      if (r.type != R_X86_64_TPOFF64 ||
          (m.file->dynamic_value(DT_FLAGS) & DF_STATIC_TLS) == 0)
        return Error{
            Errc::kImage,
            fmt::format("{}: uses the thread_local '{}' of {} in a way that only a "
                        "library linked with the program can; compile it with "
                        "-ftls-model=global-dynamic -mtls-dialect=gnu",
                        file().path(), name, m.file->path())};
      put(r, nullptr,
          static_cast<uint64_t>(static_thread_offset(m.tls_module)) +
              found.symbol->st_value + r.addend);
    }
    return {};
  }

  Error undefined(const std::string& name, const Reference& r) const {
    const std::string_view version = file().wanted_version(r.index);
    return Error{Errc::kImage,
                 version.empty()
                     ? fmt::format("{}: undefined symbol: {}", file().path(), name)
                     : fmt::format("{}: undefined symbol: {}, version {}",
                                   file().path(), name, version)};
  }

  void put(const Reference& r, LoadedModule* owner, uint64_t value) {
    if (owner != nullptr) owners_.insert(static_cast<uint32_t>(owner->position));
    binding_->words.push_back(
        {r.vaddr, owner != nullptr ? static_cast<uint32_t>(owner->position) : kNoOwner,
         value});
  }

  Definition find(const Reference& r, const Elf64_Sym& wanted,
                  const std::string& name) {
    const bool is_defined = wanted.st_shndx != SHN_UNDEF;
    auto* self = const_cast<LoadedModule*>(&user_);
    if (is_defined && (ELF64_ST_BIND(wanted.st_info) == STB_LOCAL ||
                       ELF64_ST_VISIBILITY(wanted.st_other) != STV_DEFAULT ||
                       user_.plugin->binds_to_self))
      return {self, &wanted, nullptr};
    if (name == "__tls_get_addr") return {nullptr, nullptr, thread_local_function()};
    if (void* variable = Image::find_variable(scope_.instance, name.c_str()))
      return variable_of_program(variable);
    const std::string version(file().wanted_version(r.index));
    return find_for_master(name, version, shared_in_master(r), !is_thread_local(r));
  }

  static bool is_thread_local(const Reference& r) {
    return r.type == R_X86_64_DTPMOD64 || r.type == R_X86_64_DTPOFF64 ||
           r.type == R_X86_64_TPOFF64 || r.type == R_X86_64_TLSDESC;
  }

  // Those of libc's variables that each rank has for itself lie behind the program's data.
  Definition variable_of_program(void* variable) {
    variable_ = {};
    variable_.st_value = static_cast<uint64_t>(static_cast<char*>(variable) -
                                               scope_.global.front()->base);
    variable_.st_shndx = 1;
    return {scope_.global.front(), &variable_, nullptr};
  }

  void* shared_in_master(const Reference& r) const {
    if (is_thread_local(r) || r.master == 0) return nullptr;
    const uint64_t address = r.master - r.addend;
    if (address == 0 || is_in(*user_.module, address)) return nullptr;
    return reinterpret_cast<void*>(address);
  }

 public:
  Definition find_for_master(const std::string& name, const std::string& version,
                             void* shared, bool looks_into_process) {
    if (belongs_to_process(name))
      return {
          nullptr, nullptr,
          shared != nullptr ? shared : find_in_process(RTLD_DEFAULT, name, version)};
    const auto& local = scope_.local;
    Definition found;
    if (scope_.is_deep) found = find_private(local, name, version);
    if (!found.is_found()) found = find_private(exporting(name), name, version);
    if (!found.is_found()) {
      found = find_private(local, name, version);
      // Libc's definition comes before that of the library itself,
      // because libc started with the program.
      if (found.is_found() && shared != nullptr && !is_unique(found) &&
          find_in_process(RTLD_DEFAULT, name, "") == shared)
        found = {nullptr, nullptr, shared};
    }
    if (found.owner != nullptr && is_unique(found))
      return first_unique(scope_.all, found, name);
    if (!found.is_found()) found.shared = shared;
    if (!found.is_found() && looks_into_process) {
      found.shared = find_shared(scope_.global, name, version);
      if (!found.is_found()) found.shared = find_shared(local, name, version);
    }
    if (!found.is_found()) found = find_private(scope_.global.first(1), name, version);
    return found;
  }

 private:
  static bool is_unique(const Definition& found) {
    return found.symbol != nullptr &&
           ELF64_ST_BIND(found.symbol->st_info) == STB_GNU_UNIQUE;
  }

  // Libraries see a program's symbols if it was linked for that (-rdynamic), and the variables that
  // it holds in place of their libraries.
  std::span<LoadedModule* const> exporting(const std::string& name) const {
    return scope_.instance.image().exports_all() ||
                   scope_.instance.image().blueprint().holds(name)
               ? scope_.global
               : scope_.global.subspan(1);
  }

  const LoadedModule& user_;
  const LookupScope& scope_;
  const bool binds_now_;
  std::unique_ptr<Binding> binding_ = std::make_unique<Binding>();
  std::set<uint32_t> owners_;
  Elf64_Sym variable_{};
};

// Everything that a result depends on.
std::vector<uint64_t> key_of(const LookupScope& scope, bool binds_now) {
  std::vector<uint64_t> key = {scope.instance.image().id(),
                               uint64_t{scope.is_deep} * 2 + binds_now};
  for (const LoadedModule* m : scope.all)
    if (m->plugin != nullptr) key.push_back(m->plugin->id);
  for (const auto& part : {scope.global, scope.local}) {
    key.push_back(UINT64_MAX);
    for (const LoadedModule* m : part) key.push_back(m->position);
  }
  return key;
}

}  // namespace

Result<std::shared_ptr<const Binding>> bind(const LoadedModule& user,
                                            const LookupScope& scope, bool binds_now) {
  // Ranks that open and close in ever new orders find nothing here, and must not fill the cache.
  constexpr size_t kMaxBindings = 64;
  Plugin& plugin = *user.plugin;
  binds_now = binds_now || plugin.binds_now;
  std::vector<uint64_t> key = key_of(scope, binds_now);
  std::lock_guard lock(plugin.binding_mutex);
  if (const auto known = plugin.bindings.find(key); known != plugin.bindings.end())
    return known->second;
  auto made = Binder(user, scope, binds_now).run();
  if (!made) return made.error();
  if (plugin.bindings.size() == kMaxBindings) plugin.bindings.clear();
  std::shared_ptr<const Binding> binding = std::move(*made);
  plugin.bindings.emplace(std::move(key), binding);
  return binding;
}

Definition find_for(const LoadedModule& user, const LookupScope& scope,
                    const std::string& name, const std::string& version) {
  return Binder(user, scope, true).find_for_master(name, version, nullptr, true);
}

Definition find_private(std::span<LoadedModule* const> modules, std::string_view name,
                        std::string_view version) {
  for (LoadedModule* m : modules)
    if (const Elf64_Sym* s = m->module->file->find_version(name, version))
      return {m, s, nullptr};
  return {};
}

void* replacement_of(const std::string& name, void* found) {
  if (found == nullptr) return nullptr;
  auto* first = static_cast<char*>(::dlsym(RTLD_DEFAULT, name.c_str()));
  return first >= __ehdr_start && first < _end ? first : found;
}

void* find_shared(std::span<LoadedModule* const> modules, const std::string& name,
                  const std::string& version) {
  if (void* found = find_in_process(RTLD_DEFAULT, name, version)) return found;
  return find_needed_shared(modules, name, version);
}

void* find_needed_shared(std::span<LoadedModule* const> modules,
                         const std::string& name, const std::string& version) {
  for (const LoadedModule* m : modules)
    if (void* found = find_in_process(m->module->master, name, version)) return found;
  return nullptr;
}

void* address_of(const Definition& d) {
  if (d.owner == nullptr) return d.shared;
  const Elf64_Sym& s = *d.symbol;
  const Module& m = *d.owner->module;
  switch (ELF64_ST_TYPE(s.st_info)) {
    case STT_TLS:
      if (d.owner->plugin != nullptr)
        return thread_local_address(*d.owner->plugin, d.owner->base,
                                    d.owner->generation, s.st_value);
      return thread_block(m.tls_module) + s.st_value;
    case STT_GNU_IFUNC:
      return d.owner->base + indirect_target(m, s);
    default:
      return s.st_shndx == SHN_ABS ? reinterpret_cast<void*>(s.st_value)
                                   : d.owner->base + s.st_value;
  }
}

}  // namespace mpc::loader
