#include "runtime/loader/relocation.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/loader/integrity.h"
#include "runtime/loader/module_layout.h"

namespace mpc::loader {
namespace {

// See tools/mpcc/dynamic-list.
bool is_fortran_constant(std::string_view name) { return name.starts_with("mpc_f_"); }

}  // namespace

bool is_heap_function(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "malloc",   "free",          "calloc",         "realloc",
      "memalign", "aligned_alloc", "posix_memalign", "valloc",
      "pvalloc",  "reallocarray",  "cfree",          "malloc_usable_size"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool belongs_to_process(std::string_view name) {
  return is_heap_function(name) || is_fortran_constant(name);
}

Result<> Relocator::run() {
  copied_ = copied_variables(*blueprint_.modules[0].file);
  find_moved_variables();
  find_counterparts();
  for (Module& m : blueprint_.modules) {
    relocate_packed(m);
    MPC_TRY(relocate_table(m, DT_RELA, DT_RELASZ));
    MPC_TRY(relocate_table(m, DT_JMPREL, DT_PLTRELSZ));
  }
  MPC_TRY(copy_variables());
  const auto entry = private_definition("mpc_main");
  if (!entry)
    return Error{Errc::kImage, fmt::format("{}: has no entry 'mpc_main'",
                                           blueprint_.modules[0].file->path())};
  blueprint_.main_offset = *entry;
  return {};
}

Result<> Relocator::relocate_table(Module& m, int64_t table_tag, int64_t bytes_tag) {
  const size_t count = m.file->dynamic_value(bytes_tag) / sizeof(Elf64_Rela);
  const auto table =
      m.file->at_address<Elf64_Rela>(m.file->dynamic_value(table_tag), count);
  if (table.size() != count)
    return Error{Errc::kImage,
                 fmt::format("{}: damaged relocation table", m.file->path())};
  for (const Elf64_Rela& r : table) MPC_TRY(relocate(m, r));
  return {};
}

void Relocator::relocate_packed(Module& m) {
  for_each_packed(*m.file, [&](uint64_t vaddr) {
    if (!in_data(m, vaddr)) return;
    if (const auto target = bundle_offset(word(m, vaddr))) set_slot(m, vaddr, *target);
  });
}

Result<> Relocator::relocate(Module& m, const Elf64_Rela& r) {
  const uint32_t type = ELF64_R_TYPE(r.r_info);
  if (type == R_X86_64_NONE) return {};
  if (!in_data(m, r.r_offset))
    return Error{
        Errc::kImage,
        fmt::format("{}: relocation of type {} outside of its data; compile all "
                    "of it with -fPIC, as mpcc does",
                    m.file->path(), type)};
  switch (type) {
    case R_X86_64_RELATIVE:
    case R_X86_64_RELATIVE64:
      // By its module's base, wherever the sum points (one past the end is usual).
      set_slot(m, r.r_offset, m.bundle_offset + static_cast<uint64_t>(r.r_addend));
      return {};
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_64:
      relocate_symbol(m, r);
      return {};
    case R_X86_64_IRELATIVE:
      if (const auto target = bundle_offset(word(m, r.r_offset)))
        set_slot(m, r.r_offset, *target);
      return {};
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
    case R_X86_64_TLSDESC:
    case R_X86_64_SIZE64:
    case R_X86_64_SIZE32:
    case R_X86_64_COPY:  // copy_variables(), once all others are done
      return {};  // the same for every copy: each rank has its own thread control block
    default:
      return Error{
          Errc::kImage,
          fmt::format("{}: relocation of type {} is not supported; compile all of "
                      "it with -fPIC, as mpcc does",
                      m.file->path(), type)};
  }
}

void Relocator::relocate_symbol(Module& m, const Elf64_Rela& r) {
  const auto symbols = m.file->dynamic_symbols();
  const size_t index = ELF64_R_SYM(r.r_info);
  const std::string_view name =
      index < symbols.size() ? m.file->dynamic_string(symbols[index].st_name) : "";
  const bool has_addend = ELF64_R_TYPE(r.r_info) == R_X86_64_64;
  const uint64_t addend = has_addend ? static_cast<uint64_t>(r.r_addend) : 0;
  const uint64_t address = word(m, r.r_offset) - addend;
  auto target = bundle_offset(address);
  if (const auto variable = private_variable(name); variable && !target) {
    target = variable;
  } else if (!target && address != 0 && !name.empty() && !belongs_to_process(name)) {
    // The dynamic linker searches the process before the program; a normal start would have
    // searched in the opposite order (a profiling library's MPI_Send, a template's
    // static variable).
    target = private_definition(name);
  } else if (blueprint_.preload_count > 0 && target && !name.empty()) {
    if (const auto preloaded = preloaded_definition(name)) target = preloaded;
  }
  if (target) set_slot(m, r.r_offset, *target + addend);
}

// The program's own instance serves all code of the rank, ours included.
void Relocator::find_moved_variables() {
  for (const CopiedVariable& copied : copied_) {
    blueprint_.held.insert(copied.name);
    for (const PrivateVariable& v : variables_)
      if (std::find(v.names.begin(), v.names.end(), copied.name) != v.names.end())
        blueprint_.moved_variables.push_back({v.offset, copied.vaddr});
  }
}

// A program of the first format asks the dynamic linker for these, and gets those of libmpi_abi.
void Relocator::find_counterparts() {
  const ElfFile& program = *blueprint_.modules[0].file;
  if (!is_executable_format(program)) return;
  for (const Elf64_Sym& s : program.dynamic_symbols()) {
    const char* name = program.dynamic_string(s.st_name);
    if (s.st_shndx == SHN_UNDEF || !is_fortran_constant(name)) continue;
    if (void* shared = ::dlsym(RTLD_DEFAULT, name))
      blueprint_.counterparts.push_back(
          {s.st_value, s.st_size, static_cast<char*>(shared)});
  }
}

char* Relocator::program_data(uint64_t vaddr) const {
  const Module& program = blueprint_.modules[0];
  return image_ + program.image_offset + (vaddr - program.data_begin);
}

Result<> Relocator::copy_variables() {
  const auto& modules = blueprint_.modules;
  for (const CopiedVariable& v : copied_) {
    if (private_variable(v.name)) continue;
    const Elf64_Sym* symbol = nullptr;
    size_t i = 1;
    for (; i < modules.size() && symbol == nullptr; ++i)
      symbol = modules[i].file->find_version(v.name, v.version);
    if (symbol != nullptr) {
      const ElfFile& library = *modules[i - 1].file;
      if (!integrity::segment_around(library, symbol->st_value, symbol->st_size))
        return Error{Errc::kImage, fmt::format("{}: it is damaged: the place of '{}'",
                                               library.path(), v.name)};
      copy_from_module(modules[i - 1], *symbol, v);
      continue;
    }
    const auto source = shared_source(v, modules);
    if (!source) return source.error();
    std::memcpy(program_data(v.vaddr), source->data(), source->size());
  }
  return {};
}

// Bytes as the library's copies have them, and its pointers as pointers.
void Relocator::copy_from_module(const Module& m, const Elf64_Sym& from,
                                 const CopiedVariable& to) {
  char* target = program_data(to.vaddr);
  const size_t bytes = std::min<size_t>(to.bytes, from.st_size);
  if (from.st_value < m.data_begin) {  // constants
    std::memcpy(target, reinterpret_cast<const char*>(m.master_base() + from.st_value),
                bytes);
    return;
  }
  if (from.st_value >= m.data_file_end) return;  // zero
  std::memcpy(target, image_ + m.image_offset + (from.st_value - m.data_begin),
              std::min<size_t>(bytes, m.data_file_end - from.st_value));
  const size_t begin = m.bundle_offset + from.st_value;
  for (size_t i = 0, count = blueprint_.slots.size(); i < count; ++i)
    if (const size_t slot = blueprint_.slots[i]; slot >= begin && slot < begin + bytes)
      blueprint_.slots.push_back(to.vaddr + (slot - begin));
}

bool Relocator::in_data(const Module& m, uint64_t vaddr) const {
  return vaddr >= m.data_begin && vaddr + sizeof(uint64_t) <= m.data_file_end;
}

uint64_t Relocator::word(const Module& m, uint64_t vaddr) const {
  uint64_t value;
  std::memcpy(&value, image_ + m.image_offset + (vaddr - m.data_begin), sizeof value);
  return value;
}

void Relocator::set_word(Module& m, uint64_t vaddr, uint64_t value) {
  std::memcpy(image_ + m.image_offset + (vaddr - m.data_begin), &value, sizeof value);
}

void Relocator::set_slot(Module& m, uint64_t vaddr, uint64_t target) {
  set_word(m, vaddr, target);
  blueprint_.slots.push_back(m.bundle_offset + vaddr);
  const Elf64_Phdr* tls = m.file->segment(PT_TLS);
  if (tls != nullptr && vaddr >= tls->p_vaddr && vaddr < tls->p_vaddr + tls->p_filesz)
    m.tls_slots.push_back({vaddr - tls->p_vaddr, target});
}

std::optional<size_t> Relocator::bundle_offset(uintptr_t address) const {
  for (const Module& m : blueprint_.modules)
    if (address >= m.master_base() && address <= m.master_base() + m.file->memory_end())
      return m.bundle_offset + (address - m.master_base());
  return std::nullopt;
}

std::optional<size_t> Relocator::private_definition(std::string_view name) const {
  for (const Module& m : blueprint_.modules)
    if (const Elf64_Sym* symbol = m.file->find_definition(name))
      return m.bundle_offset + symbol->st_value;
  return std::nullopt;
}

// The program's own definition takes precedence over that of a preloaded library.
std::optional<size_t> Relocator::preloaded_definition(std::string_view name) const {
  for (size_t i = 0; i <= blueprint_.preload_count; ++i) {
    const Module& m = blueprint_.modules[i];
    if (const Elf64_Sym* symbol = m.file->find_definition(name))
      return m.bundle_offset + symbol->st_value;
  }
  return std::nullopt;
}

std::optional<size_t> Relocator::private_variable(std::string_view name) const {
  for (const PrivateVariable& v : variables_)
    for (const std::string& n : v.names)
      if (n == name) return blueprint_.place_of_variable(v.offset);
  return std::nullopt;
}

}  // namespace mpc::loader
