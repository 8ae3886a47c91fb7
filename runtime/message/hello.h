#pragma once
// Hello: the first packet between two processes, which tells whether their jobs can communicate.
//
// Role:      the caller's identity, its ranks, and the settings that decide how ranks communicate.
// Users:     runtime/message (abroad).
// Threads:   plain data.
// See also:  runtime/job/card.h, the counterpart between processes of one job.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace mpc::msg::abroad {

struct Hello {
  uint64_t job = 0;
  int slot = 0;
  int first = 0, ranks = 0;  // in its job: first .. first + ranks - 1
      // No connection results from this: there is one, or it is about to be created.
  bool is_busy = false;
  int pid = 0;
  uint64_t host_identity = 0;
  std::string host;  // its name
  std::string program;
  std::string settings;
};

std::vector<std::byte> encode(const Hello& hello);
// Errors: kArg: it is from another version, or not from a job at all.
Result<Hello> decode(std::span<const std::byte> bytes);

// Sends it, or waits for one, on a new connection; between hosts its length is before it. receive():
// kSystem: none has come within `most_ns`; kNotFound: the other end has gone.
bool send_hello(int fd, const std::vector<std::byte>& hello) noexcept;
Result<std::vector<std::byte>> receive_hello(int fd, uint64_t most_ns);

// The settings that must be the same in both jobs, one "name=value" per line.
std::string agreed_settings();
// Errors: kArg: which setting differs.
Result<> check(const Hello& theirs);

}  // namespace mpc::msg::abroad
