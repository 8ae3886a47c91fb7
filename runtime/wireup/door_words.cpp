#include "runtime/wireup/door_words.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/wireup/tcp.h"

namespace mpc::wireup {

void append(Words& words, const DoorAddress& door, const Secret& key) {
  const Challenge salt = make_secret();
  words.push_back(std::to_string(door.port));
  words.push_back(text_of(salt));
  words.push_back(text_of(masked(door.key, key, salt)));
  words.insert(words.end(), door.addresses.begin(), door.addresses.end());
}

bool read(const Words& words, size_t from, const Secret& key, DoorAddress* out) {
  Challenge salt;
  Secret hidden;
  if (words.size() < from + 4 || !read_secret(words[from + 1], &salt) ||
      !read_secret(words[from + 2], &hidden))
    return false;
  out->port = std::atoi(words[from].c_str());
  out->key = masked(hidden, key, salt);
  out->addresses.assign(words.begin() + static_cast<long>(from) + 3, words.end());
  return out->port > 0;
}

Result<OwnedFd> call_by_door(const DoorAddress& door, uint64_t wish) {
  std::string tried;
  for (const std::string& address : door.addresses) {
    OwnedFd fd(connect_with(door.key, address, door.port, wish));
    if (fd.get() >= 0) {
      notice_silence(fd.get());
      return fd;
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", address,
                         errno == EPERM || errno == ECONNRESET
                             ? "nobody there accepts the key"
                             : std::strerror(errno));
  }
  return {Errc::kNotFound,
          fmt::format("the job that has opened it does not answer at port {} ({})",
                      door.port, tried)};
}

}  // namespace mpc::wireup
