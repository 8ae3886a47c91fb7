#include "runtime/loader/program_check.h"

#include <dlfcn.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/copied_variables.h"
#include "runtime/loader/fixed_thread_locals.h"
#include "runtime/loader/integrity.h"
#include "runtime/loader/relocation.h"
#include "runtime/loader/tool_hints.h"

namespace mpc::loader {
namespace {

constexpr const char* kRecompile =
    "compile and link it with mpcc, mpcxx or mpcfort (all objects, without -static)";

Error refuse(const ElfFile& file, std::string_view reason, std::string_view way_out) {
  return Error{Errc::kImage, fmt::format("{}: {}; {}, {}", file.path(), reason, way_out,
                                         kOwnProcess)};
}

// The error for a file that no process could run either.
Error refuse_always(const ElfFile& file, std::string_view reason,
                    std::string_view way_out) {
  return Error{Errc::kImage, fmt::format("{}: {}; {}", file.path(), reason, way_out)};
}

std::span<const Elf64_Rela> relocations(const ElfFile& file, int64_t table,
                                        int64_t bytes) {
  return file.at_address<Elf64_Rela>(file.dynamic_value(table),
                                     file.dynamic_value(bytes) / sizeof(Elf64_Rela));
}

// Name of the first symbol that needs a relocation of this type, or null.
const char* relocated_symbol(const ElfFile& file, uint32_t type) {
  const auto symbols = file.dynamic_symbols();
  for (const auto table : {relocations(file, DT_RELA, DT_RELASZ),
                           relocations(file, DT_JMPREL, DT_PLTRELSZ)})
    for (const Elf64_Rela& r : table)
      if (ELF64_R_TYPE(r.r_info) == type) {
        const size_t index = ELF64_R_SYM(r.r_info);
        return index < symbols.size() ? file.dynamic_string(symbols[index].st_name)
                                      : "";
      }
  return nullptr;
}

bool refers_to(const ElfFile& file, std::string_view name) {
  for (const Elf64_Sym& symbol : file.dynamic_symbols())
    if (symbol.st_shndx == SHN_UNDEF && file.dynamic_string(symbol.st_name) == name)
      return true;
  return false;
}

bool needs_library(const ElfFile& file, std::string_view beginning) {
  for (const std::string& name : file.needed())
    if (name.starts_with(beginning)) return true;
  return false;
}

// A sanitizer's runtime must be the first in the process; there is one process for all ranks, and
// it existed before the program.
Result<> check_sanitizer(const ElfFile& file) {
  if (refers_to(file, "__tsan_init") && ::dlsym(RTLD_DEFAULT, "__tsan_init") == nullptr)
    return refuse(
        file, "it was compiled with -fsanitize=thread, which does not work for ranks",
        "leave that out; -fsanitize=address and valgrind work");
  if (!refers_to(file, "__asan_init") ||
      ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr)
    return {};
  const bool is_gcc = needs_library(file, "libasan.so");
  const char* options = std::getenv("ASAN_OPTIONS");
  if (is_gcc && options != nullptr &&
      std::strstr(options, "verify_asan_link_order=0") != nullptr)
    return {};  // a user who sets this knows what it means
  return refuse(file,
                "it was compiled with -fsanitize=address, whose library must be in the "
                "process first",
                fmt::format("start it by: LD_PRELOAD=$({} -print-file-name={}) "
                            "ASAN_OPTIONS=detect_leaks=0 mpcrun ...",
                            is_gcc ? "gcc" : "clang",
                            is_gcc ? "libasan.so" : "libclang_rt.asan-x86_64.so"));
}

// What a program that was linked as an executable must satisfy (docs/design/0052).
Result<> check_executable_format(const ElfFile& file) {
  for (const Elf64_Sym& s : file.dynamic_symbols())
    if (const char* name = file.dynamic_string(s.st_name);
        s.st_shndx != SHN_UNDEF && is_heap_function(name))
      return refuse(file,
                    fmt::format("it brings its own '{}' along, and has code that was "
                                "compiled without -fPIC",
                                name),
                    "compile that code with -fPIC, or leave the heap to mpcrun");
  const Elf64_Phdr* tls = file.segment(PT_TLS);
  if (tls == nullptr) return {};
  if (!fixed_thread_locals(file))
    return refuse(file,
                  "its thread_local variables are addressed as those of the only "
                  "program of a process (local-exec TLS)",
                  kRecompile);
  if (tls->p_align > kThreadPointerAlignment)
    return refuse(file,
                  fmt::format("code that was compiled without -fPIC has a thread_local "
                              "variable with an alignment of {} bytes",
                              tls->p_align),
                  "compile that code with -fPIC");
  return {};
}

bool lies_on_noexec_mount(const std::string& path) {
  struct statvfs status;
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0;
}

bool has_text_relocations(const ElfFile& file) {
  return file.has_dynamic(DT_TEXTREL) ||
         (file.dynamic_value(DT_FLAGS) & DF_TEXTREL) != 0;
}

Result<> check_common(const ElfFile& file) {
  if (has_text_relocations(file))
    return refuse(file,
                  "its code has to be changed for each address (text relocations)",
                  "compile all of it with -fPIC, as mpcc does");
  if ((file.dynamic_value(DT_FLAGS_1) & DF_1_NOOPEN) != 0)
    return refuse(file, "it is marked as not loadable (-z nodlopen)",
                  "link without that flag");
  for (const std::string& name : file.needed()) MPC_TRY(check_needed_name(name, file));
  if (const char* damage = find_damage(file))
    return refuse_always(file, fmt::format("it is damaged: {}", damage),
                         "make or copy it anew");
  return check_sanitizer(file);
}

}  // namespace

int format_version(const ElfFile& file) {
  for (const Elf64_Phdr& p : file.segments()) {
    if (p.p_type != PT_NOTE) continue;
    // Notes: name size, content size, type; name and content padded to 4 (8 in some).
    const size_t align = p.p_align == 8 ? 8 : 4;
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= p.p_filesz) {
      const char* note = file.bytes() + p.p_offset + at;
      Elf64_Nhdr header;
      std::memcpy(&header, note, sizeof header);
      const size_t content =
          (sizeof header + header.n_namesz + align - 1) & ~(align - 1);
      const size_t end = (content + header.n_descsz + align - 1) & ~(align - 1);
      if (at + content + header.n_descsz > p.p_filesz) break;
      if (header.n_namesz == 4 && std::memcmp(note + sizeof header, "mpc", 4) == 0 &&
          header.n_type == 1 && header.n_descsz == sizeof(int)) {
        int version;
        std::memcpy(&version, note + content, sizeof version);
        return version;
      }
      at += end;
    }
  }
  return 0;
}

