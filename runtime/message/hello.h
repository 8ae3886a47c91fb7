#pragma once
// Hello: what two processes tell each other first, to find out whether their jobs can talk to each other.
//
// Role:      the caller's identity, its ranks, and the settings that decide how ranks talk.
// Users:     runtime/message (abroad).
// Threads:   plain data.
// See also:  runtime/job/card.h, which processes of one job exchange.

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
  int first = 0, ranks = 0;  // of its job: first .. first + ranks - 1
      // No connection is established: there is one, or is about to be.
  bool is_busy = false;
  std::string program;
  std::string settings;
};

std::vector<std::byte> encode(const Hello& hello);
// Errors: kArg: another version, or no job at all.
Result<Hello> decode(std::span<const std::byte> bytes);

// The settings that must be the same in both jobs, one "name=value" per line.
std::string agreed_settings();
// Errors: kArg: which setting differs.
Result<> check(const Hello& theirs);

}  // namespace mpc::msg::abroad
