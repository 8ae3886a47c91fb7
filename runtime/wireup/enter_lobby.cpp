// How a process enters a lobby, of its own host or of another one.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "runtime/wireup/door_words.h"
#include "runtime/wireup/far_lobby.h"
#include "runtime/wireup/lobby.h"

namespace mpc::wireup {
namespace {

bool is_private_folder(const char* path) noexcept {
  struct stat status;
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// A lobby of this host.
class HomeLobby final : public Lobby {
 public:
  HomeLobby(Place place, LobbyFolder::Member member,
            std::shared_ptr<LobbyFolder> folder, uint64_t job)
      : Lobby(std::move(place), member), folder_(std::move(folder)), job_(job) {}
  // The slot stays the process's: its ranks may be known to others.
  ~HomeLobby() override { HomeLobby::stop_listening(); }

  Result<OwnedFd> listen() override {
    auto fd = folder_->listen(slot());
    // relaxed: for one caller of stop_listening()
    if (fd) is_listening_.store(true, std::memory_order_relaxed);
    return fd;
  }
  // The slot belongs to this process for its lifetime, so no other process has this file.
  void stop_listening() noexcept override {
    if (is_listening_.exchange(false, std::memory_order_relaxed))
      folder_->stop_listening(slot());
  }
  // A process of another host has a door only.
  Result<OwnedFd> call(int slot) override {
    auto fd = folder_->call(slot);
    if (fd || fd.error().code != Errc::kNotFound) return fd;
    const auto door = folder_->door_of(slot);
    if (!door) return fd;
    return call_by_door(*door, kWishToTalk);
  }
  int slot_of(int process) noexcept override { return folder_->slot_of(job_, process); }
  int process_in(int slot) noexcept override { return folder_->process_in(job_, slot); }
  Result<Published> publish(const std::string& name, const std::string& port) override {
    return folder_->publish(slot(), job_, name, port);
  }
  std::optional<std::string> look_up(const std::string& name) override {
    return folder_->look_up(name);
  }
  bool unpublish(const std::string& name) override {
    return folder_->unpublish(job_, name);
  }

 private:
  const std::shared_ptr<LobbyFolder> folder_;
  const uint64_t job_;
  std::atomic<bool> is_listening_{false};
};

Result<std::unique_ptr<Lobby>> enter_home(const std::string& path, uint64_t job,
                                          int process, const DoorAddress& own) {
  auto folder = LobbyFolder::open(path);
  MPC_TRY(folder);
  auto member = (*folder)->admit(job, process);
  MPC_TRY(member);
  Place place{path, 0, own};
  if (place.has_door()) {
    place.host = host_identity();
    MPC_TRY((*folder)->set_door(member->slot, own));
  }
  return std::unique_ptr<Lobby>(
      std::make_unique<HomeLobby>(std::move(place), *member, std::move(*folder), job));
}

}  // namespace

std::string Lobby::default_folder() {
  const char* const runtime = ::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && is_private_folder(runtime))
    return fmt::format("{}/mpc", runtime);
  return fmt::format("/tmp/mpc-{}", ::geteuid());
}

Result<std::unique_ptr<Lobby>> Lobby::enter(const Place& place, uint64_t job,
                                            int process, const DoorAddress& own) {
  if (place.host == 0 || place.host == host_identity())
    return enter_home(place.folder, job, process, own);
  return FarLobby::enter(place, job, process, own);
}

}  // namespace mpc::wireup
