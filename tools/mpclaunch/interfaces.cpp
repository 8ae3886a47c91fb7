#include "tools/mpclaunch/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace mpc::launch {
namespace {

// An address as bytes; an IPv4 address that came over IPv6 counts as IPv4. Empty: neither of the
// two.
std::string address_bytes(const sockaddr* address) {
  if (address == nullptr) return {};
  const char* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = reinterpret_cast<const char*>(
        &reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
    return {bytes, 4};
  }
  if (address->sa_family != AF_INET6) return {};
  const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  bytes = reinterpret_cast<const char*>(&in6);
  return IN6_IS_ADDR_V4MAPPED(&in6) ? std::string(bytes + 12, 4)
                                    : std::string(bytes, 16);
}

std::string name_of(const std::string& address, const ifaddrs* all) {
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next)
    if ((one->ifa_flags & IFF_LOOPBACK) == 0 && address_bytes(one->ifa_addr) == address)
      return one->ifa_name;
  return {};
}

}  // namespace

std::string interfaces_of(const std::vector<int>& connections) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::vector<std::string> names;
  for (const int fd : connections) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    const std::string address = address_bytes(reinterpret_cast<sockaddr*>(&own));
    const std::string name = address.empty() ? "" : name_of(address, all);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  ::freeifaddrs(all);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

}  // namespace mpc::launch
