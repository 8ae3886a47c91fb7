// Long puts and gets between processes: the data go from memory to memory, as a net's offer that the other process
// fetches, without a packet.
//
//   put   origin: kLongPut and offer  ->  target: fetches when both have come, then kAnswer
//   get   origin: kLongGet            ->  target: offer  ->  origin: fetches
//
// The packet and the offer may come in any order.

#include <utility>

#include "base/settings.h"
#include "runtime/rma/port.h"
#include "runtime/rma/port_operation.h"
#include "runtime/rma/window_share.h"

namespace mpc::rma {
namespace {

IntSetting s_long{"net.window_offer_bytes",
                  32 << 10,
                  "bytes",
                  "Puts and gets of at least this length between processes are fetched "
                  "from memory by the "
                  "other side, without being sent as packets",
                  1,
                  int64_t{1} << 62};

// Memory that the other process fetches, or that this one fills.
struct Transfer final : msg::ControlTransfer {
  Transfer(Port& at, Over function, void* first, dt::TypeRef layout, Count elements)
      : ControlTransfer(at.process(), function),
        port(at),
        base(first),
        type(std::move(layout)),
        count(elements) {}

  transport::Source source(size_t bytes) const noexcept {
    if (type->is_contiguous()) return {base, bytes, nullptr};
    return {this, bytes,
            [](const void* data, size_t offset, void* out, size_t n) noexcept {
              const auto& t = *static_cast<const Transfer*>(data);
              dt::pack(t.base, *t.type, t.count, offset, out, n);
            }};
  }
  transport::Target target(size_t bytes) noexcept {
    if (type->is_contiguous()) return {base, bytes, nullptr};
    return {this, bytes,
            [](void* data, size_t offset, const void* in, size_t n) noexcept {
              const auto& t = *static_cast<const Transfer*>(data);
              dt::unpack(t.base, *t.type, t.count, offset, in, n);
            }};
  }

  Port& port;
  void* const base;
  const dt::TypeRef type;
  const Count count;
  uint64_t ticket = 0;
  int from = 0;
  std::shared_ptr<WindowShare> share;  // whose memory it is
};

}  // namespace

// The net has finished with an origin's buffer.
void Port::end_at_origin(msg::ControlTransfer& self, transport::Outcome) noexcept {
  const std::unique_ptr<Transfer> transfer(static_cast<Transfer*>(&self));
  transfer->port.end_operation(transfer->ticket);
}

struct Port::LongPut {
  std::unique_ptr<Transfer> transfer;
  Packet packet;
  Fit fit;
};

bool Port::is_long(size_t bytes) noexcept {
  return bytes >= static_cast<size_t>(s_long.get());
}

// ---- at the origin -----------------------------------------------------------------------------

void Port::offer_put(int to, const Packet& packet, const void* base,
                     const dt::Datatype& type, Count count) {
  auto* const transfer = new Transfer(*this, &end_at_origin, const_cast<void*>(base),
                                      dt::TypeRef(&type), count);
  transfer->ticket = packet.ticket;
  msg::offer_control(process_, to, msg::ControlChannel::kWindow, packet.ticket, false,
                     transfer->source(packet.bytes), *transfer);
}

void Port::take_offer(const msg::ControlOffer& offer) noexcept {
  if (!offer.flag) {
    auto& puts = link(offer.from).puts;
    if (auto found = puts.extract(offer.id)) return take_put(*found.mapped(), offer);
    link(offer.from).offers.emplace(offer.id, offer);
    return;
  }
  // The data of a get. Only its end removes the Pending, which is after this.
  std::unique_ptr<Transfer> transfer;
  {
    const Locked lock(lock_);
    const auto found = pending_.find(offer.id);
    CHECK(found != pending_.end(), "another process offers what nobody has asked for");
    const Pending& pending = found->second;
    transfer = std::make_unique<Transfer>(*this, &end_at_origin, pending.base,
                                          pending.type, pending.count);
  }
  transfer->ticket = offer.id;
  const transport::Target target = transfer->target(offer.bytes);
  msg::fetch_control(process_, offer, target, *transfer.release());
}

// ---- at the target -----------------------------------------------------------------------------

void Port::serve_long(const Operation& op, std::shared_ptr<WindowShare> share,
                      Fit fit) {
  const Packet& packet = op.packet;
  const bool is_put = packet.verb == Verb::kLongPut;
  if (fit != Fit::kFits) fail(op.from, packet, fit);
  if (fit != Fit::kFits && !is_put) return answer(op.from, packet.ticket);
  const auto over = [](msg::ControlTransfer& self,
                       transport::Outcome outcome) noexcept {
    auto* const transfer = static_cast<Transfer*>(&self);
    // Otherwise the origin's process has ended.
    if (transfer->ticket != 0 && outcome == transport::Outcome::kDone)
      transfer->port.answer(transfer->from, transfer->ticket);
    delete transfer;
  };
  auto transfer = std::make_unique<Transfer>(*this, over, op.at, dt::TypeRef(&op.type),
                                             packet.count);
  transfer->share = std::move(share);
  if (!is_put) {
    const transport::Source source = transfer->source(packet.bytes);
    return msg::offer_control(process_, op.from, msg::ControlChannel::kWindow,
                              packet.ticket, true, source, *transfer.release());
  }
  transfer->ticket = packet.ticket;
  transfer->from = op.from;
  auto put = std::make_shared<LongPut>(LongPut{std::move(transfer), packet, fit});
  auto& offers = link(op.from).offers;
  if (auto found = offers.extract(packet.ticket)) return take_put(*put, found.mapped());
  link(op.from).puts.emplace(packet.ticket, std::move(put));
}

void Port::take_put(LongPut& put, const msg::ControlOffer& offer) {
  if (put.fit != Fit::kFits) {
    msg::refuse_control(process_, offer);
    return answer(offer.from, put.packet.ticket);
  }
  const transport::Target target = put.transfer->target(offer.bytes);
  msg::fetch_control(process_, offer, target, *put.transfer.release());
}

}  // namespace mpc::rma
