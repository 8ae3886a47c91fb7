#pragma once
// FarLobby: a lobby of another host, which a process there serves by its door.
//
// Role:      asks that process for everything, over one connection that is open as long as this
//            process is in the lobby: when it breaks the slot is free.
// Users:     runtime/wireup/enter_lobby.cpp.
// Threads:   any; a call waits for the answers to those before it.
// See also:  runtime/wireup/door.h.

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/wireup/door_words.h"
#include "runtime/wireup/lobby.h"

namespace mpc::wireup {

class FarLobby final : public Lobby {
 public:
  // As Lobby::enter().
  static Result<std::unique_ptr<Lobby>> enter(const Place& place, uint64_t job,
                                              int process, const DoorAddress& own);
  FarLobby(const Place& place, LobbyFolder::Member member, OwnedFd door)
      : Lobby(place, member), door_(std::move(door)) {}

  Result<OwnedFd> call(int slot) override;
  int slot_of(int process) noexcept override;
  int process_in(int slot) noexcept override;
  Result<Published> publish(const std::string& name, const std::string& port) override;
  std::optional<std::string> look_up(const std::string& name) override;
  bool unpublish(const std::string& name) override;

 private:
  Result<Words> ask(const Words& question);
  int number_from(const Words& question, int otherwise) noexcept;

  std::mutex mutex_;  // held while the door answers
  const OwnedFd door_;
  // Slots that were not of this job, and until when that is believed: groups name the same ones again
  // and again. Under strangers_lock_.
  std::mutex strangers_lock_;
  std::unordered_map<int, uint64_t> strangers_;
};

}  // namespace mpc::wireup
