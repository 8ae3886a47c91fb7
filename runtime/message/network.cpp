#include "runtime/message/network.h"

#include "runtime/job/crash.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/message.h"
#include "runtime/message/routes.h"

namespace mpc::msg {
namespace {

std::unique_ptr<transport::Loopback> g_loopback;
std::vector<std::unique_ptr<Endpoint>> g_endpoints;  // by process

}  // namespace

Result<> open_network(const job::ProcessMap& map,
                      const transport::LoopbackConfig& config) {
  set_processes(map);
  if (map.is_one_process()) return {};
  g_loopback = transport::Loopback::make(map.processes(), config);
  std::vector<transport::Receiver*> receivers;
  for (int p = 0; p < map.processes(); ++p) {
    g_endpoints.push_back(std::make_unique<Endpoint>(map, p, g_loopback->end_of(p)));
    receivers.push_back(g_endpoints.back().get());
  }
  return g_loopback->start(std::move(receivers), &job::crash::prepare_kernel_thread);
}

void close_network() {
  if (!has_network() || !have_all_ended()) return;
  g_loopback.reset();  // ends its thread
  g_endpoints.clear();
  free_all_mailboxes();
  set_processes(job::ProcessMap(1));
}

bool has_network() noexcept { return g_loopback != nullptr; }

Endpoint& endpoint_of(int world_rank) noexcept {
  return *g_endpoints[static_cast<size_t>(process_of(world_rank))];
}

}  // namespace mpc::msg
