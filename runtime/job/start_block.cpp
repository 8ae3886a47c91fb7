#include "runtime/job/start_block.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/job/growing_table.h"
#include "runtime/job/rank.h"

namespace mpc::job {
namespace {

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 1;
  return bytes;
}

// The values that the kernel gave this process, without those about the file of mpcrun.
std::vector<Elf64_auxv_t> auxiliary_vector() {
  constexpr uint64_t kLastKind = 51;  // AT_MINSIGSTKSZ, the highest so far
  std::vector<Elf64_auxv_t> out;
  for (uint64_t kind = AT_PAGESZ; kind <= kLastKind; ++kind) {
    if (kind == AT_BASE || kind == AT_ENTRY || kind == AT_NOTELF) continue;
    errno = 0;
    const uint64_t value = ::getauxval(kind);
    if (value != 0 || errno == 0) out.push_back({kind, {value}});
  }
  out.push_back({AT_NULL, {0}});
  return out;
}

// Appends the strings at `text` and pointers to them, followed by a null, at `slot`.
void put(const std::vector<std::string>& texts, char**& slot, char*& text) {
  for (const std::string& one : texts) {
    std::memcpy(text, one.c_str(), one.size() + 1);
    *slot++ = text;
    text += one.size() + 1;
  }
  *slot++ = nullptr;
}

// Each rank writes its own slot, before it has threads.
GrowingTable<StartBlock>& blocks() {
  static auto* const all = new GrowingTable<StartBlock>;
  return *all;
}

}  // namespace

void StartBlock::reserve(int ranks) { blocks().grow(static_cast<size_t>(ranks)); }

const StartBlock& StartBlock::give(const Rank& rank,
                                   std::unique_ptr<StartBlock> block) {
  const StartBlock& given = *block;
  blocks().put(static_cast<size_t>(rank.world_rank), std::move(block));
  return given;
}

const StartBlock* StartBlock::of(const Rank& rank) noexcept {
  return blocks().get(static_cast<size_t>(rank.world_rank));
}

StartBlock::StartBlock(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment,
                       const std::string& path, const std::string& file)
    : argc_(static_cast<int>(arguments.size())),
      path_(path),
      file_(file),
      argument_bytes_(bytes_of(arguments)),
      environment_bytes_(bytes_of(environment)) {
  std::vector<Elf64_auxv_t> auxiliary = auxiliary_vector();
  const size_t auxiliary_words =
      auxiliary.size() * sizeof(Elf64_auxv_t) / sizeof(char*);
  const size_t words = arguments.size() + environment.size() + 2 + auxiliary_words;
  const size_t text_words =
      (argument_bytes_ + environment_bytes_ + sizeof(char*) - 1) / sizeof(char*);
  memory_.reset(new char*[words + text_words]);
  char** slot = memory_.get();
  text_ = reinterpret_cast<char*>(memory_.get() + words);
  char* text = text_;
  put(arguments, slot, text);
  put(environment, slot, text);
  for (Elf64_auxv_t& entry : auxiliary)
    if (entry.a_type == AT_EXECFN)
      entry.a_un.a_val = reinterpret_cast<uint64_t>(path_.c_str());
  std::memcpy(slot, auxiliary.data(), auxiliary.size() * sizeof(Elf64_auxv_t));
}

std::string_view StartBlock::argument_text() const noexcept {
  return {text_, argument_bytes_};
}
std::string_view StartBlock::environment_text() const noexcept {
  return {text_ + argument_bytes_, environment_bytes_};
}

}  // namespace mpc::job
