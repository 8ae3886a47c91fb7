// ELF files: whatever a file holds, the loader reads nothing outside of it, and what it gives to
// the dynamic linker is what the dynamic linker expects.

#include "runtime/loader/elf_file.h"

#include <sanitizer/asan_interface.h>

#include <map>
#include <set>

#include "runtime/loader/integrity.h"
#include "runtime/loader/library_search.h"
#include "runtime/loader/master_file.h"
#include "runtime/loader/module_layout.h"
#include "runtime/loader/program_check.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/temporary_file.h"

namespace mpc::loader {
namespace {

// The last page of the mapping is longer than the file.
class PoisonedEnd {
 public:
  explicit PoisonedEnd(const ElfFile& file)
      : begin_(file.bytes() + file.size()),
        bytes_(page_ceil(file.size()) - file.size()) {
    ASAN_POISON_MEMORY_REGION(begin_, bytes_);
  }
  ~PoisonedEnd() { ASAN_UNPOISON_MEMORY_REGION(begin_, bytes_); }
  PoisonedEnd(const PoisonedEnd&) = delete;
  PoisonedEnd& operator=(const PoisonedEnd&) = delete;

 private:
  const char* begin_;
  size_t bytes_;
};

void look_up(const ElfFile& file) {
  for (const char* name : {"mpc_main", "no such symbol", ""}) {
    (void)file.find_definition(name);
    (void)file.find_version(name, "OLD_1");
  }
  size_t index = 0;
  for (const Elf64_Sym& symbol : file.dynamic_symbols()) {
    const std::string_view name = file.dynamic_string(symbol.st_name);
    const char* nearest = nullptr;
    (void)file.find_version(name, file.wanted_version(index++));
    if (file.find_symbol_at(symbol.st_value, &nearest) != nullptr)
      FUZZ_CLAIM(nearest != nullptr && std::strlen(nearest) < file.size());
    constexpr size_t kMost = 50;  // each of them looks at all
    if (index == kMost) break;
  }
}

void ask(const ElfFile& file) {
  for (const std::string& name : file.needed()) (void)check_needed_name(name, file);
  (void)file.soname();
  (void)expand_path_list(file.run_path() + ":" + file.inherited_path(),
                         file.directory());
  (void)file.alignment();
  (void)file.memory_end();
  (void)format_version(file);
  look_up(file);
}

void claim_layout(std::unique_ptr<ElfFile> file) {
  Module module;
  module.file = std::move(file);
  const size_t end = lay_out(module);
  FUZZ_CLAIM(end == module.file->memory_end());
  size_t last = 0;
  for (const FileMap& text : module.text) {
    FUZZ_CLAIM(text.vaddr >= last && text.bytes <= module.data_begin - text.vaddr);
    last = text.vaddr + text.bytes;
  }
  FUZZ_CLAIM(module.data_begin <= module.data_file_end);
  FUZZ_CLAIM(module.data_file_end <= module.data_end && module.data_end >= end);
  (void)hooks_of(*module.file);
}

void make_masters(const ElfFile& file) {
  auto master = MasterFile::make(file);
  if (!master) return;
  (*master)->hold_back_hooks();
  std::map<std::string, std::string> paths;
  for (const std::string& name : file.needed()) paths[name] = "/proc/1/fd/600";
  (void)(*master)->redirect(paths);
  auto plugin = MasterFile::make(file);
  if (!plugin) return;
  (*plugin)->hold_back_hooks();
  (*plugin)->loosen_symbols();
  const auto needed = file.needed();
  (*plugin)->drop_needed({needed.begin(), needed.end()});
  (void)(*plugin)->extend_thread_locals(16);
}

}  // namespace
}  // namespace mpc::loader

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mpc::loader;
  static mpc::fuzz::TemporaryFile temporary;
  temporary.fill(mpc::fuzz::Bytes(data, size).rest());
  auto file = ElfFile::open(temporary.path());
  if (!file) {
    FUZZ_CLAIM(!file.error().message.empty());
    return 0;
  }
  bool is_good = false;
  {
    const PoisonedEnd end(**file);
    ask(**file);
    // A library by its tables, a program by all that a program has.
    is_good = check_plugin(**file).ok();
    is_good = check_program(**file).ok() || is_good;
    if (is_good) make_masters(**file);
  }
  if (is_good) claim_layout(std::move(*file));
  return 0;
}
