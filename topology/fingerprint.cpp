#include "topology/fingerprint.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/fnv.h"

namespace mpc::topo {

std::string fingerprint(const Machine& machine) {
  Fnv hash;
  const auto add = [&](int value) { hash.add(static_cast<uint32_t>(value)); };
  add(machine.core_count());
  for (int i = 0; i < machine.core_count(); ++i) {
    add(machine.core(i).pu_count);
    add(machine.core(i).numa);
    add(machine.core(i).package);
    // In the order of cores, what a core shares with the one before it tells the whole tree.
    if (i > 0) add(static_cast<int>(machine.shared_level(i - 1, i)));
  }
  return fmt::format("{:016x}", hash.value());
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
