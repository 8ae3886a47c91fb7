#pragma once
// Lobby: where the processes of one user's jobs find each other.
//
// Role:      gives the process a slot that no other process has while it lives; connects to the process
//            in a slot; stores names of ports for all of them. A lobby is a folder of a host. A process
//            of that host uses the folder itself, one of another host asks a process that has a door.
// Users:     runtime/message/abroad.cpp, mpi/spawn.
// Threads:   any. In the folder calls wait for microseconds, from another host for a round trip: a door
//            answers at once, whatever the ranks of its process do.
// See also:  runtime/wireup/lobby_folder.h, door.h; docs/design/0039-jobs-that-connect.md,
//            0048-spawn-over-hosts.md.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/wireup/lobby_folder.h"
#include "runtime/wireup/owned_fd.h"
#include "runtime/wireup/place.h"

namespace mpc::wireup {

class Lobby {
 public:
  static constexpr int kMostSlots = LobbyFolder::kMostSlots;
  using Published = LobbyFolder::Published;

  // $XDG_RUNTIME_DIR/mpc, or /tmp/mpc-UID if the user has no such folder.
  static std::string default_folder();
  // `job`: a number that no other job has; `process`: the number of this process in its job. `own`:
  // how processes of other hosts reach this process, if they can.
  // Errors: kPermission: the folder does not belong to the user alone, or nobody there knows the key;
  // kSystem; kNoMem: no slot is free; kUnsupported: it is on another host, and this process has no door.
  static Result<std::unique_ptr<Lobby>> enter(const Place& place, uint64_t job,
                                              int process, const DoorAddress& own = {});
  // The same in a folder of this host.
  static Result<std::unique_ptr<Lobby>> enter(const std::string& folder, uint64_t job,
                                              int process = 0) {
    return enter(Place{folder, 0, {}}, job, process);
  }
  virtual ~Lobby() = default;
  Lobby(const Lobby&) = delete;

  // Where it is; with a door if it is known outside its host.
  const Place& place() const noexcept { return place_; }
  int slot() const noexcept { return member_.slot; }
  // How many processes have had the slot before.
  uint64_t generation() const noexcept { return member_.generation; }

  // From now on others of this host can connect to it (SOCK_SEQPACKET); it does not block. Nothing:
  // it is no lobby of this host. Errors: kSystem.
  virtual Result<OwnedFd> listen() { return OwnedFd(); }
  // From now on no process can connect, and the folder has no socket of this process. Caller: any,
  // without locks.
  virtual void stop_listening() noexcept {}
  // A connection over a Unix socket (packets), or over TCP (a stream). Errors: kNotFound: no process
  // is there.
  virtual Result<OwnedFd> call(int slot) = 0;
  // Which slot a process of this job has, 0: none; and which process of this job is in a slot, -1:
  // none.
  virtual int slot_of(int process) noexcept = 0;
  virtual int process_in(int slot) noexcept = 0;

  // kForeign: another job has it.
  virtual Result<Published> publish(const std::string& name,
                                    const std::string& port) = 0;
  // The port of that name. Empty: no job that exists has published it.
  virtual std::optional<std::string> look_up(const std::string& name) = 0;
  // Removes a name that any process of the job has published. False: the job has not published it.
  virtual bool unpublish(const std::string& name) = 0;

 protected:
  Lobby(Place place, LobbyFolder::Member member)
      : place_(std::move(place)), member_(member) {}

 private:
  const Place place_;
  const LobbyFolder::Member member_;
};

}  // namespace mpc::wireup
