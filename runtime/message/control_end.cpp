#include "runtime/message/control_end.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/job/neighbours.h"
#include "scheduler/outside_work.h"

namespace mpc::msg {
namespace {

struct Handler {
  ControlHandler function;
  void* argument;
};
// Written before there is a network, and so before its threads.
constinit Handler g_handlers[kControlChannels]{};
struct OfferHandler {
  ControlOfferHandler function;
  void* argument;
};
constinit OfferHandler g_offer_handlers[kControlChannels]{};
constinit ControlPeerHandler g_peer_handlers[kControlChannels]{};

// Not the messages by which processes find out whether everything is at rest.
constexpr bool is_work(ControlChannel channel) noexcept {
  return channel != ControlChannel::kDeadlock;
}

constexpr size_t index_of(ControlChannel channel) noexcept {
  return static_cast<size_t>(channel);
}

}  // namespace

void set_control_handler(ControlChannel channel, ControlHandler handler,
                         void* argument) noexcept {
  g_handlers[index_of(channel)] = {handler, argument};
}

void set_control_offer_handler(ControlChannel channel, ControlOfferHandler handler,
                               void* argument) noexcept {
  g_offer_handlers[index_of(channel)] = {handler, argument};
}

void set_control_peer_handler(ControlChannel channel,
                              ControlPeerHandler handler) noexcept {
  g_peer_handlers[index_of(channel)] = handler;
}

ControlEnd::ControlEnd(int here, int processes, transport::Net& net)
    : here_(here),
      processes_(processes),
      net_(net),
      peers_(std::make_unique<Peer[]>(static_cast<size_t>(processes))) {}

ControlEnd::~ControlEnd() {
  auto left = static_cast<int64_t>(offers_.size());
  for (const Ready& each : ready_) left += is_work(each.channel);
  for (int p = 0; p < processes_; ++p)
    for (int c = 0; c < kControlChannels; ++c)
      if (is_work(static_cast<ControlChannel>(c)))
        left += static_cast<int64_t>(
            peers_[static_cast<size_t>(p)][static_cast<size_t>(c)].early.size());
  sched::end_outside_work(left);
}

ControlEnd::Stream& ControlEnd::stream_of(int peer, ControlChannel channel) noexcept {
  return peers_[static_cast<size_t>(job::neighbours::index_of_process(peer))]
               [index_of(channel)];
}

void ControlEnd::send(int to, ControlChannel channel,
                      std::span<const std::byte> message) {
  DCHECK(to != here_ && job::neighbours::index_of_process(to) < processes_,
         "no other process");
  const size_t limit = std::max<size_t>(net_.limits(to).eager_bytes, 1);
  const size_t fragments = std::max<size_t>((message.size() + limit - 1) / limit, 1);
  transport::Envelope envelope;
  envelope.kind = transport::PacketKind::kControl;
  envelope.context = static_cast<uint32_t>(channel);
  envelope.bytes = message.size();
  // Relaxed: ordered calls get numbers in their order; others have no order.
  envelope.sequence =
      stream_of(to, channel)
          .sent.fetch_add(static_cast<uint32_t>(fragments), std::memory_order_relaxed);
  if (is_work(channel)) sent_.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < fragments; ++i, ++envelope.sequence) {
    const auto part =
        message.subspan(i * limit, std::min(limit, message.size() - i * limit));
    net_.post(to, envelope, {part.data(), part.size(), nullptr});
  }
}

void ControlEnd::offer(int to, ControlChannel channel, uint64_t id, bool flag,
                       const transport::Source& source,
                       transport::Completion& completion) {
  transport::Envelope envelope;
  envelope.kind = transport::PacketKind::kControlOffer;
  envelope.context = static_cast<uint32_t>(channel);
  envelope.id = id;
  envelope.flag = flag;
  envelope.bytes = source.bytes;
  sent_.fetch_add(1, std::memory_order_relaxed);
  net_.offer(to, envelope, source, completion);
}

void ControlEnd::take_offer(int from, const transport::Envelope& envelope,
                            transport::Bulk bulk) {
  CHECK(envelope.context < kControlChannels && bulk != 0,
        "another process has offered data on no channel");
  sched::begin_outside_work();  // until deliver()
  offers_.push_back(
      {static_cast<ControlChannel>(envelope.context),
       {from, envelope.id, envelope.flag, static_cast<size_t>(envelope.bytes), bulk}});
}

void ControlEnd::take(int from, const transport::Envelope& envelope, const void* data,
                      size_t bytes) {
  CHECK(envelope.context < kControlChannels,
        "another process has sent a control message of no channel");
  const auto channel = static_cast<ControlChannel>(envelope.context);
  Stream& stream = stream_of(from, channel);
  const std::span part(static_cast<const std::byte*>(data), bytes);
  if (envelope.sequence != stream.expected) {
    stream.early[envelope.sequence] = {envelope.bytes, {part.begin(), part.end()}};
    // The net has finished with it, and no other thread has it.
    if (is_work(channel)) sched::begin_outside_work();
    return;
  }
  append(from, channel, envelope.bytes, part);
  // Messages that had overtaken this one.
  while (auto next = stream.early.extract(stream.expected)) {
    append(from, channel, next.mapped().message_bytes, next.mapped().data);
    if (is_work(channel)) sched::end_outside_work();
  }
}

void ControlEnd::append(int from, ControlChannel channel, uint64_t message_bytes,
                        std::span<const std::byte> data) {
  Stream& stream = stream_of(from, channel);
  ++stream.expected;
  stream.message.reserve(message_bytes);
  stream.message.insert(stream.message.end(), data.begin(), data.end());
  CHECK(stream.message.size() <= message_bytes,
        "the fragments of a control message are longer than the message");
  // The net still has the other fragments.
  if (stream.message.size() < message_bytes) return;
  if (is_work(channel)) sched::begin_outside_work();  // until deliver()
  ready_.push_back({channel, from, std::exchange(stream.message, {})});
}

void ControlEnd::begin_peer(int peer) noexcept {
  for (int c = 0; c < kControlChannels; ++c) {
    Stream& stream = stream_of(peer, static_cast<ControlChannel>(c));
    if (is_work(static_cast<ControlChannel>(c)))
      sched::end_outside_work(static_cast<int64_t>(stream.early.size()));
    stream.sent.store(0, std::memory_order_relaxed);
    stream.expected = 0;
    stream.message.clear();
    stream.early.clear();
    if (g_peer_handlers[c] != nullptr) g_peer_handlers[c](here_, peer);
  }
}

void ControlEnd::deliver() noexcept {
  if (ready_.empty() && offers_.empty()) return;
  const std::vector<Ready> ready = std::exchange(ready_, {});
  const std::vector<ReadyOffer> offers = std::exchange(offers_, {});
  uint32_t work = 0;
  for (const Ready& each : ready) {
    const Handler& handler = g_handlers[index_of(each.channel)];
    CHECK(handler.function != nullptr, "nobody takes control messages of this channel");
    handler.function(handler.argument, here_, each.from, each.message);
    work += is_work(each.channel);
  }
  for (const ReadyOffer& each : offers) {
    const OfferHandler& handler = g_offer_handlers[index_of(each.channel)];
    CHECK(handler.function != nullptr, "nobody takes offers on this channel");
    handler.function(handler.argument, here_, each.offer);
    ++work;
  }
  delivered_ += work;
  // The executions that waited for the messages have been unparked.
  sched::end_outside_work(work);
}

}  // namespace mpc::msg
