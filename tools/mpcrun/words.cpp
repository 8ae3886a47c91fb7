#include "tools/mpcrun/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/mpcrun/peers.h"

namespace mpc::tools {
namespace {

constexpr char kDigits[] = "0123456789";

struct Word {
  std::string typed, name;
  std::optional<std::string> value;
};

// "-n4" and "-np4" as "-n 4"; srun's "-N1" is refused as "-N 1" is. No other option has its value attached: most launchers' names
// begin with a letter that is an option of ours.
void split_attached_number(Word& word) {
  const size_t digits = word.name.find_first_of(kDigits);
  if (word.value || digits == std::string::npos) return;
  if (word.name.find_first_not_of(kDigits, digits) != std::string::npos) return;
  const std::string letters = word.name.substr(0, digits);
  if (letters != "n" && letters != "c" && letters != "np" && letters != "N") return;
  word.value = word.name.substr(digits);
  word.typed.resize(word.typed.size() - word.value->size());
  word.name = letters;
}

Word read_word(const std::string& text) {
  Word word;
  const size_t equals = text.find('=');
  word.typed = text.substr(0, equals);
  if (equals != std::string::npos) word.value = text.substr(equals + 1);
  word.name = word.typed.substr(word.typed.compare(0, 2, "--") == 0 ? 2 : 1);
  split_attached_number(word);
  return word;
}

const KnownOption* find(const std::vector<KnownOption>& known,
                        const std::string& name) {
  for (const KnownOption& option : known) {
    const auto& names = option.names;
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
}

// `next`: the word behind it, which may be its value.
Error unknown(const Word& word, const std::string& next) {
  // Open MPI's --map-by ppr:2:socket says how many ranks there are, and not where.
  const bool is_count =
      word.name == "map-by" && word.value.value_or(next).compare(0, 3, "ppr") == 0;
  if (const char* advice = advice_for_peer_option(is_count ? "ppr" : word.name)) {
    return {Errc::kArg, fmt::format("{}: {}", word.typed, advice)};
  }
  return {
      Errc::kArg,
      fmt::format("unknown option '{}'\nmpcrun --help shows all options", word.typed)};
}

Result<> add(const Word& word, const KnownOption& option, Words& out) {
  const bool wants_value = !option.value.empty();
  if (!option.is_allowed) {
    return {Errc::kArg, word.typed +
                            " goes before the first program: it holds for the "
                            "whole job"};
  }
  if (wants_value && word.value.value_or("").empty()) {
    return {Errc::kArg,
            fmt::format("{} wants {}, and there is none", word.typed, option.value)};
  }
  if (!wants_value && word.value) {
    return {Errc::kArg,
            fmt::format("{} takes no value: '{}'", word.typed, *word.value)};
  }
  if (!out.typed.emplace(option.full_name, word.typed).second && !option.may_repeat) {
    return {Errc::kArg, word.typed + " is given twice"};
  }
  out.options.push_back(option.full_name + (wants_value ? "=" + *word.value : ""));
  return {};
}

}  // namespace

Result<Words> read_words(const std::vector<std::string>& words,
                         const std::vector<KnownOption>& known) {
  Words out;
  auto next = words.begin();
  while (next != words.end() && next->compare(0, 1, "-") == 0) {
    Word word = read_word(*next++);
    if (word.typed == "--" && !word.value) break;
    const KnownOption* option = find(known, word.name);
    if (option == nullptr) return unknown(word, next != words.end() ? *next : "");
    const bool wants_value = !option->value.empty();
    if (wants_value && !word.value && next != words.end()) word.value = *next++;
    if (auto added = add(word, *option, out); !added) return added.error();
  }
  out.command.assign(next, words.end());
  return out;
}

}  // namespace mpc::tools
