#pragma once
// Lobby: a folder in which the processes of one user's jobs on one host find each other.
//
// Role:      gives the process a slot that no other process has while it lives; has the socket at
//            which others reach the process in a slot; stores names of ports for all of them.
// Users:     runtime/message/abroad.cpp, runtime/job/detached.h, mpi/spawn.
// Threads:   any; calls that wait for the lock of the file wait for microseconds.
// See also:  docs/design/0039-jobs-that-connect.md.
//
//   FOLDER/jobs        a record for each slot; the process in slot N has locked byte N
//   FOLDER/job-N       the socket of the process in slot N
//   FOLDER/name-HASH   a published name
//
// The folder must belong to the user, without rights for others; otherwise it is not used. The
// kernel releases a lock when its process ends for whatever reason (it is a record lock, which
// children do not inherit). So what a killed job has left is recognized as such, and the next
// process removes it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

namespace mpc::wireup {

// A descriptor that the destructor closes.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) noexcept : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { reset(); }
  int get() const noexcept { return fd_; }
  int release() noexcept;
  void reset() noexcept;

 private:
  int fd_;
};

class Lobby {
 public:
  static constexpr int kMostSlots = 511;

  // $XDG_RUNTIME_DIR/mpc, or /tmp/mpc-UID if the user has no such folder.
  static std::string default_folder();
  // `job`: a number that no other job has; `process`: the number of this process in its job.
  // Errors: kPermission: the folder does not belong to the user alone; kSystem; kNoMem: no slot is
  // free.
  static Result<std::unique_ptr<Lobby>> enter(const std::string& folder, uint64_t job,
                                              int process = 0);
  // Removes the socket.
  ~Lobby();
  Lobby(const Lobby&) = delete;

  const std::string& folder() const noexcept { return folder_; }
  int slot() const noexcept { return slot_; }
  // How many processes have had the slot before.
  uint64_t generation() const noexcept { return generation_; }

  // From now on others can connect to it (SOCK_SEQPACKET); it does not block. Errors: kSystem.
  Result<OwnedFd> listen();
  // From now on no process can connect, and the folder has no socket of this process. Caller: any,
  // without locks.
  void stop_listening() noexcept;
  // Errors: kNotFound: no process is there.
  Result<OwnedFd> call(int slot);
  // Reads from the folder which slot a process of this job has, 0: none; and which process of this
  // job is in a slot, -1: none.
  int slot_of(int process) const noexcept;
  int process_in(int slot) const noexcept;
  // The process at the other end of such a connection. -1: it belongs to another user.
  static int process_of_peer(int fd) noexcept;

  // kOwn, kForeign: this job, or another one, has already published the name. Errors: kSystem.
  enum class Published { kNow, kOwn, kForeign };
  Result<Published> publish(const std::string& name, const std::string& port);
  // The port of that name. Empty: no job that exists has published it.
  std::optional<std::string> look_up(const std::string& name);
  // Removes a name that any process of the job has published. False: the job has not published it.
  bool unpublish(const std::string& name);

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

  Lobby(std::string folder, uint64_t job, int process)
      : folder_(std::move(folder)), job_(job), process_(process) {}
  Result<> open_folder();
  Result<> take_slot();
  bool is_there(int slot, uint64_t job) const;
  std::optional<Name> read_name(const std::string& file) const;
  std::string path(const std::string& file) const;

  const std::string folder_;
  const uint64_t job_;
  const int process_;
  OwnedFd directory_, jobs_;
  int slot_ = 0;
  uint64_t generation_ = 0;
  std::atomic<bool> is_listening_{false};
  std::mutex mutex_;  // the kernel's locks belong to a process, not to a thread
};

}  // namespace mpc::wireup
