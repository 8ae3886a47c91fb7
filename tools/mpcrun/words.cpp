#include "tools/mpcrun/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/check.h"
#include "tools/mpcrun/peers.h"

namespace mpc::tools {
namespace {

constexpr char kDigits[] = "0123456789";

struct Word {
  std::string typed, name;
  std::optional<std::string> value;
};

struct Cursor {
  std::vector<std::string>::const_iterator next, end;
};

// Splits "-n4" and "-np4" into "-n 4"; srun's "-N1" is refused as "-N 1" is. No other option may
// have its value attached, because most launchers' names begin with a letter that is an option of
// ours.
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

// Is this word an option, or the end of them? Then it is no value of the one before.
bool is_option(const std::string& text, const std::vector<KnownOption>& known) {
  if (text == "--") return true;
  if (text.size() < 2 || text[0] != '-') return false;
  const std::string name = read_word(text).name;
  return find(known, name) != nullptr || find_peer_option(name) != nullptr;
}

Error unknown(const Word& word) {
  return {
      Errc::kArg,
      fmt::format("unknown option '{}'\nmpcrun --help shows all options", word.typed)};
}

// --host a --host b: both, as with Open MPI.
bool add_hosts(const Word& word, const KnownOption& option, Words& out) {
  if (option.full_name != "--hosts") return false;
  for (std::string& earlier : out.options)
    if (earlier.starts_with("--hosts=")) earlier += "," + *word.value;
  return true;
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
    if (!has_peer_name() || !wants_value)
      return {Errc::kArg, word.typed + " is given twice"};
    if (add_hosts(word, option, out)) return {};
    std::erase_if(out.options, [&](const std::string& earlier) {
      return earlier.starts_with(option.full_name + "=");
    });
    out.warnings.push_back(
        fmt::format("{} is given twice: {} counts", word.typed, *word.value));
  }
  out.options.push_back(option.full_name + (wants_value ? "=" + *word.value : ""));
  return {};
}

// The `count` words behind a peer's option; if there are two, the first may be NAME=VALUE.
Result<std::vector<std::string>> read_values(const Word& word, int count, Cursor& at) {
  std::vector<std::string> values;
  if (word.value) values.push_back(*word.value);
  while (static_cast<int>(values.size()) < count && at.next != at.end) {
    const bool is_pair = values.size() == 1 && values[0].find('=') != std::string::npos;
    if (is_pair) break;
    values.push_back(*at.next++);
  }
  if (count == 2 && values.size() == 1) {
    const size_t equals = values[0].find('=');
    if (equals != std::string::npos)
      values = {values[0].substr(0, equals), values[0].substr(equals + 1)};
  }
  if (static_cast<int>(values.size()) == count) return values;
  if (count == 0)
    return {Errc::kArg, fmt::format("{} takes no value: '{}'", word.typed, values[0])};
  return {Errc::kArg, fmt::format("{} wants {} behind it", word.typed,
                                  count == 1 ? "a value" : "a name and a value")};
}

// Replaces an option of another launcher by options of ours that do the same.
Result<> add_peer(const Word& word, const std::vector<KnownOption>& known, Cursor& at,
                  Words& out) {
  const PeerOption* peer = find_peer_option(word.name);
  if (peer == nullptr) return unknown(word);
  std::vector<std::string> values;
  if (peer->meaning != PeerMeaning::kRefused) {
    auto read = read_values(word, peer->words, at);
    MPC_TRY(read);
    values = std::move(*read);
  }
  if (peer->meaning == PeerMeaning::kPrograms) {
    if (!out.program_file.empty()) return {Errc::kArg, word.typed + " is given twice"};
    if (values[0].empty())
      return {Errc::kArg, word.typed + " wants a file, and there is none"};
    out.program_file = values[0];
    out.typed.emplace("--configfile", word.typed);
    return {};
  }
  const auto ours = translate(*peer, values);
  if (!ours) {
    const std::string shown = peer->meaning == PeerMeaning::kByValue
                                  ? " " + fmt::format("{}", fmt::join(values, " "))
                                  : "";
    return {Errc::kArg, word.typed + shown + ": " + ours.error().message};
  }
  for (const std::string& one : *ours) {
    Word translated = read_word(one);
    const KnownOption* option = find(known, translated.name);
    CHECK(option != nullptr, "peer_options.def names an option that mpcrun lacks");
    out.foreign.insert(option->full_name);
    translated.typed = word.typed;
    if (auto added = add(translated, *option, out); !added) return added;
  }
  return {};
}

}  // namespace

Result<Words> read_words(const std::vector<std::string>& words,
                         const std::vector<KnownOption>& known) {
  Words out;
  Cursor at{words.begin(), words.end()};
  while (at.next != at.end && at.next->compare(0, 1, "-") == 0) {
    Word word = read_word(*at.next++);
    if (word.typed == "--" && !word.value) break;
    const KnownOption* option = find(known, word.name);
    if (option == nullptr) {
      const auto begin = at.next - 1;
      const bool had_file = !out.program_file.empty();
      if (auto added = add_peer(word, known, at, out); !added) return added.error();
      if (!had_file && !out.program_file.empty()) {
        out.others.assign(words.begin(), begin);
        out.others.insert(out.others.end(), at.next, at.end);
      }
      continue;
    }
    const bool wants_value = !option->value.empty();
    if (wants_value && !word.value && at.next != at.end && !is_option(*at.next, known))
      word.value = *at.next++;
    if (auto added = add(word, *option, out); !added) return added.error();
  }
  out.command.assign(at.next, at.end);
  return out;
}

std::string as_typed(std::string message, const Words& words) {
  for (const auto& [full, typed] : words.typed) {
    if (full == typed) continue;
    for (size_t at = message.find(full); at != std::string::npos;
         at = message.find(full, at + typed.size())) {
      const char behind =
          at + full.size() < message.size() ? message[at + full.size()] : ' ';
      if (std::isalnum(static_cast<unsigned char>(behind)) != 0 || behind == '-') {
        at += full.size();  // a longer name: --host, --hostfile
        continue;
      }
      message.replace(at, full.size(), typed);
    }
  }
  return message;
}

}  // namespace mpc::tools
