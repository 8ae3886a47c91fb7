#include "runtime/transport/host/host_net.h"

#include <sched.h>
#include <sys/epoll.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "scheduler/annotate.h"
#include "scheduler/as_nobody.h"

namespace mpc::transport::host {
namespace {

using sched::AsNobody;

// Messages of a ring before those of the next one, and before finish() handles them.
constexpr int kMostTaken = 16;
constexpr uint64_t kFlushNs = 1'000'000'000;  // a dead peer must not delay us

// Lines that a poll looks at, one after the other, with a pause between; some 100 ns.
constexpr int kMostLooks = 8;

// A poll of the module below takes some ten times as long as one of the rings; 0.1 to 0.3 us.
constexpr uint64_t kTicksBetweenPolls = 500;
constexpr uint32_t kNewsBetweenPolls = 16;
// So long after the last sign of something that goes through the module below it is polled often: some ms,
// as a long message takes where processes share cores.
constexpr uint64_t kAttentiveTicks = 8'000'000;
// The pause doubles after so many polls in vain, so often at most: to some 50 us where all processes are
// of this host.
constexpr uint32_t kVainPollsAtEachPause = 16, kMostPause = 8;

// An address: the length of the segment's name, the name, the address below.
NetAddress address_of(const SegmentName& name, const NetAddress& below) {
  NetAddress out(sizeof name + below.size());
  std::memcpy(out.data(), &name, sizeof name);
  std::copy(below.begin(), below.end(), out.begin() + sizeof name);
  return out;
}

}  // namespace

HostNet::HostNet(const NetConfig& config, std::unique_ptr<NetModule> below, bool copies)
    : config_(config),
      is_alone_(config.neighbours == 1),
      copies_(copies),
      below_(std::move(below)),
      net_(below_->net()),
      events_(below_->events()),
      lanes_(static_cast<size_t>(config.processes)),
      rings_(static_cast<size_t>(config.processes)) {
  make_inbox();
  address_ =
      address_of(inbox_ != nullptr ? inbox_->name() : SegmentName{}, below_->address());
}

void HostNet::make_inbox() {
  if (is_alone_) return;
  inbox_ = Inbox::make(config_.processes, config_.neighbours != 0 ? config_.neighbours
                                                                  : config_.processes);
  if (inbox_ == nullptr) return;
  descriptor_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  for (const int source : {inbox_->descriptor(), events_.descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(descriptor_.number(), EPOLL_CTL_ADD, source, &event) == 0) continue;
    inbox_.reset();
    return;
  }
}

HostNet::~HostNet() {
  const uint64_t end_ns = now_ns() + kFlushNs;
  while (has_waiting_.load(std::memory_order_relaxed) && now_ns() < end_ns) {
    flush();
    ::sched_yield();
  }
  below_.reset();
}

Result<> HostNet::connect(std::vector<NetPeer> peers, Receiver& receiver) {
  if (peers.size() != static_cast<size_t>(config_.processes))
    return {Errc::kSystem, "addresses of " + std::to_string(peers.size()) +
                               " processes in a job of " +
                               std::to_string(config_.processes)};
  for (int p = 0; p < config_.processes; ++p) {
    NetPeer& peer = peers[static_cast<size_t>(p)];
    SegmentName name;
    if (p == config_.process || peer.address.size() < sizeof name) continue;
    std::memcpy(&name, peer.address.data(), sizeof name);
    peer.address.erase(peer.address.begin(), peer.address.begin() + sizeof name);
    if (!peer.shares_memory) continue;
    if (inbox_ != nullptr) {
      senders_.push_back(
          {p, std::unique_ptr<RingReader>(new RingReader(inbox_->reader_of(p)))});
      rings_[static_cast<size_t>(p)] = senders_.back().ring.get();
    }
    if (auto outbox = Outbox::open(name, config_.process))
      lanes_[static_cast<size_t>(p)] = std::make_unique<Lane>(std::move(outbox));
  }
  const bool is_one_host =
      std::all_of(peers.begin(), peers.end(), [&](const NetPeer& peer) {
        return peer.shares_memory ||
               &peer == &peers[static_cast<size_t>(config_.process)];
      });
  most_pause_ = is_one_host ? kMostPause : 0;
  // Whether others can map this process's memory is not known here: mostly they can if it can map theirs.
  const auto others = static_cast<size_t>(config_.processes) - 1;
  are_all_near_ = is_one_host && senders_.size() == others &&
                  static_cast<size_t>(std::count(lanes_.begin(), lanes_.end(),
                                                 nullptr)) == lanes_.size() - others;
  looks_ = std::max(1, kMostLooks / std::max(1, static_cast<int>(senders_.size())));
  receiver_ = &receiver;
  if (inbox_ != nullptr && copies_)
    for (const auto& lane : lanes_)
      if (lane != nullptr) lane->say_reads(lane->memory().is_open());
  return below_->connect(std::move(peers), is_alone_ ? receiver : *this);
}

void HostNet::lose(int peer) noexcept {
  if (const auto& lane = lanes_[static_cast<size_t>(peer)]) lane->lose();
  below_->lose(peer);
  end_long(peer);
}

void HostNet::end_long(int peer) noexcept {
  const AsNobody as_nobody;
  offers_.lose(peer);
  fetches_.lose(peer);
  if (inbox_ != nullptr) inbox_->ring_own();
}

// lose() may never follow, where the module below has reported the loss itself.
bool HostNet::has_left(int peer) noexcept {
  if (const auto& lane = lanes_[static_cast<size_t>(peer)]) lane->lose();
  const RingReader* const ring = rings_[static_cast<size_t>(peer)];
  // What it has said about long messages is taken before they are given up.
  if (ring != nullptr && ring->has_mail()) return true;
  end_long(peer);
  return false;
}

// --- sending -----------------------------------------------------------------------------------

Limits HostNet::limits(int peer) const noexcept {
  Limits limits = net_.limits(peer);
  if (const auto& lane = lanes_[static_cast<size_t>(peer)])
    limits.eager_bytes = std::min(limits.eager_bytes, lane->most_bytes());
  return limits;
}

// For ThreadSanitizer, which does not see that what comes from another process may be its answer to
// anything sent before.
void HostNet::note_sent() noexcept { MPC_HAPPENS_BEFORE(this); }
void HostNet::note_arrival() noexcept { MPC_HAPPENS_AFTER(this); }

void HostNet::post(int peer, const Envelope& envelope, const Source& source) noexcept {
  note_sent();
  Lane* const lane = lanes_[static_cast<size_t>(peer)].get();
  if (lane == nullptr || source.bytes > lane->most_bytes()) [[unlikely]] {
    net_.post(peer, envelope, source);
    return knock(peer);
  }
  send(peer, CellKind::kMessage, envelope, source);
}

void HostNet::send(int peer, CellKind kind, const Envelope& envelope,
                   const Source& source) noexcept {
  note_sent();
  Lane& lane = *lanes_[static_cast<size_t>(peer)];
  if (lane.post(envelope, source, kind) == Lane::Left::kSome) [[unlikely]]
    has_waiting_.store(true, std::memory_order_release);  // pairs with flush()
  if (lane.must_ring()) [[unlikely]]
    wake(peer, lane);
}

void HostNet::wake_sleeper(int peer) noexcept {
  Lane& lane = *lanes_[static_cast<size_t>(peer)];
  if (lane.must_ring()) wake(peer, lane);
}

void HostNet::wake(int peer, Lane& lane) noexcept {
  if (lane.ring()) return;
  // Its network can wake it as well: by a message that says nothing.
  Envelope nothing;
  nothing.kind = PacketKind::kCredit;
  net_.post(peer, nothing, {});
}

// A lane that is given messages meanwhile sets the mark again.
void HostNet::flush() noexcept {
  has_waiting_.exchange(false, std::memory_order_acq_rel);
  bool is_some_left = false;
  for (size_t p = 0; p < lanes_.size(); ++p) {
    if (lanes_[p] == nullptr) continue;
    is_some_left = lanes_[p]->flush() == Lane::Left::kSome || is_some_left;
    if (lanes_[p]->must_ring()) wake(static_cast<int>(p), *lanes_[p]);
  }
  if (is_some_left) has_waiting_.store(true, std::memory_order_relaxed);
}

// --- arrivals from below -----------------------------------------------------------------------

bool HostNet::take(int from, const Envelope& envelope, const void* data, size_t bytes,
                   Bulk bulk) noexcept {
  if (!turn_.try_lock()) return false;
  note_arrival();
  const bool is_taken = receiver_->take(from, envelope, data, bytes, bulk);
  turn_.unlock();
  return is_taken;
}

bool HostNet::finish() noexcept {
  if (!turn_.try_lock()) return false;
  const bool is_last = receiver_->finish();
  turn_.unlock();
  return is_last;
}

// --- polling -----------------------------------------------------------------------------------

bool HostNet::has_mail(std::memory_order order) const noexcept {
  return std::any_of(senders_.begin(), senders_.end(),
                     [&](const Sender& s) { return s.ring->has_mail(order); });
}

bool HostNet::take_cell(int from, const Envelope& envelope,
                        const RingReader::Message& message) noexcept {
  switch (message.kind) {
    case CellKind::kMessage:
      return receiver_->take(from, envelope, message.data, message.bytes, 0);
    case CellKind::kOffer: {
      Offers::Place place;
      if (message.bytes != sizeof place || lanes_[static_cast<size_t>(from)] == nullptr)
        break;
      std::memcpy(&place, message.data, sizeof place);
      const Bulk bulk = fetches_.take_offer(from, place);
      const bool is_taken = receiver_->take(from, envelope, nullptr, 0, bulk);
      if (!is_taken) fetches_.drop(bulk);
      return is_taken;
    }
    case CellKind::kEnded:
      offers_.take_end(from, envelope);
      break;
    case CellKind::kRecall:
      fetches_.take_recall(from, envelope);
      break;
    case CellKind::kAsk:
      offers_.send_piece(from, envelope);
      break;
    case CellKind::kPiece:
      fetches_.take_piece(from, envelope, message.data, message.bytes);
      break;
  }
  return true;
}

bool HostNet::take_some(Sender& sender) noexcept {
  RingReader& ring = *sender.ring;
  int taken = 0;
  for (; taken < kMostTaken && ring.has_mail(); ++taken) {
    const RingReader::Message message = ring.front();
    Envelope envelope;
    if (message.is_sane && decode(message.envelope, kEnvelopeBytes, &envelope)) {
      // Its successors have to wait anyway: they come after it.
      if (!take_cell(sender.process, envelope, message)) break;
    } else if (config_.report != nullptr) {
      config_.report(config_.report_context, sender.process,
                     "a message in shared memory that is not of this MPI");
    }
    ring.pop();
  }
  if (taken != 0) ring.give_back();
  return taken != 0;
}

bool HostNet::take_all() noexcept {
  bool has_news = false;
  for (Sender& sender : senders_)
    if (sender.ring->has_mail()) has_news = take_some(sender) || has_news;
  return has_news;
}

// Without the lock: mostly there is nothing.
bool HostNet::are_rings_due() const noexcept {
  return has_mail(std::memory_order_relaxed) || inbox_->sleeps() ||
         is_finish_due_.load(std::memory_order_relaxed);
}

// Looks several times: the line of the next message is in this core's cache until it is written.
bool HostNet::poll_rings() noexcept {
  for (int look = 1; !are_rings_due(); ++look) {
    if (look >= looks_) return false;
    __builtin_ia32_pause();
  }
  if (!turn_.try_lock()) return false;
  note_arrival();
  if (inbox_->sleeps()) inbox_->wake_up();
  const bool has_news = take_all();
  if (has_news || is_finish_due_.load(std::memory_order_relaxed))
    is_finish_due_.store(!receiver_->finish(), std::memory_order_relaxed);
  turn_.unlock();
  return has_news;
}

// The longer it has had no news the more rarely: what comes from this host is announced by a knock.
bool HostNet::poll_below() noexcept {
  const uint64_t now = __rdtsc();
  if (inbox_ != nullptr && inbox_->take_knock()) [[unlikely]]
    attend(now);
  const bool is_attentive = is_attentive_.load(std::memory_order_relaxed) &&
                            now < attentive_until_.load(std::memory_order_relaxed);
  if (!is_attentive) is_attentive_.store(false, std::memory_order_relaxed);
  const uint32_t vain = is_attentive ? 0 : vain_polls_.load(std::memory_order_relaxed);
  const uint64_t pause = kTicksBetweenPolls
                         << std::min(vain / kVainPollsAtEachPause, most_pause_);
  if (now - last_below_.load(std::memory_order_relaxed) < pause) return false;
  last_below_.store(now, std::memory_order_relaxed);
  const bool has_news = events_.poll();
  if (has_news) attend(now);
  vain_polls_.store(vain + 1, std::memory_order_relaxed);
  return has_news;
}

void HostNet::attend(uint64_t now) noexcept {
  attentive_until_.store(now + kAttentiveTicks, std::memory_order_relaxed);
  is_attentive_.store(true, std::memory_order_relaxed);
}

void HostNet::knock(int peer) noexcept {
  if (is_alone_) return;
  if (const auto& lane = lanes_[static_cast<size_t>(peer)]) lane->knock();
  attend(__rdtsc());
}

bool HostNet::poll() noexcept {
  if (is_alone_) return events_.poll();
  if (receiver_ == nullptr) return false;
  bool has_news = inbox_ != nullptr && poll_rings();
  if (long_work_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    has_news = work_on_long() || has_news;
  if (has_waiting_.load(std::memory_order_relaxed)) [[unlikely]]
    flush();
  // Mostly the caller has what it waits for.
  if (has_news && !is_attentive_.load(std::memory_order_relaxed) &&
      count_news() % kNewsBetweenPolls != 0)
    return true;
  return poll_below() || has_news;
}

bool HostNet::arm() noexcept {
  if (is_alone_) return events_.arm();
  if (inbox_ == nullptr)
    return !has_waiting_.load(std::memory_order_relaxed) && events_.arm();
  if (receiver_ == nullptr || !turn_.try_lock()) return false;
  inbox_->begin_sleep();
  const bool is_armed = !has_mail(std::memory_order_seq_cst) &&
                        !is_finish_due_.load(std::memory_order_relaxed) &&
                        !has_waiting_.load(std::memory_order_relaxed) &&
                        !has_long_work() && events_.arm();
  if (!is_armed) {
    inbox_->wake_up();
    last_below_.store(0, std::memory_order_relaxed);  // the next poll must find it
  }
  turn_.unlock();
  return is_armed;
}

}  // namespace mpc::transport::host
