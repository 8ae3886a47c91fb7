// The library's only exported name: mpc_open_net.
#include "runtime/transport/net_module.h"
#include "runtime/transport/ucx/ucx_net.h"

extern "C" __attribute__((visibility("default"))) mpc::transport::NetModule*
mpc_open_net(const mpc::transport::NetConfig& config, std::string* problem) noexcept {
  auto net = std::make_unique<mpc::transport::ucx::UcxNet>(config);
  if (const auto opened = net->open(); !opened.ok()) {
    *problem = opened.error().message;
    return nullptr;
  }
  return net.release();
}
