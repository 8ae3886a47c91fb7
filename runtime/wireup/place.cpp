#include "runtime/wireup/place.h"
#include "base/fnv.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace mpc::wireup {
namespace {

constexpr int kMostPort = 65535;
constexpr size_t kMostAddressBytes = 64;

// Up to `separator`; the rest stays in `text`.
std::string_view take_part(std::string_view& text, char separator) noexcept {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, int base, Number* out) noexcept {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool is_address(std::string_view text) noexcept {
  return !text.empty() && text.size() < kMostAddressBytes &&
         text.find_first_not_of("0123456789abcdefABCDEF.:%") == std::string_view::npos;
}

std::string with_addresses(const Place& place, size_t count) {
  char head[64];
  std::snprintf(head, sizeof head, "@%llx,%d,",
                static_cast<unsigned long long>(place.host), place.door.port);
  std::string text = head + text_of(place.door.key) + ",";
  for (size_t i = 0; i < count; ++i) text += place.door.addresses[i] + ",";
  return text + place.folder;
}

}  // namespace

bool Place::is_same_lobby(const Place& other) const noexcept {
  const uint64_t here = host_identity();
  return folder == other.folder &&
         (host != 0 ? host : here) == (other.host != 0 ? other.host : here);
}

std::string text_of(const Place& place, size_t most) {
  if (place.has_door())
    for (size_t count = place.door.addresses.size(); count > 0; --count)
      if (std::string text = with_addresses(place, count); text.size() <= most)
        return text;
  return place.folder;
}

std::optional<Place> read_place(std::string_view text) {
  Place place;
  if (text.starts_with('/')) {
    place.folder = text;
    return place;
  }
  if (!text.starts_with('@')) return std::nullopt;
  text.remove_prefix(1);
  if (!read_number(take_part(text, ','), 16, &place.host) || place.host == 0 ||
      !read_number(take_part(text, ','), 10, &place.door.port) || place.door.port < 1 ||
      place.door.port > kMostPort ||
      !read_secret(take_part(text, ','), &place.door.key))
    return std::nullopt;
  while (!text.empty() && text.front() != '/') {
    const std::string_view address = take_part(text, ',');
    if (!is_address(address)) return std::nullopt;
    place.door.addresses.emplace_back(address);
  }
  if (text.empty() || place.door.addresses.empty()) return std::nullopt;
  place.folder = text;
  return place;
}

uint64_t host_identity() {
  char line[256] = "";
  std::string text;
  if (FILE* boot = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(line, sizeof line, boot) != nullptr) text = line;
    std::fclose(boot);
  }
  const ssize_t length = ::readlink("/proc/self/ns/ipc", line, sizeof line);
  if (length > 0) text.append(line, static_cast<size_t>(length));
  if (::gethostname(line, sizeof line - 1) == 0) text += line;
  return fnv_of(text);
}

}  // namespace mpc::wireup
