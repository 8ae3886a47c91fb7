#include "runtime/transport/shielded_net.h"

#include <utility>

#include "scheduler/as_nobody.h"

namespace mpc::transport {
namespace {

using sched::AsNobody;

class ShieldedNet final : public NetModule, public Net, public sched::EventSource {
 public:
  explicit ShieldedNet(std::unique_ptr<NetModule> module)
      : module_(std::move(module)), net_(module_->net()), events_(module_->events()) {}
  ~ShieldedNet() override {
    const AsNobody as_nobody;
    module_.reset();
  }

  const NetAddress& address() const noexcept override { return module_->address(); }
  Result<> connect(std::vector<NetPeer> peers, Receiver& receiver) override {
    const AsNobody as_nobody;
    return module_->connect(std::move(peers), receiver);
  }
  void make_connections(Completion& completion) noexcept override {
    const AsNobody as_nobody;
    module_->make_connections(completion);
  }
  void lose(int peer) noexcept override {
    const AsNobody as_nobody;
    module_->lose(peer);
  }
  Net& net() noexcept override { return *this; }
  sched::EventSource& events() noexcept override { return *this; }

  Limits limits(int peer) const noexcept override { return net_.limits(peer); }
  void post(int peer, const Envelope& envelope,
            const Source& source) noexcept override {
    const AsNobody as_nobody;
    net_.post(peer, envelope, source);
  }
  void offer(int peer, const Envelope& envelope, const Source& source,
             Completion& completion) noexcept override {
    const AsNobody as_nobody;
    net_.offer(peer, envelope, source, completion);
  }
  void fetch(int peer, Bulk bulk, const Target& target,
             Completion& completion) noexcept override {
    const AsNobody as_nobody;
    net_.fetch(peer, bulk, target, completion);
  }
  void refuse(int peer, Bulk bulk) noexcept override {
    const AsNobody as_nobody;
    net_.refuse(peer, bulk);
  }
  void forget(Completion& completion) noexcept override {
    const AsNobody as_nobody;
    net_.forget(completion);
  }

  bool poll() noexcept override {
    const AsNobody as_nobody;
    return events_.poll();
  }
  Sign next_from(int peer) const noexcept override { return net_.next_from(peer); }
  Polled poll_for(int peer, NextTaker& taker) noexcept override {
    const AsNobody as_nobody;
    return net_.poll_for(peer, taker);
  }
  int descriptor() const noexcept override { return events_.descriptor(); }
  bool arm() noexcept override {
    const AsNobody as_nobody;
    return events_.arm();
  }

 private:
  std::unique_ptr<NetModule> module_;
  Net& net_;
  sched::EventSource& events_;
};

}  // namespace

std::unique_ptr<NetModule> make_shielded_net(std::unique_ptr<NetModule> module) {
  return std::make_unique<ShieldedNet>(std::move(module));
}

}  // namespace mpc::transport
