#include "runtime/message/network.h"

#include "runtime/job/crash.h"
#include "runtime/job/job_number.h"
#include "runtime/job/losses.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"
#include "runtime/message/abroad_place.h"
#include "runtime/message/control.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/losses.h"
#include "runtime/message/message.h"
#include "runtime/message/process_net.h"
#include "runtime/message/routes.h"

namespace mpc::msg {
namespace {

std::unique_ptr<transport::Loopback> g_loopback;  // between virtual processes
std::unique_ptr<ProcessNet> g_process_net;        // between real ones
std::vector<std::unique_ptr<Endpoint>>
    g_endpoints;  // by process, of those in this address space

}  // namespace

Result<> open_network(const job::ProcessMap& map,
                      const transport::LoopbackConfig& config) {
  set_processes(map, true);
  if (map.is_one_process()) return {};
  g_loopback = transport::Loopback::make(map.processes(), config);
  std::vector<transport::Receiver*> receivers;
  for (int p = 0; p < map.processes(); ++p) {
    g_endpoints.push_back(std::make_unique<Endpoint>(map, p, g_loopback->end_of(p)));
    receivers.push_back(g_endpoints.back().get());
  }
  return g_loopback->start(std::move(receivers), &job::crash::prepare_kernel_thread);
}

Result<> load_process_network(job::Job& job) {
  auto net = ProcessNet::load(*job.wireup());
  MPC_TRY(net);
  g_process_net = std::move(*net);
  MPC_TRY(abroad::put_place(job));
  return job::put_job_number(*job.wireup());
}

Result<> open_process_network(job::Job& job) {
  const job::ProcessMap& map = job.processes();
  const int process = job.wireup()->index();
  MPC_TRY(job::get_job_number(*job.wireup()));
  MPC_TRY(abroad::get_place(job));
  set_processes(map, false);
  g_endpoints.resize(static_cast<size_t>(map.processes()));
  auto& mine = g_endpoints[static_cast<size_t>(process)];
  mine = std::make_unique<Endpoint>(map, process, g_process_net->net());
  return g_process_net->connect(*mine, *job.scheduler());
}

namespace {

// UCX may still name its operations with the dead; or connections that it was opening or closing when the
// processes agreed to look no longer (runtime/job/leaving.h), of which it makes an end only with the help of the
// others. So neither it nor what it names is freed. The process is about to end.
void leave_network() {
  // A leak checker finds them here. Without the attribute the compiler leaves the stores out.
  [[gnu::used, maybe_unused]] static ProcessNet* left = nullptr;
  [[gnu::used,
    maybe_unused]] static std::vector<std::unique_ptr<Endpoint>>* left_endpoints =
      nullptr;
  left = g_process_net.release();
  left_endpoints = new std::vector(std::move(g_endpoints));
}

}  // namespace

void close_network() {
  if (!has_network() || !have_all_ended()) return;
  abroad::close();
  forget_losses();
  g_loopback.reset();  // ends its thread
  if (g_process_net) g_process_net->disconnect();
  if (job::losses::any() || (g_process_net && !job::losses::are_survived()))
    return leave_network();
  g_process_net.reset();
  g_endpoints.clear();
  free_all_mailboxes();
  set_processes(job::ProcessMap(1), false);
}

ProcessNet* process_net() noexcept { return g_process_net.get(); }

bool has_network() noexcept {
  return !g_endpoints.empty() || abroad::endpoint() != nullptr;
}

Endpoint& endpoint_towards(int peer, int own_rank) noexcept {
  if (job::neighbours::is_far_process(peer)) [[unlikely]]
    return *abroad::endpoint();
  return *g_endpoints[static_cast<size_t>(process_of(own_rank))];
}

Endpoint& endpoint_of_process(int process) noexcept {
  if (job::neighbours::is_far_process(process)) return *abroad::endpoint();
  return *g_endpoints[static_cast<size_t>(process)];
}

void for_each_endpoint(int own_rank, void (*visit)(Endpoint&, void*), void* argument) {
  if (!g_endpoints.empty())
    visit(*g_endpoints[static_cast<size_t>(process_of(own_rank))], argument);
  if (Endpoint* const far = abroad::endpoint()) visit(*far, argument);
}

void send_control(int here, int to, ControlChannel channel,
                  std::span<const std::byte> message) {
  endpoint_of_process(here).control().send(to, channel, message);
}

void offer_control(int here, int to, ControlChannel channel, uint64_t id, bool flag,
                   const transport::Source& source, ControlTransfer& transfer) {
  endpoint_of_process(here).control().offer(to, channel, id, flag, source, transfer);
}

void fetch_control(int here, const ControlOffer& offer, const transport::Target& target,
                   ControlTransfer& transfer) {
  Endpoint& mine = endpoint_of_process(here);
  mine.count_fetch();
  mine.net().fetch(offer.from, offer.bulk, target, transfer);
}

void refuse_control(int here, const ControlOffer& offer) {
  Endpoint& mine = endpoint_of_process(here);
  mine.count_refusal();
  mine.net().refuse(offer.from, offer.bulk);
}

void ControlTransfer::done(Completion& self, transport::Outcome outcome) noexcept {
  auto& transfer = static_cast<ControlTransfer&>(self);
  Endpoint& mine = endpoint_of_process(transfer.here);
  transfer.over(transfer, outcome);
  mine.count_end();  // after all its effects
}

}  // namespace mpc::msg
