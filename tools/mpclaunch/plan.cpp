#include "tools/mpclaunch/plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "runtime/wireup/ranks_variable.h"
#include "runtime/wireup/record.h"

namespace mpc::launch {

int Plan::processes() const { return first_process(static_cast<int>(hosts.size())); }

int Plan::ranks() const {
  const std::vector<int> all = ranks_of_processes();
  return std::accumulate(all.begin(), all.end(), 0);
}

bool Plan::has_other_hosts() const {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const HostPlan& host) { return !host.is_here; });
}

std::vector<int> Plan::ranks_of_processes() const {
  std::vector<int> all;
  for (const HostPlan& host : hosts)
    all.insert(all.end(), host.ranks.begin(), host.ranks.end());
  return all;
}

std::string Plan::ranks_variable() const {
  wireup::RanksByHost ranks;
  for (const HostPlan& host : hosts) ranks.push_back(host.ranks);
  return std::string(wireup::kRanksVariable) + "=" + wireup::ranks_text(ranks);
}

int Plan::first_process(int host) const {
  int first = 0;
  for (int h = 0; h < host; ++h)
    first += static_cast<int>(hosts[static_cast<size_t>(h)].ranks.size());
  return first;
}

int Plan::host_of(int process) const {
  int host = 0;
  while (first_process(host + 1) <= process) ++host;
  return host;
}

std::string encode(const Plan& plan) {
  std::string out;
  for (const HostPlan& host : plan.hosts) {
    out += (out.empty() ? "" : ";") + std::string(host.is_here ? "." : "") + host.name;
    for (size_t p = 0; p < host.ranks.size(); ++p)
      out += (p == 0 ? "=" : ",") + std::to_string(host.ranks[p]);
  }
  return out;
}

Plan decode_plan(const std::string& text) {
  Plan plan;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ';');) {
    HostPlan host;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return {};
    host.is_here = word[0] == '.';
    host.name = word.substr(host.is_here ? 1 : 0, equals - (host.is_here ? 1 : 0));
    std::istringstream numbers(word.substr(equals + 1));
    for (std::string number; std::getline(numbers, number, ',');)
      host.ranks.push_back(std::atoi(number.c_str()));
    plan.hosts.push_back(std::move(host));
  }
  return plan;
}

}  // namespace mpc::launch
