#include "runtime/wireup/far_lobby.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "runtime/wireup/tcp.h"

namespace mpc::wireup {
namespace {

constexpr uint64_t kAnswerNs = 10'000 * kMs;
constexpr uint64_t kBelievedNs = 200 * kMs;

Error broken() {
  return {Errc::kNotFound,
          fmt::format("the process in whose host's lobby this one is does not answer: "
                      "{}",
                      std::strerror(errno))};
}

Result<Words> ask_at(int fd, const Words& question) {
  const uint64_t end_ns = now_ns() + kAnswerNs;
  const std::string message = pack(question);
  uint32_t length = 0;
  if (!send_by(fd, message.data(), message.size(), end_ns) ||
      !receive_by(fd, &length, sizeof length, end_ns))
    return broken();
  std::string answer(std::min<size_t>(length, kMostMessageBytes), '\0');
  if (length > kMostMessageBytes ||
      !receive_by(fd, answer.data(), answer.size(), end_ns))
    return broken();
  Words words = unpack(answer);
  if (!words.empty() && words[0] == kGoodAnswer) return words;
  return {Errc::kSystem, words.size() > 1 ? words[1] : "it does not say why"};
}

}  // namespace

Result<std::unique_ptr<Lobby>> FarLobby::enter(const Place& place, uint64_t job,
                                               int process, const DoorAddress& own) {
  if (own.port == 0)
    return {Errc::kUnsupported,
            "it is on another host, and this process may not listen to those "
            "(mpi.port_network=0)"};
  auto door = call_by_door(place.door, kWishToEnter);
  MPC_TRY(door);
  Words question = {kAskToEnter, fmt::format("{:x}", job), std::to_string(process)};
  append(question, own, place.door.key);
  auto answer = ask_at(door->get(), question);
  MPC_TRY(answer);
  if (answer->size() < 3) return {Errc::kSystem, "the door gives no slot"};
  const LobbyFolder::Member member{std::atoi((*answer)[1].c_str()),
                                   std::strtoull((*answer)[2].c_str(), nullptr, 10)};
  if (member.slot < 1 || member.slot > kMostSlots)
    return {Errc::kSystem, "the door gives no slot"};
  return std::unique_ptr<Lobby>(
      std::make_unique<FarLobby>(place, member, std::move(*door)));
}

Result<Words> FarLobby::ask(const Words& question) {
  const std::lock_guard one_at_a_time(mutex_);
  return ask_at(door_.get(), question);
}

int FarLobby::number_from(const Words& question, int otherwise) noexcept {
  const auto answer = ask(question);
  return answer && answer->size() > 1 ? std::atoi((*answer)[1].c_str()) : otherwise;
}

Result<OwnedFd> FarLobby::call(int slot) {
  auto answer = ask({kAskForDoor, std::to_string(slot)});
  if (!answer) return {Errc::kNotFound, answer.error().message};
  DoorAddress door;
  if (!read(*answer, 1, place().door.key, &door))
    return {Errc::kNotFound, "no process of another host can reach it"};
  return call_by_door(door, kWishToTalk);
}

int FarLobby::slot_of(int process) noexcept {
  return number_from({kAskForSlot, std::to_string(process)}, 0);
}

int FarLobby::process_in(int slot) noexcept {
  {
    const std::lock_guard lock(strangers_lock_);
    const auto found = strangers_.find(slot);
    if (found != strangers_.end() && now_ns() < found->second) return -1;
  }
  const int process = number_from({kAskForProcess, std::to_string(slot)}, -1);
  if (process < 0) {
    const std::lock_guard lock(strangers_lock_);
    strangers_[slot] = now_ns() + kBelievedNs;
  }
  return process;
}

Result<Lobby::Published> FarLobby::publish(const std::string& name,
                                           const std::string& port) {
  auto answer = ask({kAskToPublish, name, port});
  MPC_TRY(answer);
  const int published = answer->size() > 1 ? std::atoi((*answer)[1].c_str()) : 0;
  return static_cast<Published>(published);
}

std::optional<std::string> FarLobby::look_up(const std::string& name) {
  const auto answer = ask({kAskForName, name});
  if (!answer || answer->size() < 2) return std::nullopt;
  return (*answer)[1];
}

bool FarLobby::unpublish(const std::string& name) {
  return number_from({kAskToUnpublish, name}, 0) != 0;
}

}  // namespace mpc::wireup
