#pragma once
// AbroadState: what a process knows about the jobs that it is connected with.
//
// Role:      the connections, and their users.
// Users:     runtime/message/abroad.cpp (creates connections), abroad_uses.cpp
//            (their users, and their end).
// Threads:   see each function in runtime/message/abroad.h; events
//            come from the connections' thread.
// See also:  docs/design/0039-jobs-that-connect.md.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/hello.h"
#include "runtime/transport/bridge/bridge.h"
#include "runtime/wireup/lobby.h"

namespace mpc::msg::abroad {

// What this process knows of one that it is connected with, or about to be.
struct Neighbour {
  uint64_t number = 0;      // of its job; 0: no job is connected in this slot
  uint64_t connection = 0;  // never used twice
  int64_t uses = 0, weak_uses = 0;
  int pid = 0;
  std::string host;
  // is_calling: a rank of this process has called it, and waits for the answer. is_answered: it has
  // called, and this process answers. Both until it is connected, or cannot be.
  bool is_calling = false, is_answered = false;
  bool is_child = false;   // this job has spawned it
  bool is_ending = false;  // its ranks call MPI no more, so none waits for this job
  std::string program;
};

class Abroad final : public transport::BridgeEvents {
 public:
  Abroad(job::Job& job, std::unique_ptr<wireup::Lobby> lobby, uint64_t number,
         void (*is_gone)(int) noexcept)
      : job_(job), lobby_(std::move(lobby)), number_(number), is_gone_(is_gone) {}
  Result<> start();
  // A process of another host has called, and proved that it may.
  void talk(int fd, std::span<const std::byte> hello) noexcept;
  wireup::Lobby& lobby() noexcept { return *lobby_; }
  Result<> reach(int slot, uint64_t number);
  uint64_t begin_use(int slot);
  void end_use(int slot, uint64_t connection, bool is_weak) noexcept;
  void weaken_use(int slot, uint64_t connection) noexcept;
  void note_child(int slot) noexcept;
  void wait_for_children(job::Rank& self);
  std::string last_gone();
  void leave() noexcept;

  // --- transport::BridgeEvents ---
  int greet(int fd, std::span<const std::byte> hello) noexcept override;
  void ending(int slot) noexcept override;
  void gone(int slot, bool has_left) noexcept override;

 private:
  Hello own_hello() const;
  enum class Called : bool { kConnected, kBusy };
  Result<Called> call(int slot, uint64_t number);
  Result<> connect(const Hello& theirs, int fd);
  bool is_connected(int slot, uint64_t number);
  bool await_connection(int slot, uint64_t number);
  bool has_child();
  void lose(int slot, const Neighbour& last);
  void tell_waiting() MPC_REQUIRES(lock_);
  Neighbour& at(int slot) MPC_REQUIRES(lock_) {
    return neighbours_[static_cast<size_t>(slot)];
  }

  job::Job& job_;
  const std::unique_ptr<wireup::Lobby> lobby_;
  const uint64_t number_;
  void (*const is_gone_)(int) noexcept;
  wireup::OwnedFd listener_;
  std::unique_ptr<transport::Bridge> bridge_;
  std::unique_ptr<Endpoint> endpoint_;
  Mutex calling_;  // held while another job answers: one call at a time
  Mutex lock_;
  std::array<Neighbour, job::neighbours::kMostSlots + 2> neighbours_
      MPC_GUARDED_BY(lock_);
  uint64_t last_connection_ MPC_GUARDED_BY(lock_) = 0;
  bool is_leaving_ MPC_GUARDED_BY(lock_) = false;
  std::string last_gone_ MPC_GUARDED_BY(lock_);
  std::vector<job::Rank*> waiting_ MPC_GUARDED_BY(lock_);  // in wait_for_children()
};

// Null: this process is not open to others. Release: the object is complete.
[[gnu::visibility("hidden")]] extern std::atomic<Abroad*> g_abroad;

}  // namespace mpc::msg::abroad
