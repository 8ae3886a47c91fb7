#include "runtime/message/abroad.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "runtime/job/crash.h"
#include "runtime/job/host_map.h"
#include "runtime/job/losses.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad_place.h"
#include "runtime/message/abroad_state.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/losses.h"
#include "runtime/message/remote.h"
#include "runtime/transport/bridge/bridge.h"
#include "runtime/wireup/door.h"
#include "runtime/wireup/wireup.h"
#include "scheduler/as_nobody.h"
#include "scheduler/outside_work.h"

namespace mpc::msg::abroad {

constinit std::atomic<Abroad*> g_abroad{nullptr};

namespace {

namespace neighbours = job::neighbours;
using neighbours::kGoneSlot;

constexpr uint64_t kAnswerNs = 20'000 * kMs;  // most for the other job's thread
constexpr int kMostSpawned = 100'000;         // runtime/job/node_job_spawn.cpp
// How many processes of other jobs may fill a rank's memory at the same time without exceeding
// net.unexpected_bytes.
constexpr int kSharers = 8;
constexpr size_t kEagerBytes = 32
                               << 10;  // message.eager_limit decides, up to this value

constinit Mutex g_opening;
constinit std::atomic<Endpoint*> g_endpoint{nullptr};
constinit wireup::Lobby* g_lobby = nullptr;  // set before there are neighbours

void going(transport::Envelope& envelope) noexcept {
  const auto rank = static_cast<int>(envelope.dest_world);
  if (rank >= neighbours::kFirstNumber)  // not so in answers
    envelope.dest_world =
        static_cast<uint32_t>(neighbours::rank_in(neighbours::name_of(rank)));
}

// Drops an envelope that has no receiver here, or no known sender: its job is of another kind.
bool coming(int peer, transport::Envelope& envelope) noexcept {
  if (envelope.kind >= transport::PacketKind::kControl) return true;  // for no rank
  const auto from = static_cast<int>(envelope.from_world);
  const int rank = from < neighbours::kFirstNumber
                       ? neighbours::rank_of(peer << neighbours::kRankBits | from)
                       : -1;
  if (rank < 0) return false;
  envelope.from_world = static_cast<uint32_t>(rank);
  const job::Job* const job = job::Job::existing();
  return job != nullptr &&
         (envelope.kind > transport::kLastKindInOrder ||
          job->local_ranks().contains(static_cast<int>(envelope.dest_world)));
}

void close_at_exit() { close(); }

// True: ranks that are spawned may join its only process.
bool can_grow(const job::Job& job) noexcept {
  return job.processes().is_one_process() && !job.is_singleton();
}

Result<> check_job(const job::Job& job) {
  if (!job.processes().is_one_process() && !job.has_other_processes())
    return {Errc::kUnsupported,
            "a job whose several processes are virtual ones (job.virtual_processes) "
            "cannot connect with other jobs"};
  if (job::losses::are_survived())
    return {Errc::kUnsupported,
            "a job that goes on when a process dies (mpcrun --on-fail notify) cannot "
            "connect with other jobs"};
  if (job::host_map().hosts() > 1 && !may_be_reached())
    return {Errc::kUnsupported,
            "a job on several hosts connects with other jobs only if its processes may "
            "listen to other hosts (mpi.port_network)"};
  if (job.size() + kMostSpawned > neighbours::kFirstNumber)
    return {Errc::kUnsupported,
            "a job of so many ranks cannot connect with other jobs"};
  return {};
}

}  // namespace

Result<> Abroad::start() {
  auto listener = lobby_->listen();
  MPC_TRY(listener);
  listener_ = std::move(*listener);
  transport::BridgeConfig config;
  config.peers = kGoneSlot + 1;
  config.first_number = neighbours::kFirstFarProcess;
  config.eager_bytes = kEagerBytes;
  config.going = &going;
  config.coming = &coming;
  config.prepare = &job::crash::prepare_kernel_thread;
  // A program without mpcrun: nothing else finds out that its rank waits in vain.
  const bool has_no_watch = job_.wireup() == nullptr;
  config.ends_offers = has_no_watch;
  if (has_no_watch) job::losses::survive_neighbours();
  bridge_ = transport::Bridge::make(config);
  const job::RankRange own = job_.local_ranks();
  const int most = own.end + (can_grow(job_) ? kMostSpawned : 0);
  endpoint_ = std::make_unique<Endpoint>(
      Credit::Shape{
          {own.first, most}, kGoneSlot + 1, kSharers, neighbours::kRankNumbers},
      neighbours::far_process(lobby_->slot()), bridge_->net());
  g_lobby = lobby_.get();
  neighbours::join(lobby_->slot(), lobby_->generation(),
                   job_.processes().process_of(own.first),
                   {[](int process) { return g_lobby->slot_of(process); },
                    [](int slot) { return g_lobby->process_in(slot); }});
  // Release pairs with endpoint(): everything above.
  g_endpoint.store(endpoint_.get(), std::memory_order_release);
  g_abroad.store(this, std::memory_order_release);
  // The only notice of the end of such a job.
  if (has_no_watch) {
    std::atexit(&close_at_exit);
    MPC_TRY(watch_losses(job_));
  }
  MPC_TRY(bridge_->start(*endpoint_, *this, listener_.get()));
  if (wireup::Door* const door = wireup::Door::existing())
    door->on_talk(
        [this](int fd, std::span<const std::byte> hello) { talk(fd, hello); });
  return {};
}

Hello Abroad::own_hello() const {
  Hello hello;
  hello.job = number_;
  hello.slot = lobby_->slot();
  const job::RankRange own = job_.local_ranks();
  hello.first = own.first;
  hello.ranks = own.size();
  hello.pid = ::getpid();
  hello.host_identity = wireup::host_identity();
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  hello.host = name;
  hello.program = job_.program(0);
  hello.settings = agreed_settings();
  return hello;
}

bool Abroad::is_connected(int slot, uint64_t number) {
  const Locked lock(lock_);
  const Neighbour& other = at(slot);
  return other.number != 0 && (number == 0 || other.number == number);
}

// Makes the other job known here, whichever of the two has called.
Result<> Abroad::connect(const Hello& theirs, int fd) {
  const bool is_of_this_job = theirs.job == number_;
  if (!is_of_this_job && !neighbours::add(theirs.slot, theirs.first, theirs.ranks)) {
    ::close(fd);
    return {
        Errc::kNoMem,
        fmt::format("{} ranks of another job are more than this one has numbers for",
                    theirs.ranks)};
  }
  job::set_host_of_neighbour(theirs.slot, theirs.host_identity);
  job::losses::forget_neighbour(neighbours::far_process(theirs.slot));
  endpoint_->begin_peer(neighbours::far_process(theirs.slot),
                        neighbours::numbers_of(theirs.slot));
  const Locked lock(lock_);
  Neighbour& other = at(theirs.slot);
  const bool is_calling = other.is_calling;
  other = Neighbour{};
  other.is_calling = is_calling;
  other.number = theirs.job;
  other.connection = ++last_connection_;
  other.pid = theirs.pid;
  other.host = transport::is_stream(fd) ? theirs.host : "";
  other.program = theirs.program;
  return bridge_->connect(theirs.slot, fd);
}

// --- the calling side ---------------------------------------------------------------------------

Result<> Abroad::reach(int slot, uint64_t number) {
  if (slot < 1 || slot > neighbours::kMostSlots || slot == lobby_->slot())
    return {Errc::kNotFound, "no job can be there"};
  if (is_connected(slot, number)) return {};
  const Locked calling(calling_);
  for (const uint64_t end_ns = now_ns() + kAnswerNs; now_ns() < end_ns;) {
    bool is_answered = false;
    {
      // If this process is answering a call of the other one already, it waits for that. Otherwise
      // the other one's greet() sees is_calling.
      const Locked lock(lock_);
      Neighbour& other = at(slot);
      if (other.number != 0 && (number == 0 || other.number == number)) return {};
      is_answered = other.is_answered;
      other.is_calling = !is_answered;
    }
    if (!is_answered) {
      const Result<Called> called = call(slot, number);
      {
        const Locked lock(lock_);
        at(slot).is_calling = false;
      }
      MPC_TRY(called);
      if (*called == Called::kConnected) return {};
    }
    // If no connection comes of it, or none that lasts until somebody looks here, because the other
    // job has ended meanwhile, the next call finds out.
    if (await_connection(slot, number)) return {};
  }
  return {Errc::kSystem, "the job that has opened it does not answer"};
}

// Waits for the connection that the connections' thread creates, not for long.
bool Abroad::await_connection(int slot, uint64_t number) {
  constexpr int kLooks = 20;
  for (int i = 0; i < kLooks; ++i) {
    if (is_connected(slot, number)) return true;
    ::usleep(500);
  }
  return false;
}

Result<Abroad::Called> Abroad::call(int slot, uint64_t number) {
  auto fd = lobby_->call(slot);
  MPC_TRY(fd);
  if (!send_hello(fd->get(), encode(own_hello())))
    return {Errc::kNotFound,
            "the job that has opened it does not answer, or has ended"};
  const auto answer = receive_hello(fd->get(), kAnswerNs);
  MPC_TRY(answer);
  auto theirs = decode(*answer);
  MPC_TRY(theirs);
  // Both have called at the same time. The other job's call counts; the connections' thread of this
  // process answers it.
  if (theirs->is_busy) return Called::kBusy;
  if (theirs->slot != slot || (number != 0 && theirs->job != number))
    return {Errc::kNotFound, "the job that has opened it has ended"};
  MPC_TRY(check(*theirs));
  MPC_TRY(connect(*theirs, fd->release()));
  return Called::kConnected;
}

// --- the called side ----------------------------------------------------------------------------

int Abroad::greet(int fd, std::span<const std::byte> hello) noexcept {
  const auto send = [fd](const Hello& answer) {
    return send_hello(fd, encode(answer));
  };
  // It belongs to another user; one of another host has proved itself.
  if (!transport::is_stream(fd) && wireup::process_of_peer(fd) < 0) return -1;
  const auto theirs = decode({hello.begin(), hello.end()});
  Hello mine = own_hello();
  if (!theirs || theirs->slot < 1 || theirs->slot > neighbours::kMostSlots ||
      theirs->slot == mine.slot) {
    send(mine);  // the caller finds out what does not match
    return -1;
  }
  {
    const Locked lock(lock_);
    if (is_leaving_) return -1;
    Neighbour& other = at(theirs->slot);
    mine.is_busy =
        other.number == theirs->job || (other.is_calling && mine.slot < theirs->slot);
    other.is_answered = !mine.is_busy;
  }
  const bool fits = !mine.is_busy && check(*theirs).ok();
  const bool is_told = send(mine);
  // If connect() fails it has closed the descriptor: the other job notices that.
  if (fits && is_told) (void)connect(*theirs, fd).ok();
  const Locked lock(lock_);
  at(theirs->slot).is_answered = false;
  return fits && is_told ? theirs->slot : -1;
}

void Abroad::talk(int fd, std::span<const std::byte> hello) noexcept {
  if (greet(fd, hello) < 0) ::close(fd);
}

Endpoint* endpoint() noexcept { return g_endpoint.load(std::memory_order_acquire); }

wireup::Lobby* lobby() noexcept {
  Abroad* const abroad = g_abroad.load(std::memory_order_acquire);
  return abroad != nullptr ? &abroad->lobby() : nullptr;
}

// How processes of other hosts reach this one. Empty: they do not.
wireup::DoorAddress open_door(job::Job& job) {
  if (!may_be_reached()) return {};
  wireup::Wireup* const wireup = job.wireup();
  const auto door =
      wireup::Door::open(wireup != nullptr ? wireup->interfaces() : std::string());
  if (door) return (*door)->address();
  log::warn("ports of this job are not known on other hosts: {}", door.error().message);
  return {};
}

Result<wireup::Lobby*> open(job::Job& job, const std::string& place, uint64_t number,
                            void (*gone)(int slot) noexcept) {
  const sched::AsNobody nobody;
  const Locked lock(g_opening);
  if (wireup::Lobby* const known = lobby()) return known;
  MPC_TRY(check_job(job));
  const auto asked = place.empty() ? home_place() : wireup::read_place(place);
  if (!asked || asked->folder.empty()) return {Errc::kNotFound, "no job can be there"};
  auto entered = wireup::Lobby::enter(
      *asked, number, job.processes().process_of(job.local_ranks().first),
      open_door(job));
  MPC_TRY(entered);
  if (wireup::Door* const door = wireup::Door::existing();
      door != nullptr && (*entered)->place().host == wireup::host_identity())
    door->serve((*entered)->place().folder);
  // Never freed: ranks may use it until the process ends.
  auto* const made = new Abroad(job, std::move(*entered), number, gone);
  const Result<> started = made->start();
  if (started) return &made->lobby();
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): never freed, see above
  g_endpoint.store(nullptr, std::memory_order_release);
  g_abroad.store(nullptr, std::memory_order_release);
  return started.error();
}

