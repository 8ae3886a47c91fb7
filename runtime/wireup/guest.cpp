// One process of several that another launcher has started: PMIx for the exchange; for the end of the
// job a socket to process 0, which replaces a launcher of ours.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/service_thread.h"
#include "runtime/wireup/backends.h"
#include "runtime/wireup/gathering.h"
#include "runtime/wireup/launcher_link.h"
#include "runtime/wireup/open_modex.h"
#include "runtime/wireup/steward.h"

namespace mpc::wireup {
namespace {

constexpr char kInvitation[] = "mpc.invitation";
constexpr char kCores[] = "mpc.cores";

struct OnHost {
  int index = 0;
  int size = 1;
};

// This process's connections with the others.
struct Connection {
  int own = -1;
  std::string interfaces;
};

class Guest final : public Wireup {
 public:
  // All live as long as the process: threads use them.
  Guest(LauncherLink& link, Modex& modex, OnHost place, std::string interfaces)
      : link_(link), modex_(modex), place_(place), interfaces_(std::move(interfaces)) {}

  int index() const noexcept override { return modex_.index(); }
  int size() const noexcept override { return modex_.size(); }
  int local_index() const noexcept override { return place_.index; }
  int local_size() const noexcept override { return place_.size; }
  std::string interfaces() const override { return interfaces_; }
  Result<> put(std::string_view key, const Bytes& bytes) override {
    return modex_.put(key, bytes);
  }
  Result<> exchange() override { return modex_.exchange(); }
  Result<Bytes> get(int process, std::string_view key) override {
    return modex_.get(process, key);
  }
  // Without another process it may wait forever: then an order ends it.
  void leave() noexcept override { [[maybe_unused]] const auto met = modex_.barrier(); }
  void finalize() noexcept override { modex_.finalize(); }

  void tell(Report kind, int status, std::string_view text) noexcept override {
    link_.tell(kind, status, text);
  }
  bool has_launcher() const noexcept override { return true; }
  void on_order(Handler handler) override { link_.set_handler(std::move(handler)); }
  std::unique_lock<std::mutex> hold_end() override { return link_.hold_end(); }
  void end_by_order(int status) noexcept override { link_.part_later(status); }
  int end_together(int status) noexcept override { return link_.part(status); }
  bool ask_tables() noexcept override {
    link_.tell(Report::kAskTables, 0, {});
    return true;
  }
  // Each process writes to its own pipe to the launcher, which keeps lines apart or does not.
  int console_memory() const noexcept override { return -1; }

 private:
  LauncherLink& link_;
  Modex& modex_;
  const OnHost place_;
  const std::string interfaces_;
};

// The system's numbers of the cores that this process may use.
Bytes own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  const auto* first = reinterpret_cast<const std::byte*>(&set);
  return {first, first + sizeof set};
}

// A launcher gives each process cores of its own, or the same cores to all: then these share them.
Result<OnHost> find_place(Modex& modex) {
  auto peers = modex.local_peers();
  MPC_TRY(peers);
  const Bytes mine = own_cores();
  OnHost place{0, 0};
  for (const int peer : *peers) {
    auto theirs = modex.get(peer, kCores);
    MPC_TRY(theirs);
    if (*theirs != mine) continue;
    ++place.size;
    if (peer < modex.index()) ++place.index;
  }
  return place;
}

// Only process 0 reads standard input, whichever process the launcher gives it to.
void close_input() {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDIN_FILENO);
  ::close(null);
}

Result<Connection> host_all(Gathering& gathering, Modex& modex,
                            const Wireup::Terms& terms) {
  Connection connection;
  auto members = gathering.admit(modex.size(), &connection.own);
  MPC_TRY(members);
  std::vector<int> sockets;
  for (const Member& member : *members) sockets.push_back(member.socket);
  connection.interfaces = Gathering::interfaces_of(sockets);
  static auto* const steward = new Steward(
      std::move(*members), terms,
      [&modex](int status) { modex.abort(status, "mpcrun: the job is ended"); });
  MPC_TRY(steward->start());
  return connection;
}

// Process 0 and the others do this at the same time.
Result<Connection> gather(Modex& modex, const Wireup::Terms& terms) {
  Gathering gathering;
  const bool is_first = modex.index() == 0;
  if (is_first) {
    auto opened = Gathering::open(modex.local_size() == modex.size());
    MPC_TRY(opened);
    gathering = std::move(*opened);
    MPC_TRY(modex.put(kInvitation, gathering.invitation()));
  }
  MPC_TRY(modex.put(kCores, own_cores()));
  MPC_TRY(modex.exchange());
  if (is_first) return host_all(gathering, modex, terms);
  auto invitation = modex.get(0, kInvitation);
  MPC_TRY(invitation);
  auto socket = Gathering::join(*invitation, modex.index());
  MPC_TRY(socket);
  return Connection{*socket, Gathering::interfaces_of({*socket})};
}

Result<std::unique_ptr<Wireup>> join_job(Modex& modex, const Wireup::Terms& terms) {
  auto connection = gather(modex, terms);
  MPC_TRY(connection);
  static auto* const link =
      new LauncherLink(connection->own, LauncherLink::Other::kProcess0);
  MPC_TRY(link->start());
  auto place = find_place(modex);
  MPC_TRY(place);
  return std::unique_ptr<Wireup>(
      std::make_unique<Guest>(*link, modex, *place, connection->interfaces));
}

Error of_all(const Starter& starter, Errc code, std::string text) {
  return {code, starter.is_first() ? std::move(text) : ""};
}

}  // namespace

Result<std::unique_ptr<Wireup>> guest(const Starter& starter,
                                      const Wireup::Terms& terms) {
  const WithoutSignals during;
  auto opened = open_modex();
  if (!opened) return of_all(starter, opened.error().code, opened.error().message);
  Modex& modex = *opened->release();  // it stays, like the library's threads
  if (modex.size() == 1) {
    modex.finalize();
    hide_starter();
    return alone();
  }
  if (terms.processes > 1 && terms.processes != modex.size())
    return of_all(starter, Errc::kArg,
                  "-p, --ranks-per-process: " + std::to_string(terms.processes) +
                      " processes; " + starter.name + " has started " +
                      std::to_string(modex.size()) + ": leave the option out");
  if (modex.index() != 0) close_input();
  auto wireup = join_job(modex, terms);
  hide_starter();
  return wireup;
}

}  // namespace mpc::wireup
