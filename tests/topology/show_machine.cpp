// Prints what we make of a machine: its drawing, its outline and where ranks are placed.
//
//   show_machine MACHINE      a name, an hwloc XML file, a synthetic description, or a file
//                             NAME.synthetic with such a description in its last line
//
// The tests of tests/topology compare its output with recorded/*.expected.
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "scheduler/placement.h"
#include "topology/fingerprint.h"
#include "topology/machine.h"

namespace {

using mpc::sched::Placement;

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

void print_placement(const mpc::topo::Machine& machine, int ranks, Placement policy) {
  std::vector<int> cores;
  for (int i = 0; i < machine.core_count(); ++i) cores.push_back(i);
  const auto placed = mpc::sched::place_ranks(machine, cores, ranks, policy);
  std::printf("%d rank%s, %s: cores", ranks, ranks == 1 ? "" : "s",
              policy == Placement::kCompact ? "compact" : "scatter");
  if (!placed.ok()) {
    std::printf(" none: %s\n", placed.error().message.c_str());
    return;
  }
  for (const int core : *placed) std::printf(" %d", core);
  std::printf("\n");
}

int show(const std::string& name) {
  const bool is_synthetic = name.ends_with(".synthetic");
  const auto made = mpc::topo::Machine::by_name(is_synthetic ? last_line(name) : name);
  if (!made.ok()) {
    std::printf("refused: %s\n", made.error().message.c_str());
    return 1;
  }
  const mpc::topo::Machine& machine = **made;
  // Without the first line's name, which is a path.
  const std::string drawing = machine.draw();
  std::printf("%s\n", drawing.substr(drawing.find(": ") + 2).c_str());
  const auto outline = mpc::topo::outline(machine);
  std::printf("beside core 0: %d cores share its largest cache, %d its NUMA node\n",
              outline.cores_per_cache, outline.cores_per_numa);
  std::set<int> counts = {1, 2, machine.core_count() / 2, machine.core_count()};
  counts.erase(0);
  for (const int ranks : counts)
    for (const Placement policy : {Placement::kCompact, Placement::kScatter})
      print_placement(machine, ranks, policy);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return show(argv[1]);
  std::fprintf(stderr, "usage: show_machine MACHINE\n");
  return 2;
}
