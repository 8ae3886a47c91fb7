// The end of each virtual process: what it posts becomes a packet of the fabric.
#include "base/settings.h"
#include "runtime/transport/loopback/fabric.h"
#include "runtime/transport/loopback/loopback.h"

namespace mpc::transport {
namespace {

IntSetting seed_setting{"net.loopback_seed",
                        0,
                        "",
                        "Between virtual processes: messages are delayed and reordered "
                        "as this number says; "
                        "0: they come at once and in order",
                        0,
                        INT64_MAX};
IntSetting delay_setting{
    "net.loopback_delay_us",
    50,
    "us",
    "Between virtual processes, with a net.loopback_seed: the longest delay",
    1,
    1'000'000};

}  // namespace

namespace loopback {

Limits End::limits(int) const noexcept { return {fabric_.config().eager_bytes}; }

void End::post(int peer, const Envelope& envelope, const Source& source) noexcept {
  Packet packet;
  packet.from = process_;
  packet.to = peer;
  packet.wire = Wire::kMessage;
  packet.bytes = pack(source, kEnvelopeBytes);
  encode(envelope, packet.bytes.data());
  fabric_.send(std::move(packet));
}

void End::offer(int peer, const Envelope& envelope, const Source& source,
                Completion& completion) noexcept {
  Packet packet;
  packet.from = process_;
  packet.to = peer;
  packet.wire = Wire::kOffer;
  packet.bytes.resize(kEnvelopeBytes);
  encode(envelope, packet.bytes.data());
  packet.handle = fabric_.note_offer(source, completion);
  fabric_.send(std::move(packet));
}

void End::fetch(int peer, Bulk bulk, const Target& target,
                Completion& completion) noexcept {
  Packet packet;
  packet.from = process_;
  packet.to = peer;
  packet.wire = Wire::kFetch;
  packet.handle = bulk;
  packet.fetch = fabric_.note_fetch(target, completion);
  fabric_.send(std::move(packet));
}

void End::refuse(int peer, Bulk bulk) noexcept {
  Packet packet;
  packet.from = process_;
  packet.to = peer;
  packet.wire = Wire::kRefuse;
  packet.handle = bulk;
  fabric_.send(std::move(packet));
}

void End::forget(Completion& completion) noexcept { fabric_.forget(completion); }

}  // namespace loopback

LoopbackConfig LoopbackConfig::from_settings() noexcept {
  LoopbackConfig config;
  config.seed = static_cast<uint64_t>(seed_setting.get());
  config.delay_ns = delay_setting.get() * 1000;
  return config;
}

std::unique_ptr<Loopback> Loopback::make(int processes, const LoopbackConfig& config) {
  return std::make_unique<loopback::Fabric>(processes, config);
}

}  // namespace mpc::transport
