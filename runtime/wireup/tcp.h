#pragma once
// Tcp: connections to other hosts whose two ends know one secret.
//
// Role:      listens at all addresses of the host, names them, connects to one of another host, and
//            notices when that host does not answer any more.
// Users:     tools/mpclaunch (head and daemons), runtime/wireup (door, far_lobby), the bridge.
// Threads:   any; functions with a time limit block their thread.
// See also:  runtime/wireup/secret.h, tcp(7).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/wireup/secret.h"

namespace mpc::wireup {

// A socket that listens at all addresses, at a port that the system chooses; it does not block.
// *port: the number of that. -1 and errno: none.
int listen_to_all(int* port);
// The addresses of this host, without those of the loopback interface: "192.168.1.1 fd00::1".
// Those of these interfaces ("eth0,eth1") come first.
std::string own_addresses(std::string_view first_interfaces = {});

// If nothing gets through a connection any more (the cable is pulled, say), it breaks after some
// seconds at both ends. The kernel checks this, so a process that is stopped (Ctrl-Z) does not count
// as lost. What is written is sent at once.
void notice_silence(int fd);

// False and errno: not all bytes have come by then. The descriptor may be non-blocking.
bool receive_by(int fd, void* out, size_t bytes, uint64_t end_ns);
// The same for bytes to send.
bool send_by(int fd, const void* data, size_t bytes, uint64_t end_ns);

// Connects, and both ends prove that they know the secret. `number`: what the listener is told, of its
// own meaning. The descriptor does not block. -1 and errno: nobody is there, or somebody else (EPERM).
int connect_with(const Secret& secret, const std::string& address, int port,
                 uint64_t number);

}  // namespace mpc::wireup
