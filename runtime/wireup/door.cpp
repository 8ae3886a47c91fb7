#include "runtime/wireup/door.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/poll_files.h"
#include "base/service_thread.h"
#include "runtime/wireup/tcp.h"

namespace mpc::wireup {
namespace {

constexpr size_t kMostStrangers = 256;
constexpr uint64_t kVisitNs = 5000 * kMs;
constexpr size_t kFirstDoorWord = 3;  // in "enter JOB PROCESS DOOR..."

constinit std::atomic<Door*> g_door{nullptr};

Words good(std::string word = "") { return {kGoodAnswer, std::move(word)}; }
Words bad(std::string why) { return {kBadAnswer, std::move(why)}; }

}  // namespace

Door* Door::existing() noexcept { return g_door.load(std::memory_order_acquire); }

Result<Door*> Door::open(std::string_view interfaces) {
  static std::mutex lock;
  const std::lock_guard one_at_a_time(lock);
  if (Door* const known = existing()) return known;
  std::unique_ptr<Door> door(new Door);
  MPC_TRY(door->start(interfaces));
  // Never freed: its thread may use it until the process ends. Release pairs with existing().
  g_door.store(door.release(), std::memory_order_release);
  return existing();
}

Result<> Door::start(std::string_view interfaces) {
  listener_ = listen_to_all(&address_.port);
  if (listener_ < 0)
    return {Errc::kSystem, fmt::format("cannot listen for processes of other hosts: {}",
                                       std::strerror(errno))};
  address_.key = make_secret();
  std::istringstream in(own_addresses(interfaces));
  for (std::string word; in >> word;) address_.addresses.push_back(word);
  if (address_.addresses.empty()) address_.addresses.emplace_back("127.0.0.1");
  const auto thread =
      start_service_thread("the door for processes of other hosts", &thread_main, this);
  if (!thread) {
    ::close(std::exchange(listener_, -1));
    return thread.error();
  }
  ::pthread_detach(*thread);
  return {};
}

void Door::serve(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
}

void Door::on_talk(Talk talk) {
  const std::lock_guard lock(mutex_);
  talk_ = std::move(talk);
}

// --- the thread ---------------------------------------------------------------------------------

void* Door::thread_main(void* self) { static_cast<Door*>(self)->run(); }

void Door::run() {
  std::vector<pollfd> all;
  for (;;) {
    const Deadline rests_until_ns = acceptor_.rests_until_ns();
    all.assign(1, {rests_until_ns == 0 ? listener_ : -1, POLLIN, 0});
    Deadline first = 0;
    for (const Visitor& each : visitors_) {
      all.push_back({each.fd, POLLIN, 0});
      if (each.end_ns != 0 && (first == 0 || each.end_ns < first)) first = each.end_ns;
    }
    const int ready = poll_files(all, ms_to_first({first, rests_until_ns}));
    if (ready < 0) continue;
    size_t index = 1;
    const uint64_t now = now_ns();
    for (auto each = visitors_.begin(); each != visitors_.end(); ++index) {
      const bool is_late = each->end_ns != 0 && each->end_ns <= now;
      const bool stays =
          !is_late && (all[index].revents == 0 || hear(*each)) && each->fd >= 0;
      each = stays ? std::next(each) : drop(each);
    }
    acceptor_.has_rested(now);
    if (all[0].revents != 0) accept();
  }
}

// Also one whose connection has been handed over.
Door::Visitors::iterator Door::drop(Visitors::iterator visitor) {
  if (visitor->slot != 0 && lobby_) lobby_->dismiss(visitor->slot);
  if (visitor->fd >= 0) ::close(visitor->fd);
  return visitors_.erase(visitor);
}

void Door::accept() {
  const int fd = acceptor_.accept(listener_, SOCK_NONBLOCK);
  if (fd < 0) return;
  const auto is_stranger = [](const Visitor& each) { return each.end_ns != 0; };
  if (static_cast<size_t>(std::ranges::count_if(visitors_, is_stranger)) >=
      kMostStrangers)
    drop(std::ranges::find_if(visitors_, is_stranger));
  Visitor made;
  made.fd = fd;
  made.end_ns = now_ns() + kVisitNs;
  made.challenge = make_secret();
  notice_silence(fd);
  // These are the first bytes of the connection, so there is room for them.
  ::send(fd, made.challenge.data(), made.challenge.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  visitors_.push_back(std::move(made));
}

// False: it has to go.
bool Door::hear(Visitor& visitor) {
  char bytes[4096];
  const ssize_t n = ::recv(visitor.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  visitor.arrived.append(bytes, static_cast<size_t>(n));
  if (visitor.wish == 0 && !check(visitor)) return false;
  if (visitor.wish == 0) return true;
  return visitor.wish == kWishToTalk ? let_talk(visitor) : take_messages(visitor);
}

// False: it does not know the key.
bool Door::check(Visitor& visitor) {
  Answer answer;
  if (visitor.arrived.size() < sizeof answer) return true;
  std::memcpy(&answer, visitor.arrived.data(), sizeof answer);
  visitor.arrived.erase(0, sizeof answer);
  if (!is_right(answer, visitor.challenge, address_.key) ||
      (answer.host != kWishToEnter && answer.host != kWishToTalk))
    return false;
  visitor.wish = answer.host;
  const Proof proof = proof_for(answer, address_.key);
  return ::send(visitor.fd, &proof, sizeof proof, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         sizeof proof;
}

// Its time runs on until it has said its hello.
bool Door::let_talk(Visitor& visitor) {
  bool is_wrong = false;
  const auto hello = take_message(visitor.arrived, &is_wrong);
  if (!hello) return !is_wrong;
  if (!visitor.arrived.empty()) return false;  // it has to wait for the answer
  Talk talk;
  {
    const std::lock_guard lock(mutex_);
    talk = talk_;
  }
  if (!talk) return false;
  talk(std::exchange(visitor.fd, -1), std::as_bytes(std::span(*hello)));
  return false;
}

bool Door::take_messages(Visitor& visitor) {
  bool is_wrong = false;
  while (const auto message = take_message(visitor.arrived, &is_wrong)) {
    const std::string text = pack(answer(visitor, unpack(*message)));
    // It asks one question at a time, so there is room for the answer.
    if (::send(visitor.fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(text.size()))
      return false;
  }
  return !is_wrong;
}

// --- questions about the lobby ------------------------------------------------------------------

Result<std::shared_ptr<LobbyFolder>> Door::lobby() {
  if (lobby_) return lobby_;
  std::string folder;
  {
    const std::lock_guard lock(mutex_);
    folder = folder_;
  }
  if (folder.empty()) return {Errc::kUnsupported, "it has no lobby to enter"};
  auto opened = LobbyFolder::open(folder);
  if (opened) lobby_ = *opened;
  return opened;
}

Words Door::enter(Visitor& visitor, LobbyFolder& lobby, const Words& question) {
  DoorAddress door;
  if (visitor.slot != 0 || !read(question, kFirstDoorWord, address_.key, &door))
    return bad("it says nothing that this version understands");
  visitor.job = std::strtoull(question[1].c_str(), nullptr, 16);
  const auto member = lobby.admit(visitor.job, std::atoi(question[2].c_str()));
  if (!member) return bad(member.error().message);
  visitor.slot = member->slot;
  visitor.end_ns = 0;
  if (const auto told = lobby.set_door(member->slot, door); !told)
    return bad(told.error().message);
  return {kGoodAnswer, std::to_string(member->slot),
          std::to_string(member->generation)};
}

Words Door::answer(Visitor& visitor, const Words& question) {
  if (question.size() < 2) return bad("it asks nothing");
  const auto opened = lobby();
  if (!opened) return bad(opened.error().message);
  LobbyFolder& folder = **opened;
  const std::string &what = question[0], &about = question[1];
  if (what == kAskToEnter) return enter(visitor, folder, question);
  if (visitor.slot == 0) return bad("it has not entered");
  const int number = std::atoi(about.c_str());
  if (what == kAskForSlot)
    return good(std::to_string(folder.slot_of(visitor.job, number)));
  if (what == kAskForProcess) {
    const bool can_be = number >= 1 && number <= LobbyFolder::kMostSlots;
    return good(std::to_string(can_be ? folder.process_in(visitor.job, number) : -1));
  }
  if (what == kAskForDoor) {
    const auto door = folder.door_of(number);
    if (!door) return bad("no process of another host can reach it, or it has ended");
    Words words = {kGoodAnswer};
    append(words, *door, address_.key);
    return words;
  }
  if (what == kAskToPublish && question.size() > 2) {
    const auto published =
        folder.publish(visitor.slot, visitor.job, about, question[2]);
    return published ? good(std::to_string(static_cast<int>(*published)))
                     : bad(published.error().message);
  }
  if (what == kAskForName) {
    const auto port = folder.look_up(about);
    return port ? good(*port) : bad("no job has published it");
  }
  if (what == kAskToUnpublish)
    return good(folder.unpublish(visitor.job, about) ? "1" : "0");
  return bad("it asks what this version does not know");
}

}  // namespace mpc::wireup
