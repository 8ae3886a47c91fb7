#pragma once
// Door: where processes of other hosts reach this one.
//
// Role:      listens for TCP; lets in who proves that it knows the door's key, which is in the names of
//            ports; lets such visitors into the lobby of this host, and answers their questions about
//            it; or hands over the connection of one that wants to talk to this process.
// Users:     runtime/message/abroad.cpp.
// Threads:   one of its own, which waits for no rank and no other process; functions: any.
// See also:  runtime/wireup/far_lobby.h (a visitor), secret.h; docs/design/0048-spawn-over-hosts.md.
//
// Strangers are few at a time and have little time and little memory, as in tools/mpclaunch/entrance.h.
//
//   visitor (wish: enter)                         door
//   enter JOB PROCESS DOOR...          ------>
//                                      <------    ok SLOT GENERATION | error TEXT
//   slot PROCESS | process SLOT | door SLOT | publish NAME PORT | name NAME | unpublish NAME
//                                      <------    ok ANSWER... | error TEXT
//   visitor (wish: talk)
//   its hello, with a length before it ------>    the handler gets both

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/acceptor.h"
#include "base/result.h"
#include "runtime/wireup/door_words.h"
#include "runtime/wireup/lobby_folder.h"
#include "runtime/wireup/place.h"

namespace mpc::wireup {

class Door {
 public:
  // Opens the door of this process, once; later calls return it. It is there until the process ends.
  // `interfaces`: as for own_addresses(). Errors: kSystem.
  static Result<Door*> open(std::string_view interfaces);
  // Null: it has none.
  static Door* existing() noexcept;

  const DoorAddress& address() const noexcept { return address_; }
  // Visitors may enter the lobby in this folder; "": they may not. The folder is opened for the first.
  void serve(const std::string& folder);
  // Gets the connections of those that want to talk (ownership: its own), and what they have said.
  // Caller: the door's thread, without locks. Null: they are sent away.
  using Talk = std::function<void(int fd, std::span<const std::byte> hello)>;
  void on_talk(Talk talk);

 private:
  // A connection, from its first byte on.
  struct Visitor {
    int fd = -1;
    uint64_t end_ns = 0;  // until then it must have said who it is; 0: it has
    Challenge challenge{};
    uint64_t wish = 0;  // 0: it has not proved anything yet
    std::string arrived;
    int slot = 0;  // in the lobby; 0: none
    uint64_t job = 0;
  };
  using Visitors = std::list<Visitor>;

  Door() = default;
  Result<> start(std::string_view interfaces);
  static void* thread_main(void* self);
  [[noreturn]] void run();
  void accept();
  bool hear(Visitor& visitor);
  bool check(Visitor& visitor);
  bool let_talk(Visitor& visitor);
  bool take_messages(Visitor& visitor);
  Words answer(Visitor& visitor, const Words& question);
  Words enter(Visitor& visitor, LobbyFolder& lobby, const Words& question);
  Result<std::shared_ptr<LobbyFolder>> lobby();
  Visitors::iterator drop(Visitors::iterator visitor);

  DoorAddress address_;
  int listener_ = -1;
  Acceptor acceptor_{"a process of another host"};  // the thread's own
  Visitors visitors_;                               // the thread's own
  std::shared_ptr<LobbyFolder> lobby_;              // the same
  std::mutex mutex_;
  std::string folder_;  // under the mutex
  Talk talk_;           // the same
};

}  // namespace mpc::wireup