Result<> check_needed_name(const std::string& name, const ElfFile& user) {
  for (std::string_view other :
       {"libmpi.so", "libmpich.so", "libmpicxx.so", "libmpifort.so", "libmpi_mpifh.so",
        "libmpichf90.so", "libmpi_cxx.so", "libmpi_usempif08.so"})
    if (name.starts_with(other))
      return refuse_always(
          user, fmt::format("it is linked with another MPI ({})", name), kRecompile);
  return {};
}

Result<> check_program(const ElfFile& file) {
  const Elf64_Ehdr& header = file.header();
  if (format_version(file) == 0) {
    if (const std::string hint = hint_for_tool(file.path()); !hint.empty())
      return refuse(file, "it was not built by mpcc", hint);
  }
  if (file.segment(PT_DYNAMIC) == nullptr)
    return refuse(file,
                  "it is statically linked, so its data cannot be copied per rank",
                  kRecompile);
  if (header.e_type == ET_EXEC)
    return refuse(file, "it is linked for a fixed address (-no-pie)", kRecompile);
  if (file.segment(PT_INTERP) == nullptr && format_version(file) == 0)
    return refuse_always(file, "it is a shared library, not a program", kRecompile);
  if (::access(file.path().c_str(), X_OK) != 0) {
    if (lies_on_noexec_mount(file.path()))
      return Error{
          Errc::kPermission,
          fmt::format("{}: its file system is mounted noexec; copy it to another one",
                      file.path())};
    return Error{Errc::kPermission,
                 fmt::format("{}: is not executable; chmod +x it", file.path())};
  }
  MPC_TRY(check_common(file));
  const int version = format_version(file);
  if (version == 1 && is_executable_format(file))
    MPC_TRY(check_executable_format(file));
  else if (const char* symbol = relocated_symbol(file, R_X86_64_COPY))
    return refuse(file,
                  fmt::format("it was not built by mpcc: it holds its own copy of the "
                              "library variable '{}' (copy relocation)",
                              symbol),
                  kRecompile);
  if (version == 0 && file.segment(PT_TLS) != nullptr)
    return refuse(
        file,
        "it was not built by mpcc: its thread_local variables are addressed as "
        "those of the only program of a process (local-exec TLS)",
        kRecompile);
  if (version == 0) return refuse(file, "it was not built by mpcc", kRecompile);
  if (version != 1)
    return refuse(file,
                  fmt::format("it was linked by a newer mpcc (format {})", version),
                  "link it again with the mpcc of this installation");
  if (file.find_definition("mpc_main") == nullptr)
    return refuse(file, "its entry 'mpc_main' is not visible (version script?)",
                  "do not hide mpc_main in the linker's version script");
  return {};
}

Result<> check_plugin(const ElfFile& file) {
  if (file.header().e_type != ET_DYN || file.segment(PT_DYNAMIC) == nullptr)
    return Error{Errc::kImage,
                 fmt::format("{}: cannot dynamically load executable", file.path())};
  if ((file.dynamic_value(DT_FLAGS_1) & DF_1_PIE) != 0)
    return Error{
        Errc::kImage,
        fmt::format("{}: cannot dynamically load position-independent executable",
                    file.path())};
  if ((file.dynamic_value(DT_FLAGS_1) & DF_1_NOOPEN) != 0)
    return Error{Errc::kImage,
                 fmt::format("{}: shared object cannot be dlopen()ed", file.path())};
  uint64_t data_begin = UINT64_MAX;
  for (const Elf64_Phdr& p : file.segments()) {
    if (p.p_type != PT_LOAD) continue;
    if ((p.p_flags & PF_W) != 0) data_begin = std::min(data_begin, p.p_vaddr);
    if ((p.p_flags & PF_X) != 0 && p.p_vaddr > data_begin)
      return refuse(
          file, "its code lies behind its data, so that ranks cannot share it",
          "link it anew, or share all of it by --set loader.shared_libraries");
  }
  return check_common(file);
}

Result<> check_private_library(const ElfFile& file, const ElfFile& program) {
  if (file.segment(PT_DYNAMIC) == nullptr || file.header().e_type != ET_DYN)
    return refuse(
        file, fmt::format("{} needs it, but it is no shared library", program.path()),
        "build it with mpcc -shared");
  return check_common(file);
}

}  // namespace mpc::loader
