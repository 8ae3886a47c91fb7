#include "runtime/message/hello.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/fnv.h"
#include "base/settings.h"
#include "base/version.h"
#include "runtime/job/card.h"
#include "runtime/job/neighbours.h"
#include "runtime/transport/bridge/bridge.h"
#include "runtime/wireup/tcp.h"

namespace mpc::msg::abroad {
namespace {

struct Fixed {
  char mark[8];      // "mpc-job", and a format number
  uint64_t version;  // hash of the text that mpcrun --version prints
  uint64_t job, host_identity;
  int32_t slot, first, ranks, is_busy, pid;
  uint32_t host_bytes, program_bytes, settings_bytes;
};
constexpr uint64_t kSendNs = 2'000 * kMs;  // into an empty socket
constexpr char kMark[8] = {'m', 'p', 'c', '-', 'j', 'o', 'b', '3'};

}  // namespace

std::vector<std::byte> encode(const Hello& hello) {
  Fixed fixed{};
  std::memcpy(fixed.mark, kMark, sizeof kMark);
  fixed.version = fnv_of(version_text());
  fixed.job = hello.job;
  fixed.slot = hello.slot;
  fixed.first = hello.first;
  fixed.ranks = hello.ranks;
  fixed.is_busy = hello.is_busy;
  fixed.pid = hello.pid;
  fixed.host_identity = hello.host_identity;
  fixed.host_bytes = static_cast<uint32_t>(hello.host.size());
  fixed.program_bytes = static_cast<uint32_t>(hello.program.size());
  fixed.settings_bytes = static_cast<uint32_t>(hello.settings.size());
  const auto* const first = reinterpret_cast<const std::byte*>(&fixed);
  std::vector<std::byte> bytes(first, first + sizeof fixed);
  for (const std::string* const text : {&hello.host, &hello.program, &hello.settings}) {
    const auto* const begin = reinterpret_cast<const std::byte*>(text->data());
    bytes.insert(bytes.end(), begin, begin + text->size());
  }
  return bytes;
}

Result<Hello> decode(std::span<const std::byte> bytes) {
  Fixed fixed{};
  if (bytes.size() >= sizeof fixed) std::memcpy(&fixed, bytes.data(), sizeof fixed);
  if (std::memcmp(fixed.mark, kMark, sizeof kMark) != 0 ||
      fixed.version != fnv_of(version_text()))
    return {Errc::kArg, "the job that has opened it runs another version of this MPI"};
  const auto* const text = reinterpret_cast<const char*>(bytes.data()) + sizeof fixed;
  if (bytes.size() - sizeof fixed !=
          size_t{fixed.host_bytes} + fixed.program_bytes + fixed.settings_bytes ||
      fixed.first < 0 || fixed.first >= job::neighbours::kFirstNumber ||
      fixed.ranks < 1 || fixed.ranks >= job::neighbours::kFirstNumber)
    return {Errc::kArg, "what has opened it speaks another language"};
  Hello hello;
  hello.job = fixed.job;
  hello.slot = fixed.slot;
  hello.first = fixed.first;
  hello.ranks = fixed.ranks;
  hello.is_busy = fixed.is_busy != 0;
  hello.pid = fixed.pid;
  hello.host_identity = fixed.host_identity;
  hello.host.assign(text, fixed.host_bytes);
  hello.program.assign(text + fixed.host_bytes, fixed.program_bytes);
  hello.settings.assign(text + fixed.host_bytes + fixed.program_bytes,
                        fixed.settings_bytes);
  return hello;
}

bool send_hello(int fd, const std::vector<std::byte>& hello) noexcept {
  const auto length = static_cast<uint32_t>(hello.size());
  const uint64_t end_ns = now_ns() + kSendNs;
  return (!transport::is_stream(fd) ||
          wireup::send_by(fd, &length, sizeof length, end_ns)) &&
         wireup::send_by(fd, hello.data(), hello.size(), end_ns);
}

Result<std::vector<std::byte>> receive_hello(int fd, uint64_t most_ns) {
  const uint64_t end_ns = now_ns() + most_ns;
  std::vector<std::byte> hello(transport::kMostHelloBytes);
  bool is_there = false;
  if (transport::is_stream(fd)) {
    uint32_t length = 0;
    is_there = wireup::receive_by(fd, &length, sizeof length, end_ns);
    hello.resize(std::min<size_t>(length, hello.size()));
    is_there = is_there && wireup::receive_by(fd, hello.data(), hello.size(), end_ns);
  } else {
    const timeval limit{static_cast<time_t>(most_ns / 1'000'000'000), 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t n = -1;
    do {
      n = ::recv(fd, hello.data(), hello.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) errno = ETIMEDOUT;
    if (n == 0) errno = ECONNRESET;
    is_there = n > 0;
    hello.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  if (is_there) return hello;
  if (errno == ETIMEDOUT)
    return {Errc::kSystem, "the job that has opened it does not answer"};
  return {Errc::kNotFound, "the job that has opened it does not answer, or has ended"};
}

std::string agreed_settings() {
  constexpr std::string_view kPrefixes[] = {
      "message.", "nbc.", "net.unexpected_bytes=", "net.window_bytes=", "mpi.check="};
  std::string out;
  const std::string all = job::settings_text();
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at) + 1;
    const std::string_view line(all.data() + at, end - at);
    for (const std::string_view prefix : kPrefixes)
      if (line.starts_with(prefix)) out += line;
    at = end;
  }
  return out;
}

Result<> check(const Hello& theirs) {
  const std::string difference =
      job::first_difference(agreed_settings(), theirs.settings);
  if (difference.empty()) return {};
  return {Errc::kArg,
          fmt::format("the two jobs run with different settings, and need the same: {}",
                      difference)};
}

}  // namespace mpc::msg::abroad