std::optional<std::string> look_up_name(const std::string& name,
                                        Result<wireup::Lobby*> (*open)()) {
  const sched::AsNobody nobody;
  if (wireup::Lobby* const known = lobby()) return known->look_up(name);
  const wireup::Place place = home_place();
  if (place.host == 0 || place.host == wireup::host_identity()) {
    const auto folder = wireup::LobbyFolder::open(place.folder);
    return folder ? (*folder)->look_up(name) : std::nullopt;
  }
  const auto opened = open();
  return opened ? (*opened)->look_up(name) : std::nullopt;
}

Result<> reach(int slot, uint64_t number) {
  const sched::AsNobody nobody;
  return g_abroad.load(std::memory_order_acquire)->reach(slot, number);
}

void reach_all(std::span<const int> processes) {
  for (const int process : processes) {
    const int slot = neighbours::index_of_process(process);
    if (slot == neighbours::own_slot()) continue;
    const Result<> reached = reach(slot, 0);
    // It may have ended regularly: then a rank that waits for it waits in vain, which is reported
    // as a deadlock.
    if (reached || reached.error().code == Errc::kNotFound) continue;
    job::Job::instance().abort(
        1,
        fmt::format("mpc: a group of several jobs has members that cannot talk to each "
                    "other: {}",
                    reached.error().message));
  }
}

void abandon() noexcept {
  if (wireup::Lobby* const known = lobby()) known->stop_listening();
}

void close() {
  Abroad* const abroad = g_abroad.load(std::memory_order_acquire);
  if (abroad == nullptr || endpoint() == nullptr) return;
  abroad->leave();
  if (job::losses::are_neighbours_survived()) forget_losses();
  // Last: until then the connections' thread may need it.
  g_endpoint.store(nullptr, std::memory_order_release);
}

}  // namespace mpc::msg::abroad
