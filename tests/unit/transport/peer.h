#pragma once
// Peer: one of two real processes that a test starts.
//
// Role:      this program once more: it opens the network, meets the other one through a socket, and
//            sends and receives.
// Users:     tests/unit/transport.
// Threads:   one.

namespace mpc::transport::test {

// The program's arguments if it is to be such a process: "--peer INDEX SOCKET".
inline constexpr char kPeerOption[] = "--peer";
// Returns the process's exit status; what went wrong is on stderr.
int run_peer(int index, int socket);

}  // namespace mpc::transport::test
