#include "topology/fingerprint.h"

#include <fmt/format.h>

#include <cstdint>

namespace mpc::topo {

std::string fingerprint(const Machine& machine) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  auto add = [&](int value) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= static_cast<uint64_t>(value >> shift & 0xff);
      hash *= 0x100000001b3;
    }
  };
  add(machine.core_count());
  for (int i = 0; i < machine.core_count(); ++i) {
    add(machine.core(i).pu_count);
    add(machine.core(i).numa);
    add(machine.core(i).package);
    // In the order of cores, what a core shares with the one before it tells the whole tree.
    if (i > 0) add(static_cast<int>(machine.shared_level(i - 1, i)));
  }
  return fmt::format("{:016x}", hash);
}

Outline outline(const Machine& machine) {
  Outline found{machine.core_count(), 0, 0};
  for (int i = 0; i < machine.core_count(); ++i) {
    if (machine.shared_level(0, i) <= Level::kL3) ++found.cores_per_cache;
    if (machine.core(i).numa == machine.core(0).numa) ++found.cores_per_numa;
  }
  return found;
}

}  // namespace mpc::topo
