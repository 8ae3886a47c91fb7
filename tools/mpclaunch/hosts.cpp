#include "tools/mpclaunch/hosts.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/version.h"
#include "tools/mpclaunch/first_line.h"

namespace mpc::launch {
namespace {

constexpr uint64_t kConnectNs = 60'000 * kMs;
constexpr int kSshFailed = 255, kShellFoundNothing = 127;

// A remedy, where one is known.
std::string advice_for(const std::string& agent, const std::string& host, int status) {
  if (status == kShellFoundNothing)
    return fmt::format("; is mpcrun installed there, too, as {}?", own_program());
  if (status == kSshFailed && agent == kDefaultAgent)
    return fmt::format("; does 'ssh {} true' work here without a question?", host);
  return "";
}

}  // namespace

Hosts::Hosts(Loop& loop, const Plan& plan, OnFrame on_frame, OnLost on_lost)
    : loop_(loop),
      plan_(plan),
      on_frame_(std::move(on_frame)),
      on_lost_(std::move(on_lost)),
      entrance_(loop, [this](int host, int fd) { let_in(host, fd); }) {}

Result<> Hosts::start(const std::string& agent) {
  agent_ = agent.empty() ? kDefaultAgent : agent;
  MPC_TRY(entrance_.open());
  const std::string addresses = Entrance::addresses();
  connected_by_ns_ = now_ns() + kConnectNs;
  for (size_t h = 0; h < plan_.hosts.size(); ++h) {
    hosts_.push_back(nullptr);
    if (plan_.hosts[h].is_here) continue;
    hosts_.back() = std::make_unique<Host>(loop_);
    const int host = static_cast<int>(h);
    const Secret secret = make_secret();
    entrance_.expect(host, secret);
    MPC_TRY(hosts_.back()->agent.start(
        agent_, plan_.hosts[h].name,
        first_line(host, secret, entrance_.port(), addresses)));
  }
  return {};
}

bool Hosts::are_all_connected() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const auto& host) { return !host || host->is_greeted; });
}

std::string Hosts::missing() const {
  std::string out;
  for (size_t h = 0; h < hosts_.size(); ++h)
    if (hosts_[h] && !hosts_[h]->is_greeted)
      out += (out.empty() ? "" : ", ") + plan_.hosts[h].name;
  return out;
}

void Hosts::let_in(int host, int fd) {
  hosts_[static_cast<size_t>(host)]->channel = std::make_unique<Channel>(
      loop_, fd,
      [this, host](Frame kind, std::string_view payload) { take(host, kind, payload); },
      [this, host](int error) {
        lose(host, error == 0 ? "the daemon there has ended"
                              : fmt::format("it does not answer any more ({})",
                                            ::strerrordesc_np(error)));
      });
}

void Hosts::take(int host, Frame kind, std::string_view payload) {
  if (kind != Frame::kHello) return on_frame_(host, kind, payload);
  Unpacker in(payload);
  if (in.text() == version_text())
    hosts_[static_cast<size_t>(host)]->is_greeted = true;
  else
    lose(host, "the mpcrun that is installed there is of another version");
}

void Hosts::lose(int host, const std::string& problem) {
  Host& lost = *hosts_[static_cast<size_t>(host)];
  if (std::exchange(lost.is_lost, true)) return;
  on_lost_(host, fmt::format("mpcrun: {}: {}", name_of(host), problem));
}

void Hosts::agent_ended(pid_t pid, int wait_status) {
  for (size_t h = 0; h < hosts_.size(); ++h) {
    if (!hosts_[h] || hosts_[h]->agent.pid() != pid) continue;
    // An agent that went into the background may have started the daemon all the same.
    const bool may_come = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    if (hosts_[h]->channel || may_come) return;
    const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    const std::string name = agent_.substr(0, agent_.find(' '));
    std::string said = hosts_[h]->agent.said();
    if (said.empty()) said = "it said nothing";
    return lose(
        static_cast<int>(h),
        fmt::format("{} could not start a daemon there ({}): {}{}", name,
                    status != 0 ? fmt::format("status {}", status) : "it was killed",
                    said, advice_for(agent_, plan_.hosts[h].name, status)));
  }
}

void Hosts::keep_deadlines() {
  entrance_.drop_late();
  if (now_ns() < connected_by_ns_) return;
  for (size_t h = 0; h < hosts_.size(); ++h)
    if (hosts_[h] && !hosts_[h]->is_greeted)
      return lose(static_cast<int>(h),
                  fmt::format("no daemon there has connected within {} s",
                              kConnectNs / (1000 * kMs)));
}

void Hosts::send(int host, Frame kind, const Packer& payload) {
  if (host < 0 || host >= static_cast<int>(hosts_.size())) return;
  const auto& to = hosts_[static_cast<size_t>(host)];
  if (to && to->channel) to->channel->send(kind, payload);
}

void Hosts::send_all(Frame kind, const Packer& payload) {
  for (size_t h = 0; h < hosts_.size(); ++h) send(static_cast<int>(h), kind, payload);
}

std::vector<int> Hosts::descriptors() const {
  std::vector<int> out;
  for (const auto& host : hosts_)
    if (host && host->channel && !host->channel->is_lost())
      out.push_back(host->channel->descriptor());
  return out;
}

std::string Hosts::name_of(int host) const {
  return "host " + plan_.hosts[static_cast<size_t>(host)].name;
}

}  // namespace mpc::launch
