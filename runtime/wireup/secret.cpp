#include "runtime/wireup/secret.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mpc::wireup {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;
  // Source: figure 2.1 of the paper.
  void round() noexcept {
    v0 += v1, v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1, v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void take(uint64_t word) noexcept {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  }
};

uint64_t word_at(const void* bytes) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// `who` makes the proofs of the two sides different.
Proof prove(const Secret& key, char who, uint64_t host, const Challenge& first,
            const Challenge& second) {
  std::string text(1, who);
  text.append(reinterpret_cast<const char*>(&host), sizeof host);
  text.append(reinterpret_cast<const char*>(first.data()), first.size());
  text.append(reinterpret_cast<const char*>(second.data()), second.size());
  return keyed_hash(key, text);
}

}  // namespace

Secret make_secret() {
  Secret secret{};
  size_t filled = 0;
  while (filled < secret.size()) {
    const ssize_t bytes =
        ::getrandom(secret.data() + filled, secret.size() - filled, 0);
    if (bytes > 0) filled += static_cast<size_t>(bytes);
    // A secret without random bytes would let everybody in.
    if (bytes < 0 && errno != EINTR) std::abort();
  }
  return secret;
}

std::string text_of(const Secret& secret) {
  std::string out;
  for (const uint8_t byte : secret) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

bool read_secret(std::string_view text, Secret* out) {
  if (text.size() != 2 * out->size()) return false;
  for (size_t i = 0; i < out->size(); ++i) {
    const std::string digits(text.substr(2 * i, 2));
    char* end = nullptr;
    (*out)[i] = static_cast<uint8_t>(std::strtoul(digits.c_str(), &end, 16));
    if (*end != 0) return false;
  }
  return true;
}

uint64_t keyed_hash(const Secret& key, std::string_view text) noexcept {
  const uint64_t k0 = word_at(key.data()), k1 = word_at(key.data() + 8);
  State state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
              k1 ^ 0x7465646279746573};
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  while (text.size() >= 8) {
    state.take(word_at(text.data()));
    text.remove_prefix(8);
  }
  for (size_t i = 0; i < text.size(); ++i)
    last |= static_cast<uint64_t>(static_cast<uint8_t>(text[i])) << (8 * i);
  state.take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

Answer answer_to(const Challenge& challenge, int host, const Secret& secret) {
  Answer answer;
  answer.host = static_cast<uint64_t>(host);
  answer.challenge = make_secret();
  answer.proof = prove(secret, 'd', answer.host, challenge, answer.challenge);
  return answer;
}

bool is_right(const Answer& answer, const Challenge& challenge, const Secret& secret) {
  return answer.proof == prove(secret, 'd', answer.host, challenge, answer.challenge);
}

Proof proof_for(const Answer& answer, const Secret& secret) {
  return prove(secret, 'h', answer.host, answer.challenge, answer.challenge);
}

// The pad: two hashes that only an owner of the key can compute.
Secret masked(const Secret& secret, const Secret& key, const Challenge& salt) noexcept {
  Secret out = secret;
  for (size_t half = 0; half < 2; ++half) {
    std::string text(1, static_cast<char>('0' + half));
    text.append(reinterpret_cast<const char*>(salt.data()), salt.size());
    const uint64_t pad = keyed_hash(key, text);
    for (size_t i = 0; i < 8; ++i)
      out[8 * half + i] ^= static_cast<uint8_t>(pad >> (8 * i));
  }
  return out;
}

}  // namespace mpc::wireup
