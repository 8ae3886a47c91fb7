#pragma once
// LobbyFolder: the folder in which processes of one user on one host find each other.
//
// Role:      the table of slots, the sockets, the addresses for other hosts, and the published names.
// Users:     runtime/wireup (lobby: for this process; door: for processes of other hosts).
// Threads:   any; calls that wait for the lock of the file wait for microseconds.
// See also:  runtime/wireup/lobby.h, docs/design/0039-jobs-that-connect.md.
//
//   FOLDER/jobs        a record for each slot; the process in slot N has locked byte N
//   FOLDER/job-N       the socket of the process in slot N
//   FOLDER/door-N      how processes of other hosts reach it, and all do if it is on another one
//   FOLDER/name-HASH   a published name
//
// The folder must belong to the user, without rights for others; otherwise it is not used. The
// kernel releases a lock when its process ends for whatever reason (it is a record lock, which
// children do not inherit). So what a killed job has left is recognized as such, and the next
// process removes it. For a process of another host the process that has the door holds the lock.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/wireup/owned_fd.h"
#include "runtime/wireup/place.h"

namespace mpc::wireup {

class LobbyFolder {
 public:
  static constexpr int kMostSlots = 511;

  // One object for each folder, because the kernel drops all locks of a process on a file when the
  // process closes any descriptor of it. Errors: kPermission: the folder does not belong to the user
  // alone; kSystem.
  static Result<std::shared_ptr<LobbyFolder>> open(const std::string& path);
  LobbyFolder(const LobbyFolder&) = delete;

  const std::string& path() const noexcept { return path_; }

  // --- slots ---
  struct Member {
    int slot = 0;
    uint64_t generation = 0;  // how many processes have had the slot before
  };
  // A process gets a slot, which is its until this process ends, or says dismiss(). Errors: kNoMem:
  // none is free; kSystem.
  Result<Member> admit(uint64_t job, int process);
  void dismiss(int slot) noexcept;
  // True: the job that had this number in this slot still exists.
  bool is_there(int slot, uint64_t job) const;
  // The slot of a process of that job, 0: none; the process of that job in a slot, -1: none.
  int slot_of(uint64_t job, int process) const noexcept;
  int process_in(uint64_t job, int slot) const noexcept;

  // --- connections ---
  // A socket for the process in this slot (SOCK_SEQPACKET); it does not block. Errors: kSystem.
  Result<OwnedFd> listen(int slot);
  void stop_listening(int slot) noexcept;
  // Errors: kNotFound: no process is there; kPermission: it is another user's.
  Result<OwnedFd> call(int slot);
  Result<> set_door(int slot, const DoorAddress& door);
  std::optional<DoorAddress> door_of(int slot) const;

  // --- names ---
  enum class Published { kNow, kOwn, kForeign };
  Result<Published> publish(int slot, uint64_t job, const std::string& name,
                            const std::string& port);
  // The port of that name. Empty: no job that exists has published it.
  std::optional<std::string> look_up(const std::string& name);
  // Removes a name that any process of the job has published. False: the job has not published it.
  bool unpublish(uint64_t job, const std::string& name);

 private:
  // The record of a slot in the file "jobs".
  struct Record {
    uint64_t job = 0;
    uint64_t generation : 48 = 0;
    uint64_t process : 16 = 0;
  };
  struct Name {
    int slot = 0;
    uint64_t job = 0;
    std::string port, name;
  };
  class Turn;

  explicit LobbyFolder(std::string path) : path_(std::move(path)) {}
  bool is_held(int slot) const noexcept {
    return held_[static_cast<size_t>(slot)].load(std::memory_order_relaxed);
  }
  Result<> open_files();
  std::optional<Name> read_name(const std::string& file) const;
  std::optional<std::string> read_file(const std::string& file) const;
  Result<> write_file(const std::string& file, int slot, const std::string& text);
  void remove(const std::string& file) const noexcept;
  std::string path_of(const std::string& file) const;

  const std::string path_;
  OwnedFd directory_, jobs_;
  std::mutex mutex_;  // the kernel's locks belong to a process, not to a thread
  // The slots that this process has locked: it does not see its own locks. Written under mutex_;
  // relaxed, since nothing else depends on one.
  std::array<std::atomic<bool>, kMostSlots + 1> held_{};
};

// The process at the other end of a connection over a Unix socket. -1: it belongs to another user,
// or the connection is of another kind.
int process_of_peer(int fd) noexcept;

}  // namespace mpc::wireup
