#include "runtime/rma/port.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/settings.h"
#include "runtime/message/control.h"
#include "runtime/rma/lock_lines.h"

namespace mpc::rma {
namespace {

IntSetting s_room{
    "net.window_bytes",
    4 << 20,
    "bytes",
    "What a process may have sent to windows of another one, and wants to "
    "get from them, that has not arrived yet; beyond it put and get wait",
    256 << 10,
    1 << 30};

size_t room() noexcept { return static_cast<size_t>(s_room.get()); }

const job::ProcessMap* g_map = nullptr;  // of this job
// By process; created when first needed.
std::vector<std::atomic<Port*>>* g_ports = nullptr;
constinit std::atomic<Port*> g_port_abroad{nullptr};

// The port for windows of several jobs. Like a slot's context ids the numbers of its windows are not those of an earlier
// process in the slot.
Port& port_abroad() {
  namespace neighbours = job::neighbours;
  constexpr int kCountBits = 24, kGenerationBits = 16;
  static Port* const port = [] {
    auto* const made = new Port(
        neighbours::far_process(neighbours::own_slot()), neighbours::kGoneSlot + 1,
        neighbours::generation() % (1 << kGenerationBits) << kCountBits);
    g_port_abroad.store(made, std::memory_order_release);
    return made;
  }();
  return *port;
}

}  // namespace

Port::Port(int process, int processes, uint64_t first_window)
    : process_(process),
      processes_(processes),
      last_window_(first_window),
      links_(std::make_unique<Link[]>(static_cast<size_t>(processes))) {}

int Port::process_at(size_t index) const noexcept {
  const auto number = static_cast<int>(index);
  return job::neighbours::is_far_process(process_)
             ? job::neighbours::far_process(number)
             : number;
}

Port& Port::of(int process) {
  if (job::neighbours::is_far_process(process)) [[unlikely]]
    return port_abroad();
  std::atomic<Port*>& slot = (*g_ports)[static_cast<size_t>(process)];
  // Acquire pairs with the exchange.
  Port* present = slot.load(std::memory_order_acquire);
  if (present != nullptr) return *present;
  auto made = std::make_unique<Port>(process, g_map->processes());
  if (slot.compare_exchange_strong(present, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *present;
}

void Port::listen(const job::ProcessMap& map) {
  g_map = &map;
  if (g_ports != nullptr)
    for (const std::atomic<Port*>& port : *g_ports)
      delete port.load(std::memory_order_relaxed);
  delete g_ports;
  g_ports = new std::vector<std::atomic<Port*>>(static_cast<size_t>(map.processes()));
  msg::set_control_handler(
      msg::ControlChannel::kWindow,
      [](void*, int here, int from, std::span<const std::byte> message) noexcept {
        of(here).arrive(from, message);
      },
      nullptr);
  msg::set_control_offer_handler(
      msg::ControlChannel::kWindow,
      [](void*, int here, const msg::ControlOffer& offer) noexcept {
        of(here).take_offer(offer);
      },
      nullptr);
  msg::set_control_peer_handler(
      msg::ControlChannel::kWindow, [](int, int peer) noexcept {
        // A new one has heard nothing from an earlier peer.
        Port* const port = g_port_abroad.load(std::memory_order_acquire);
        if (port != nullptr) port->begin_peer(peer);
      });
}

// What an earlier process in this slot has told or not processed is of no use. Operations that await its answers wait for ever, as
// receives do.
void Port::begin_peer(int process) noexcept {
  Link& fresh = link(process);
  fresh.on_its_way.store(0, std::memory_order_relaxed);
  fresh.worked_off = 0;
  fresh.types.clear();
  fresh.puts.clear();
  fresh.offers.clear();
}

// ---- windows ---------------------------------------------------------------------------------

// Connections with other jobs have a thread, which looks anyway.
void Port::add_window(uint64_t window, std::weak_ptr<WindowShare> share) {
  {
    const Locked lock(lock_);
    windows_[window].share = std::move(share);
  }
  if (!job::neighbours::is_far_process(process_)) msg::begin_to_serve();
}

void Port::remove_window(uint64_t window) noexcept {
  {
    const Locked lock(lock_);
    windows_.erase(window);
  }
  if (!job::neighbours::is_far_process(process_)) msg::end_to_serve();
}

std::shared_ptr<WindowShare> Port::find_window(uint64_t window) {
  const Locked lock(lock_);
  const auto found = windows_.find(window);
  return found != windows_.end() ? found->second.share.lock() : nullptr;
}

void Port::add_access(uint64_t window, int member, OriginEnd& access) {
  const Locked lock(lock_);
  windows_[window].accesses[member] = &access;
}

void Port::remove_access(uint64_t window, int member) noexcept {
  const Locked lock(lock_);
  const auto found = windows_.find(window);
  if (found != windows_.end()) found->second.accesses.erase(member);
}

// ---- sending ---------------------------------------------------------------------------------

Port::Parcel::Parcel(size_t bytes) : size_(sizeof(Packet) + bytes) {
  if (size_ > kInline) large_ = std::make_unique_for_overwrite<std::byte[]>(size_);
  bytes_ = large_ ? large_.get() : inline_;
}

void Port::send(int to, const Packet& packet, Parcel& parcel) {
  std::memcpy(parcel.bytes_, &packet, sizeof packet);
  msg::send_control(process_, to, msg::ControlChannel::kWindow,
                    {parcel.bytes_, parcel.size_});
}

void Port::send(int to, const Packet& packet, std::span<const std::byte> data) {
  Parcel parcel(data.size());
  if (!data.empty()) std::memcpy(parcel.data(), data.data(), data.size());
  send(to, packet, parcel);
}

void Port::answer(int to, uint64_t ticket) {
  Packet packet;
  packet.verb = Verb::kAnswer;
  packet.ticket = ticket;
  send(to, packet);
}

// ---- room --------------------------------------------------------------------------------------

// At most half of the room: what the other process has processed
// and not yet reported leaves more than that.
size_t Port::charge_of(size_t message_bytes) noexcept {
  return std::min(message_bytes, room() / 2);
}

bool Port::try_room(Link& link, size_t bytes) noexcept {
  uint64_t used = link.on_its_way.load(std::memory_order_relaxed);
  do {
    if (used + bytes > room()) return false;
  } while (!link.on_its_way.compare_exchange_weak(used, used + bytes,
                                                  std::memory_order_relaxed));
  return true;
}

void Port::take_room(int to, size_t bytes, job::Rank& self,
                     const sched::WaitReason& why) {
  Link& other = link(to);
  if (try_room(other, bytes)) return;
  struct Wait {
    Port& port;
    Link& link;
    const size_t bytes;
    bool has_room = false;
  } wait{*this, other, bytes};
  {
    const Locked lock(other.lock);
    other.waiting.push_back(&self);
  }
  // From here on a thread that gives room back notifies us;
  // room that was given back before is seen.
  msg::wait_for_control(
      self,
      [](void* argument) {
        Wait& w = *static_cast<Wait*>(argument);
        if (!w.has_room) w.has_room = w.port.try_room(w.link, w.bytes);
        return w.has_room;
      },
      &wait, why);
  // The thread that notified us no longer uses the rank when we have the lock.
  const Locked lock(other.lock);
  other.waiting.erase(std::ranges::find(other.waiting, &self));
}

bool Port::take_room_or_later(int to, size_t bytes, OriginEnd& access, int target) {
  Link& other = link(to);
  if (try_room(other, bytes)) return true;
  uint64_t number = 0;
  {
    const Locked lock(other.lock);
    number = ++other.last_stalled;
    other.stalled.push_back({&access, target, number});
  }
  // Room that comes back from here on finds the entry; what came back before is seen, because its thread has
  // had the lock before us.
  if (!try_room(other, bytes)) return false;
  {
    const Locked lock(other.lock);
    const auto found = std::ranges::find(other.stalled, number, &Link::Stalled::number);
    if (found != other.stalled.end()) {
      other.stalled.erase(found);
      return true;
    }
  }
  // A thread that has room runs the queue now, or has run it: `access` may be gone.
  give_room_back(other, bytes);
  return false;
}

void Port::give_room_back(Link& link, size_t bytes) noexcept {
  link.on_its_way.fetch_sub(bytes, std::memory_order_relaxed);
  std::vector<Link::Stalled> stalled;
  {
    const Locked lock(link.lock);
    for (job::Rank* rank : link.waiting) msg::notify(*rank);
    stalled.swap(link.stalled);
  }
  for (const Link::Stalled& each : stalled) each.access->run_queue(each.target);
}

// Reported from a quarter of the room on, so that one message serves for many.
void Port::note_worked_off(int from, size_t bytes) {
  Link& other = link(from);
  other.worked_off += bytes;
  if (other.worked_off < room() / 4) return;
  Packet packet;
  packet.verb = Verb::kRoom;
  packet.bytes = std::exchange(other.worked_off, 0);
  send(from, packet);
}

// ---- operations that await an answer ---------------------------------------------------------------

uint64_t Port::add_pending(Pending pending) {
  const Locked lock(lock_);
  const uint64_t ticket = ++last_ticket_;
  pending_.emplace(ticket, std::move(pending));
  return ticket;
}

void Port::end_operation(uint64_t ticket) {
  Pending pending;
  {
    const Locked lock(lock_);
    const auto found = pending_.find(ticket);
    CHECK(found != pending_.end(), "another process answers what nobody has asked");
    if (--found->second.parts != 0) return;
    pending = std::move(found->second);
    pending_.erase(found);
  }
  if (pending.line != nullptr) {
    for (const lock_lines::Request& next : lock_lines::end(*pending.line))
      next.port->send(next.to, next.packet);
    pending.access->note_grant(
        pending.target);  // the rank is notified after its line has ended
    return;
  }
  pending.access->note_end(pending.target, pending.is_over.get());
}

// ---- posts -----------------------------------------------------------------------------------------

// The post itself is on the board.
void Port::pass_post_on(const Packet& packet) {
  OriginEnd* access = nullptr;
  {
    const Locked lock(lock_);
    const auto window = windows_.find(packet.window);
    if (window == windows_.end()) return;
    const auto found = window->second.accesses.find(packet.target);
    // Whoever has something in a queue exists until it has been sent.
    if (found == window->second.accesses.end() ||
        !found->second->note_post(packet.origin))
      return;
    access = found->second;
  }
  access->run_queue(packet.origin);
}

// ---- answers ---------------------------------------------------------------------------------------

// Data come in any number of parts; only this thread removes a Pending, so it exists meanwhile.
void Port::take_data(int from, const Packet& packet, std::span<const std::byte> data) {
  Pending* pending = nullptr;
  {
    const Locked lock(lock_);
    const auto found = pending_.find(packet.ticket);
    CHECK(found != pending_.end(), "another process answers what nobody has asked");
    pending = &found->second;
  }
  if (packet.fit == Fit::kFits) {
    deposit(*pending, packet.offset, data);
  } else {
    pending->access->note_failure(packet);
  }
  give_room_back(link(from), charge_of(packet.bytes));
  pending->left -= std::min<uint64_t>(packet.bytes, pending->left);
  if (pending->left == 0) end_operation(packet.ticket);
}

void Port::take_failure(const Packet& packet) {
  const Locked lock(lock_);
  const auto window = windows_.find(packet.window);
  if (window == windows_.end()) return;  // it has been freed
  const auto access = window->second.accesses.find(packet.origin);
  if (access != window->second.accesses.end()) access->second->note_failure(packet);
}

void Port::arrive(int from, std::span<const std::byte> message) noexcept {
  Packet packet;
  std::span<const std::byte> data;
  CHECK(decode(message, &packet, &data),
        "another process has sent what is no packet of a window");
  switch (packet.verb) {
    case Verb::kData:
      return take_data(from, packet, data);
    case Verb::kAnswer:
      return end_operation(packet.ticket);
    case Verb::kFailed:
      return take_failure(packet);
    case Verb::kRoom:
      return give_room_back(link(from), packet.bytes);
    default:
      serve(from, packet, data);
      if (takes_room(packet.verb)) note_worked_off(from, charge_of(message.size()));
  }
}

}  // namespace mpc::rma
