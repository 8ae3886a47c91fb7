// Each kind of damage that the dynamic linker would not survive is found before it is asked.

#include "runtime/loader/integrity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "runtime/loader/program_check.h"

namespace mpc::loader {
namespace {

const std::string kPrograms = PROGRAMS;
constexpr int64_t kOtherTag = 0x60000001;  // means nothing to anybody

// The bytes of a program of mpcc, to be damaged.
class Bytes {
 public:
  explicit Bytes(const std::string& name) : original_(open(kPrograms + "/" + name)) {
    std::ifstream file(original_->path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    text_ = text.str();
  }

  static std::unique_ptr<ElfFile> open(const std::string& path) {
    auto file = ElfFile::open(path);
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
    return std::move(file).value();
  }

  // The first program header of this type.
  Elf64_Phdr& segment(uint32_t type) {
    return at<Elf64_Phdr>(offset_of(original_->segment(type)));
  }
  // The last of those that are loaded: data.
  Elf64_Phdr& data() {
    const Elf64_Phdr* found = nullptr;
    for (const Elf64_Phdr& p : original_->segments())
      if (p.p_type == PT_LOAD) found = &p;
    return at<Elf64_Phdr>(offset_of(found));
  }
  Elf64_Dyn& entry(int64_t tag) {
    for (const Elf64_Dyn& d : original_->dynamic())
      if (d.d_tag == tag) return at<Elf64_Dyn>(offset_of(&d));
    ADD_FAILURE() << "no entry " << tag;
    return at<Elf64_Dyn>(0);
  }
  // What an entry of the dynamic section points to.
  template <class T>
  T& table(int64_t tag, size_t index = 0) {
    return at<T>(original_->offset_of(original_->dynamic_value(tag)) +
                 index * sizeof(T));
  }
  size_t symbols() const { return original_->dynamic_symbols().size(); }

  static std::string refusal_of(const std::string& path) {
    const auto file = ElfFile::open(path);
    if (!file) return file.error().message;
    const auto checked = check_program(**file);
    return checked ? "" : checked.error().message;
  }
  // The message about the damaged file, or "".
  std::string refusal() const {
    // Other tests of this file run at the same time, as processes of their own.
    const std::string path = kPrograms + "/damaged_tables" + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary) << text_;
    ::chmod(path.c_str(), 0755);
    const std::string message = refusal_of(path);
    ::unlink(path.c_str());
    return message;
  }

 private:
  size_t offset_of(const void* place) const {
    return static_cast<size_t>(static_cast<const char*>(place) - original_->bytes());
  }
  template <class T>
  T& at(size_t offset) {
    return *reinterpret_cast<T*>(text_.data() + offset);
  }

  std::unique_ptr<ElfFile> original_;
  std::string text_;
};

struct Damage {
  const char* found;
  std::function<void(Bytes&)> make;
};

void expect_found(const char* program, const std::vector<Damage>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    Bytes bytes(program);
    ASSERT_EQ(bytes.refusal(), "");
    all[i].make(bytes);
    EXPECT_NE(bytes.refusal().find(all[i].found), std::string::npos)
        << "wanted: " << all[i].found << "\n   got: " << bytes.refusal();
  }
}

TEST(Integrity, FindsNoDamageInWhatLinkersMake) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kPrograms)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || name.find("text_relocation") != name.npos ||
        name == "truncated" || name.starts_with("damaged"))
      continue;
    const auto file = ElfFile::open(entry.path());
    if (!file || (*file)->segment(PT_DYNAMIC) == nullptr) continue;
    EXPECT_EQ(find_damage(**file), nullptr) << name << ": " << find_damage(**file);
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST(Integrity, FindsDamagedSegments) {
  expect_found(
      "globals",
      {{"overlap", [](Bytes& b) { b.data().p_vaddr -= uint64_t{1} << 13; }},
       {"alignment of a segment", [](Bytes& b) { b.data().p_align = 3; }},
       {"place of a segment", [](Bytes& b) { b.data().p_vaddr += 8; }},
       {"dynamic section", [](Bytes& b) { b.segment(PT_DYNAMIC).p_vaddr += 16; }},
       {"dynamic section", [](Bytes& b) { b.data().p_flags = PF_R; }},
       {"thread_local",
        [](Bytes& b) { b.segment(PT_TLS).p_memsz = uint64_t{1} << 45; }},
       {"thread_local", [](Bytes& b) { b.segment(PT_TLS).p_align = 7; }},
       {"note", [](Bytes& b) { b.segment(PT_GNU_EH_FRAME).p_vaddr = 1 << 30; }},
       {"twice", [](Bytes& b) { b.segment(PT_GNU_STACK).p_type = PT_GNU_RELRO; }},
       {"read-only after",
        [](Bytes& b) { b.segment(PT_GNU_RELRO).p_memsz = uint64_t{1} << 30; }}});
}

