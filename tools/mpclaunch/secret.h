#pragma once
// Secret: how the head of a job and a daemon prove to each other that they belong together.
//
// Role:      a key for each host, which travels over the agent (ssh) only. The connection carries
//            only values that the key's owner can compute, never the key.
// Users:     tools/mpclaunch/entrance.h, tools/mpclaunch/connect.cpp.
// Threads:   any.
// See also:  docs/cluster.md (who may connect); Aumasson, Bernstein: SipHash, 2012.
//
//   head                              daemon
//   Challenge           ---------->
//                       <----------   Answer: its host's number, a challenge, proof of both
//   Proof of the answer ---------->

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::launch {

using Secret = std::array<uint8_t, 16>;
using Challenge = std::array<uint8_t, 16>;
using Proof = uint64_t;

struct Answer {
  uint64_t host = 0;
  Challenge challenge{};
  Proof proof = 0;
};

// Random, from the kernel. Used for challenges, too.
Secret make_secret();
std::string text_of(const Secret& secret);
// False: the text is no secret.
bool read_secret(std::string_view text, Secret* out);

// SipHash-2-4: a number that cannot be computed without the key.
uint64_t keyed_hash(const Secret& key, std::string_view text) noexcept;

Answer answer_to(const Challenge& challenge, int host, const Secret& secret);
bool is_right(const Answer& answer, const Challenge& challenge, const Secret& secret);
// The head's proof in reply to a daemon's answer.
Proof proof_for(const Answer& answer, const Secret& secret);

}  // namespace mpc::launch
