#pragma once
// Hello: what two processes tell each other first, and whether their jobs can talk to each other.
//
// Role:      who calls, which ranks it has, which settings decide how ranks talk.
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
  bool is_busy = false;      // no connection is made: there is one, or is about to be
  std::string program;
  std::string settings;
};

std::vector<std::byte> encode(const Hello& hello);
// Errors: kArg: another version, or no job at all.
Result<Hello> decode(std::span<const std::byte> bytes);

// The settings that both need alike, "name=value" each on a line of its own.
std::string agreed_settings();
// Errors: kArg: which setting differs.
Result<> check(const Hello& theirs);

}  // namespace mpc::msg::abroad