TEST(Integrity, FindsADamagedDynamicSection) {
  expect_found(
      "globals",
      {{"strings", [](Bytes& b) { b.entry(DT_STRSZ).d_un.d_val = 1 << 30; }},
       {"strings", [](Bytes& b) { b.entry(DT_STRTAB).d_tag = kOtherTag; }},
       {"name of a library", [](Bytes& b) { b.entry(DT_NEEDED).d_un.d_val = 1 << 30; }},
       {"name of a library",
        [](Bytes& b) {
          b.entry(DT_DEBUG).d_un.d_val = 0;
          b.entry(DT_DEBUG).d_tag = DT_FILTER;
        }},
       {"twice", [](Bytes& b) { b.entry(DT_RELAENT).d_tag = DT_RELASZ; }},
       {"symbols", [](Bytes& b) { b.entry(DT_SYMENT).d_un.d_val = 7; }},
       {"symbols", [](Bytes& b) { b.entry(DT_SYMTAB).d_un.d_ptr = 1 << 30; }}});
}

TEST(Integrity, FindsDamagedTables) {
  expect_found(
      "globals",
      {{"name of a symbol",
        [](Bytes& b) { b.table<Elf64_Sym>(DT_SYMTAB, 1).st_name = ~0u; }},
       {"indirect function",
        [](Bytes& b) {
          Elf64_Sym& s = b.table<Elf64_Sym>(DT_SYMTAB, b.symbols() - 1);
          s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
          s.st_shndx = 1;
          s.st_value = 1 << 30;
        }},
       {"hash table", [](Bytes& b) { b.table<uint32_t>(DT_GNU_HASH, 2) = 3; }},
       {"hash table", [](Bytes& b) { b.table<uint32_t>(DT_GNU_HASH, 0) = 1 << 30; }},
       {"hash table", [](Bytes& b) { b.entry(DT_GNU_HASH).d_un.d_ptr = 1 << 30; }},
       {"versions", [](Bytes& b) { b.table<uint16_t>(DT_VERSYM, 1) = 0x7ff; }},
       {"versions",
        [](Bytes& b) {
          b.table<Elf64_Verneed>(DT_VERNEED).vn_file =
              b.table<Elf64_Sym>(DT_SYMTAB, b.symbols() - 1).st_name;
        }},
       {"versions",
        [](Bytes& b) { b.table<Elf64_Verneed>(DT_VERNEED).vn_aux = 1 << 30; }},
       {"versions", [](Bytes& b) { b.entry(DT_VERSYM).d_tag = kOtherTag; }}});
}

TEST(Integrity, FindsDamagedRelocations) {
  expect_found(
      "globals",
      {{"not for its data",
        [](Bytes& b) { b.table<Elf64_Rela>(DT_RELA).r_offset = 0; }},
       {"table of relocations", [](Bytes& b) { b.entry(DT_RELAENT).d_un.d_val = 0; }},
       {"table of relocations", [](Bytes& b) { b.entry(DT_RELASZ).d_un.d_val += 8; }},
       {"table of relocations",
        [](Bytes& b) { b.entry(DT_RELACOUNT).d_un.d_val += 1; }},
       {"table of relocations",
        [](Bytes& b) { b.entry(DT_RELA).d_un.d_ptr = 1 << 30; }},
       {"symbol that is not there",
        [](Bytes& b) {
          b.entry(DT_RELACOUNT).d_un.d_val = 0;
          b.table<Elf64_Rela>(DT_RELA).r_info = ELF64_R_INFO(1 << 20, R_X86_64_64);
        }},
       {"indirect function", [](Bytes& b) {
          b.entry(DT_RELACOUNT).d_un.d_val = 0;
          b.table<Elf64_Rela>(DT_RELA).r_info = R_X86_64_IRELATIVE;
          b.table<Elf64_Rela>(DT_RELA).r_addend = 1 << 30;
        }}});
  expect_found(
      "globals_relr",
      {{"packed relocations", [](Bytes& b) { b.table<uint64_t>(DT_RELR) = 1 << 30; }}});
}

}  // namespace
}  // namespace mpc::loader
