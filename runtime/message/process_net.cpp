#include "runtime/message/process_net.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/host_map.h"
#include "runtime/job/losses.h"
#include "runtime/message/losses.h"
#include "runtime/message/outside.h"
#include "runtime/message/remote.h"
#include "runtime/transport/load_net.h"
#include "scheduler/poll/poller.h"

namespace mpc::msg {
namespace {

constexpr char kAddress[] = "mpc.net";

// Often the other process has died: the launcher waits a moment
// for that, because it is the better report.
void report_broken(void* wireup, int peer, const char* problem) noexcept {
  std::string text = "mpcrun: the network between processes is broken";
  if (peer >= 0) text += " (to process " + std::to_string(peer) + ")";
  static_cast<wireup::Wireup*>(wireup)->tell(
      wireup::Report::kBroken, peer + 1, text + ": " + problem + "; the job is ended");
  if (job::losses::are_survived()) note_broken(peer);
}

}  // namespace

Result<std::unique_ptr<ProcessNet>> ProcessNet::load(wireup::Wireup& wireup) {
  transport::NetConfig config;
  config.process = wireup.index();
  config.processes = wireup.size();
  // UCX has 64 KiB for a message with its envelope, at most.
  constexpr size_t kMostEagerBytes = 64'000;
  config.eager_bytes = std::min(remote::eager_limit(), kMostEagerBytes);
  config.interfaces = wireup.interfaces();
  config.neighbours = wireup.local_size();
  config.report = &report_broken;
  config.report_context = &wireup;
  // UCX has files in /dev/shm for a moment.
  const auto whole = wireup.hold_end();
  auto module = transport::load_net(config);
  // A part of the installation is missing, not a program (which has a status of its own).
  if (!module) return {Errc::kUnsupported, module.error().message};
  MPC_TRY(wireup.put(kAddress, (*module)->address()));
  return std::unique_ptr<ProcessNet>(new ProcessNet(wireup, std::move(*module)));
}

Result<> ProcessNet::connect(transport::Receiver& receiver,
                             sched::Scheduler& scheduler) {
  const job::HostMap& hosts = job::host_map();
  std::vector<transport::NetPeer> peers;
  for (int process = 0; process < wireup_.size(); ++process) {
    auto address = wireup_.get(process, kAddress);
    MPC_TRY(address);
    // Within a host UCX reports no errors of peers; only in its mode
    // between hosts does it say what a death has ended.
    const bool shares_memory = hosts.host_of(process) == hosts.host_of(wireup_.index());
    peers.push_back({std::move(*address), shares_memory && !job::losses::are_survived(),
                     shares_memory});
  }
  MPC_TRY(module_->connect(std::move(peers), receiver));
  MPC_TRY(
      scheduler.poller().add(module_->events(), sched::EventReach::kOtherProcesses));
  poller_ = &scheduler.poller();
  poller_->keep_account(Outside::open(poller_->demand()));
  return {};
}

bool ProcessNet::may_share_memory() noexcept {
  return transport::uses_host_segment() && !job::losses::are_survived();
}

void ProcessNet::disconnect() noexcept {
  if (poller_ != nullptr) {
    Outside::close();
    poller_->remove(module_->events());
  }
  poller_ = nullptr;
}

}  // namespace mpc::msg
