#include "runtime/job/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "base/fnv.h"
#include "base/settings.h"
#include "base/version.h"

namespace mpc::job {
namespace {

constexpr char kCard[] = "mpc.card";
constexpr char kSettings[] = "mpc.settings";

// Settings that determine what a process does with messages
// and collectives. The others are its own affair.
constexpr std::string_view kAgreed[] = {"message.", "nbc.", "net.", "mpi."};

constexpr size_t kHeadWords = 11;

void append(std::vector<int32_t>& words, uint64_t value) {
  words.push_back(static_cast<int32_t>(value >> 32));
  words.push_back(static_cast<int32_t>(value));
}

uint64_t joined(int32_t high, int32_t low) noexcept {
  return static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
         static_cast<uint32_t>(low);
}

std::string_view next_line(std::string_view& text) noexcept {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string text_of(const wireup::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

wireup::Bytes bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

// The error for settings that differ, since their hashes do.
Error mismatch(wireup::Wireup& wireup, int other) {
  auto theirs = wireup.get(other, kSettings);
  if (!theirs) return theirs.error();
  return {Errc::kArg,
          fmt::format("process {} of the job runs with {}, and process {} with other "
                      "values: all processes of a job need the same settings",
                      wireup.index(),
                      first_difference(settings_text(), text_of(*theirs)), other)};
}

}  // namespace

wireup::Bytes encode(const Card& card) {
  std::vector<int32_t> words = {card.ranks, card.local.first, card.local.end,
                                card.application_workers};
  append(words, card.settings);
  words.push_back(static_cast<int32_t>(fnv_of(version_text())));
  append(words, card.host);
  words.push_back(card.cores);
  words.push_back(static_cast<int32_t>(card.builds.size()));
  for (const uint64_t build : card.builds) append(words, build);
  words.insert(words.end(), card.workers.begin(), card.workers.end());
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

Result<Card> decode(const wireup::Bytes& bytes) {
  std::vector<int32_t> words(bytes.size() / sizeof(int32_t));
  if (!words.empty())
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(int32_t));
  const Error foreign{Errc::kSystem,
                      "another process of the job is of another version of mpcrun"};
  if (words.size() < kHeadWords ||
      words[6] != static_cast<int32_t>(fnv_of(version_text())))
    return foreign;
  Card card;
  card.ranks = words[0];
  card.local = {words[1], words[2]};
  card.application_workers = words[3];
  card.settings = joined(words[4], words[5]);
  card.host = joined(words[7], words[8]);
  card.cores = words[9];
  const auto builds = static_cast<size_t>(std::max(words[10], 0));
  if (builds > (words.size() - kHeadWords) / 2) return foreign;
  auto at = words.begin() + kHeadWords;
  for (size_t i = 0; i < builds; ++i, at += 2)
    card.builds.push_back(joined(at[0], at[1]));
  card.workers.assign(at, words.end());
  if (card.local.size() < 0 ||
      card.workers.size() != static_cast<size_t>(card.local.size()))
    return foreign;
  return card;
}

std::string settings_text() {
  std::string out;
  for (const SettingBase* setting : Settings::all()) {
    const std::string_view name = setting->name();
    if (std::any_of(std::begin(kAgreed), std::end(kAgreed),
                    [&](std::string_view prefix) { return name.starts_with(prefix); }))
      out += fmt::format("{}={}\n", name, setting->text());
  }
  return out;
}

std::string first_difference(std::string_view here, std::string_view there) {
  while (!here.empty() || !there.empty()) {
    const std::string_view one = next_line(here), other = next_line(there);
    if (one != other) return fmt::format("{} (there {})", one, other);
  }
  return "";
}

int cores_of(const std::vector<Card>& cards) {
  std::map<uint64_t, int> of_host;
  for (const Card& card : cards)
    of_host[card.host] = std::max(of_host[card.host], card.cores);
  int cores = 0;
  for (const auto& [host, count] : of_host) cores += count;
  return cores;
}

std::string other_build(const std::vector<Card>& cards,
                        const std::vector<std::string>& names) {
  for (size_t what = 0; what < names.size(); ++what) {
    const auto build_in = [what](const Card& card) {
      return what < card.builds.size() ? card.builds[what] : 0;
    };
    const auto other = std::ranges::find_if(cards, [&](const Card& card) {
      return build_in(cards[0]) != 0 && build_in(card) != 0 &&
             build_in(card) != build_in(cards[0]);
    });
    if (other == cards.end()) continue;
    return fmt::format(
        "{}: process {} (ranks {}-{}) runs another build of it than process 0; is the "
        "same one "
        "on all hosts?",
        names[what], other - cards.begin(), other->local.first, other->local.end - 1);
  }
  return "";
}

Result<std::vector<Card>> exchange_cards(wireup::Wireup& wireup, const Card& mine) {
  MPC_TRY(wireup.put(kCard, encode(mine)));
  MPC_TRY(wireup.put(kSettings, bytes_of(settings_text())));
  MPC_TRY(wireup.exchange());
  std::vector<Card> cards;
  for (int process = 0; process < wireup.size(); ++process) {
    auto bytes = wireup.get(process, kCard);
    MPC_TRY(bytes);
    auto card = decode(*bytes);
    MPC_TRY(card);
    if (card->settings != mine.settings) return mismatch(wireup, process);
    if (card->ranks != mine.ranks)
      return {Errc::kArg,
              fmt::format("process {} of the job has {} ranks in all, and "
                          "process {} has {}: their command lines differ",
                          wireup.index(), mine.ranks, process, card->ranks)};
    cards.push_back(std::move(*card));
  }
  return cards;
}

}  // namespace mpc::job
