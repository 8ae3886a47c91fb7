#pragma once
// Lobby: a folder in which the processes of one user's jobs on one host find each other.
//
// Role:      gives the process a slot, which no other one has as long as it lives; the socket at
//            which others reach the process in a slot; names of ports that all of them know.
// Users:     runtime/message/abroad.cpp, runtime/job/detached.h, mpi/spawn.
// Threads:   any; calls that wait for the file's lock wait for microseconds.
// See also:  docs/design/0039-jobs-that-connect.md.
//
//   FOLDER/jobs        a record for each slot; who has byte N locked has slot N
//   FOLDER/job-N       the socket of the process in slot N
//   FOLDER/name-HASH   a published name
//
// The folder is the user's, with no rights for others, or it is not used. A lock of the kernel (a record
// lock, which children do not inherit) ends with its process, whatever ends it: so what a job
// has left that was killed is known as such, and is taken away by who comes next.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

namespace mpc::wireup {

// A descriptor that is closed.
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

  // $XDG_RUNTIME_DIR/mpc, or /tmp/mpc-UID where there is no such folder of the user's.
  static std::string default_folder();
  // `job`: a number that no other job has; `process`: which one of the job this is. Errors: kPermission: the folder
  // is not the user's own; kSystem; kNoMem: all slots are taken.
  static Result<std::unique_ptr<Lobby>> enter(const std::string& folder, uint64_t job,
                                              int process = 0);
  // Takes the socket and the own names away.
  ~Lobby();
  Lobby(const Lobby&) = delete;

  const std::string& folder() const noexcept { return folder_; }
  int slot() const noexcept { return slot_; }
  // So many processes have had it before.
  uint64_t generation() const noexcept { return generation_; }

  // Connections come to it from now on (SOCK_SEQPACKET); it does not block. Errors: kSystem.
  Result<OwnedFd> listen();
  // Nobody can come any more, and the folder has no socket of this job. Caller: any, without locks.
  void stop_listening() noexcept;
  // Errors: kNotFound: no process is there.
  Result<OwnedFd> call(int slot);
  // Of this job's processes, as the folder says: the slot of one, 0: it has none; which one has a slot, -1: none.
  int slot_of(int process) const noexcept;
  int process_in(int slot) const noexcept;
  // Who is at the other end of such a connection? -1: another user's process.
  static int process_of_peer(int fd) noexcept;

  // kOwn, kForeign: this job, or another one, has published it. Errors: kSystem.
  enum class Published { kNow, kOwn, kForeign };
  Result<Published> publish(const std::string& name, const std::string& port);
  // Empty: no job that lives has.
  std::optional<std::string> look_up(const std::string& name);
  // By whatever process of the job. False: it has not published it.
  bool unpublish(const std::string& name);

 private:
  // What the file "jobs" has for each slot.
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
  std::mutex mutex_;  // locks of the kernel are a process's, not a thread's
};

}  // namespace mpc::wireup
