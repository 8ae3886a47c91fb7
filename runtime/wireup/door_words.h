#pragma once
// DoorWords: what a process of another host and a door say to each other.
//
// Role:      how a visitor comes to a door; a message is a length and words, each with a zero at its end.
// Users:     runtime/wireup (door, far_lobby, enter_lobby).
// Threads:   any.
// See also:  runtime/wireup/door.h (which messages there are).

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/wireup/owned_fd.h"
#include "runtime/wireup/place.h"

namespace mpc::wireup {

// What a visitor of a door wants (Answer::host).
inline constexpr uint64_t kWishToEnter = 1, kWishToTalk = 2;
// Connects to a process by its door. Errors: kNotFound, with the addresses that were tried.
Result<OwnedFd> call_by_door(const DoorAddress& door, uint64_t wish);

inline constexpr char kAskToEnter[] = "enter", kAskForSlot[] = "slot",
                      kAskForProcess[] = "process", kAskForDoor[] = "door",
                      kAskToPublish[] = "publish", kAskForName[] = "name",
                      kAskToUnpublish[] = "unpublish";
inline constexpr char kGoodAnswer[] = "ok", kBadAnswer[] = "error";

using Words = std::vector<std::string>;
inline constexpr size_t kMostMessageBytes = 64 << 10;

// A door's address as three words and its addresses: its key is masked by `key`, which both ends know.
void append(Words& words, const DoorAddress& door, const Secret& key);
bool read(const Words& words, size_t from, const Secret& key, DoorAddress* out);

// With its length before it.
inline std::string pack(const Words& words) {
  std::string text;
  for (const std::string& word : words) text.append(word.c_str(), word.size() + 1);
  const auto length = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

inline Words unpack(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Takes a complete message (without its length) from the beginning of what has arrived. Nothing: it is
// not complete; *is_wrong: it never will be.
inline std::optional<std::string> take_message(std::string& arrived, bool* is_wrong) {
  uint32_t length = 0;
  if (arrived.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, arrived.data(), sizeof length);
  *is_wrong = length > kMostMessageBytes;
  if (*is_wrong || arrived.size() - sizeof length < length) return std::nullopt;
  std::string message = arrived.substr(sizeof length, length);
  arrived.erase(0, sizeof length + length);
  return message;
}

}  // namespace mpc::wireup
