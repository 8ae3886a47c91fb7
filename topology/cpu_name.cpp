#include "topology/cpu_name.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#endif

namespace mpc::topo {

std::string cpu_name() {
#if defined(__x86_64__)
  constexpr unsigned kFirst = 0x80000002, kLast = 0x80000004;  // the brand string
  // gcc has it return unsigned, clang int.
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000, nullptr)) < kLast) return "";
  unsigned words[12];
  unsigned* at = words;
  for (unsigned leaf = kFirst; leaf <= kLast; ++leaf, at += 4)
    __cpuid(leaf, at[0], at[1], at[2], at[3]);
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  const std::string name(text);
  const size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return name.substr(first, name.find_last_not_of(' ') + 1 - first);
#else
  return "";
#endif
}

}  // namespace mpc::topo
