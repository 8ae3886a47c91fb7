#include "runtime/loader/copied_variables.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "runtime/loader/registry.h"
#include "runtime/loader/tool_hints.h"

namespace mpc::loader {
namespace {

// Has the library at `base` this address in memory that is read-only once it has started?
struct Search {
  uintptr_t address;
  bool is_read_only;
};

int look_at(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const uintptr_t offset = search.address - info->dlpi_addr;
  bool is_inside = false, is_writable = false, is_relro = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& p = info->dlpi_phdr[i];
    if (offset < p.p_vaddr || offset - p.p_vaddr >= p.p_memsz) continue;
    if (p.p_type == PT_GNU_RELRO) is_relro = true;
    if (p.p_type != PT_LOAD) continue;
    is_inside = true;
    is_writable = (p.p_flags & PF_W) != 0;
  }
  if (!is_inside) return 0;
  search.is_read_only = !is_writable || is_relro;
  return 1;
}

bool is_read_only(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), false};
  return ::dl_iterate_phdr(&look_at, &search) != 0 && search.is_read_only;
}

// Variables that libraries write to, but only at their start: libc's streams, the numbers of libstdc++'s facets
// (std::locale::id), our constants for C programs.
bool keeps_its_value(std::string_view name) {
  if (name == "stdin" || name == "stdout" || name == "stderr") return true;
  return (name.starts_with("_ZNSt") && name.ends_with("2idE")) ||
         name.starts_with("MPI_F_") || name.starts_with("MPI_F08_");
}

const void* find_in(void* handle, const CopiedVariable& v) {
  const void* found = v.version.empty()
                          ? ::dlsym(handle, v.name.c_str())
                          : ::dlvsym(handle, v.name.c_str(), v.version.c_str());
  if (found == nullptr) {
    ::dlerror();  // the program must not see this error
    return nullptr;
  }
  Dl_info info{};
  const bool is_of_master =
      ::dladdr(found, &info) != 0 &&
      Registry::instance().is_master(reinterpret_cast<uintptr_t>(info.dli_fbase));
  return is_of_master ? nullptr : found;
}

// Of the variable there: a library may have another version than the one that the program was linked with.
size_t size_of(const void* variable) {
  Dl_info info{};
  void* symbol = nullptr;
  if (::dladdr1(variable, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr)
    return 0;
  return static_cast<const Elf64_Sym*>(symbol)->st_size;
}

// What the process has, then what only the program's libraries brought.
const void* find_shared_variable(const CopiedVariable& v,
                                 const std::vector<Module>& modules) {
  if (const void* found = find_in(RTLD_DEFAULT, v)) return found;
  for (const Module& m : modules)
    for (const std::string& name : m.file->needed()) {
      void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (library == nullptr) continue;
      const void* found = find_in(library, v);
      ::dlclose(library);
      if (found != nullptr) return found;
    }
  ::dlerror();
  return nullptr;
}

}  // namespace

bool is_executable_format(const ElfFile& program) noexcept {
  return (program.dynamic_value(DT_FLAGS_1) & DF_1_PIE) != 0;
}

std::vector<CopiedVariable> copied_variables(const ElfFile& program) {
  std::vector<CopiedVariable> result;
  const size_t count = program.dynamic_value(DT_RELASZ) / sizeof(Elf64_Rela);
  const auto symbols = program.dynamic_symbols();
  for (const Elf64_Rela& r :
       program.at_address<Elf64_Rela>(program.dynamic_value(DT_RELA), count)) {
    const size_t index = ELF64_R_SYM(r.r_info);
    if (ELF64_R_TYPE(r.r_info) != R_X86_64_COPY || index >= symbols.size()) continue;
    result.push_back({program.dynamic_string(symbols[index].st_name),
                      std::string(program.wanted_version(index)), r.r_offset,
                      symbols[index].st_size});
  }
  return result;
}

Result<std::span<const char>> shared_source(const CopiedVariable& variable,
                                            const std::vector<Module>& modules) {
  const ElfFile& program = *modules[0].file;
  const void* source = find_shared_variable(variable, modules);
  if (source == nullptr)
    return Error{Errc::kImage, fmt::format("{}: undefined symbol: {}", program.path(),
                                           variable.name)};
  // libc changes it when the first thread starts; the process of the ranks has had threads for long.
  static constexpr char kSeveralThreads = 0;
  if (variable.name == "__libc_single_threaded")
    return std::span<const char>(&kSeveralThreads, 1);
  if (is_read_only(source) || keeps_its_value(variable.name))
    return std::span<const char>(static_cast<const char*>(source),
                                 std::min(variable.bytes, size_of(source)));
  Dl_info info{};
  ::dladdr(source, &info);
  return Error{Errc::kImage,
               fmt::format("{}: code that was compiled without -fPIC uses the variable "
                           "'{}' of {}, which "
                           "all ranks share; compile that code with -fPIC, {}",
                           program.path(), variable.name,
                           info.dli_fname != nullptr ? info.dli_fname : "a library",
                           kOwnProcess)};
}

}  // namespace mpc::loader
