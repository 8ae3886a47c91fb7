#pragma once
// Secret: how the two ends of a connection prove to each other that they know one key.
//
// Role:      the connection carries only values that the key's owner can compute, never the key.
//            The head of a job and a daemon have a key for each host, which travels over the agent
//            (ssh) only; a process of another host has the key of a door from the name of a port.
// Users:     tools/mpclaunch (entrance, connect), runtime/wireup (door, far_lobby).
// Threads:   any.
// See also:  docs/cluster.md, docs/dynamic.md (who may connect); Aumasson, Bernstein: SipHash, 2012.
//
//   head, or door                     daemon, or visitor
//   Challenge           ---------->
//                       <----------   Answer: a number (of its host; what it wants), a challenge,
//   Proof of the answer ---------->           proof of both

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::wireup {

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

// Another secret as it may be sent to an owner of this key; the same function reads it. `salt`: random, never the same
// twice for one key.
Secret masked(const Secret& secret, const Secret& key, const Challenge& salt) noexcept;

}  // namespace mpc::wireup
