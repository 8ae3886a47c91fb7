#pragma once
// Place: where the processes of several jobs find each other: a lobby's folder, and a door to it.
//
// Role:      part of a port's name, so a process of any host that has the name can enter the lobby.
// Users:     runtime/wireup (lobby, door), mpi/spawn/port_name, runtime/message/abroad.
// Threads:   plain data.
// See also:  runtime/wireup/lobby.h, docs/design/0048-spawn-over-hosts.md.
//
//   /FOLDER                                  known on its own host only
//   @HOST,PORT,KEY,ADDRESS,...,/FOLDER       HOST, KEY: hexadecimal digits

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/wireup/secret.h"

namespace mpc::wireup {

// How a process of another host reaches a process, and proves that it may.
struct DoorAddress {
  int port = 0;  // 0: it cannot
  Secret key{};
  std::vector<std::string> addresses;
};

struct Place {
  std::string folder;
  uint64_t host = 0;  // host_identity(); 0: the caller's own
  DoorAddress door;

  bool has_door() const noexcept { return door.port != 0; }
  // True: both mean one lobby, for a process of that host.
  bool is_same_lobby(const Place& other) const noexcept;
};

// At most `most` characters: leaves out the last addresses if it must, then the door.
std::string text_of(const Place& place, size_t most = SIZE_MAX);
// Nothing: the text, which may be anything, is no place.
std::optional<Place> read_place(std::string_view text);

// The same in all processes that can share memory: those of one kernel, and there of one container.
uint64_t host_identity();

}  // namespace mpc::wireup
