#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "topology/cluster_name.h"
#include "topology/machine.h"
#include "topology/spread.h"

namespace mpc::topo {
namespace {

std::unique_ptr<Machine> named(const std::string& name) {
  auto machine = Machine::by_name(name);
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  return std::move(machine).value();
}

TEST(Machine, KnlHas64CoresInTilesOfTwo) {
  auto knl = named("knl64");
  ASSERT_EQ(knl->core_count(), 64);
  EXPECT_FALSE(knl->is_real());
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(knl->core(i).index, i);
    EXPECT_EQ(knl->core(i).pu_count, 4);
    EXPECT_EQ(knl->core(i).os_pu, 4 * i);
    EXPECT_EQ(knl->core(i).package, 0);
  }
  EXPECT_EQ(knl->shared_level(0, 0), Level::kCore);
  EXPECT_EQ(knl->shared_level(0, 1), Level::kL2);
  EXPECT_EQ(knl->shared_level(1, 2), Level::kNuma);
  EXPECT_EQ(knl->shared_level(62, 63), Level::kL2);
}

TEST(Machine, SkylakeHasTwoPackagesOf24) {
  auto skylake = named("skylake48");
  ASSERT_EQ(skylake->core_count(), 48);
  EXPECT_EQ(skylake->core(23).package, 0);
  EXPECT_EQ(skylake->core(24).package, 1);
  EXPECT_EQ(skylake->core(24).numa, 1);
  EXPECT_EQ(skylake->shared_level(0, 23), Level::kL3);
  EXPECT_EQ(skylake->shared_level(0, 24), Level::kMachine);
}

TEST(Machine, DistanceIsAMetric) {
  for (const char* name :
       {"knl64", "skylake48", "pack:2 numa:2 l3:1 l2:2 core:2 pu:1"}) {
    auto machine = named(name);
    const int n = machine->core_count();
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) {
        EXPECT_EQ(machine->distance(a, b) == 0, a == b);
        EXPECT_EQ(machine->distance(a, b), machine->distance(b, a));
        const int c = (a * 7 + b * 3) % n;
        EXPECT_LE(machine->distance(a, b),
                  machine->distance(a, c) + machine->distance(c, b));
      }
    }
  }
}

TEST(Machine, TheCommonAncestorIsTheSmallest) {
  auto machine = named("pack:2 numa:2 l3:1 l2:2 core:2 pu:1");
  EXPECT_EQ(machine->shared_level(0, 1), Level::kL2);
  EXPECT_EQ(machine->shared_level(0, 2), Level::kL3);
  EXPECT_EQ(machine->shared_level(0, 4), Level::kPackage);
  EXPECT_EQ(machine->shared_level(0, 8), Level::kMachine);
}

TEST(Machine, DetectsOnlyWhatTheAffinityMaskAllows) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<size_t>(first), &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(first), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  auto machine = Machine::detect();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_EQ((*machine)->core_count(), 1);
  EXPECT_EQ((*machine)->core(0).os_pu, first);
  EXPECT_TRUE((*machine)->is_real());
}

TEST(Machine, DetectLeavesTheAffinityMaskAlone) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  auto machine = Machine::detect();
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  std::set<int> pus;
  for (int i = 0; i < (*machine)->core_count(); ++i) {
    const int pu = (*machine)->core(i).os_pu;
    EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(pu), &before)) << pu;
    EXPECT_TRUE(pus.insert(pu).second) << "two cores with cpu " << pu;
  }
}

TEST(Machine, ReadsXml) {
  char path[] = "/tmp/mpc-topology-XXXXXX.xml";
  const int file = mkstemps(path, 4);
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path) << R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3"
   nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
    complete_nodeset="0x1" gp_index="8" local_memory="1073741824"/>
  <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
    complete_nodeset="0x1" gp_index="2">
   <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
     complete_nodeset="0x1" gp_index="3">
    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
      complete_nodeset="0x1" gp_index="4"/>
   </object>
   <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"
     complete_nodeset="0x1" gp_index="5">
    <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"
      complete_nodeset="0x1" gp_index="6"/>
   </object>
  </object>
 </object>
</topology>
)";
  auto machine = named(path);
  unlink(path);
  EXPECT_EQ(machine->core_count(), 2);
  EXPECT_FALSE(machine->is_real());
  EXPECT_EQ(machine->shared_level(0, 1), Level::kNuma);
}

TEST(ClusterName, IsANumberOfHostsAndAMachine) {
  const auto cluster = parse_cluster("16*pack:2 core:4 pu:1");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->hosts, 16);
  EXPECT_EQ(cluster->machine, "pack:2 core:4 pu:1");
  EXPECT_EQ(parse_cluster("1*knl64")->hosts, 1);
  EXPECT_EQ(parse_cluster("3*")->machine, "");  // of this machine
  for (const char* wrong : {"", "knl64", "*knl64", "0*knl64", "-2*knl64", "x2*knl64",
                            "65537*knl64", "99999999999*knl64", "2 *knl64"})
    EXPECT_FALSE(parse_cluster(wrong)) << wrong;
  EXPECT_NE(Machine::by_name("2*knl64").error().message.find("several hosts"),
            std::string::npos);
}

TEST(Machine, SaysWhatIsWrongWithAName) {
  auto wrong = Machine::by_name("cray1");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::kArg);
  EXPECT_NE(wrong.error().message.find("knl64"), std::string::npos);
  auto absent = Machine::by_name("/nonexistent/machine.xml");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, Errc::kNotFound);
}

TEST(Machine, TheDrawingNamesEachCoreOnceAndStaysNarrow) {
  for (const char* name : {"knl64", "skylake48"}) {
    auto machine = named(name);
    const std::string drawing = machine->draw();
    for (int i = 0; i < machine->core_count(); ++i) {
      const std::string label = "core " + std::to_string(i) + " (";
      const size_t at = drawing.find(label);
      ASSERT_NE(at, std::string::npos) << label << drawing;
      EXPECT_EQ(drawing.find(label, at + 1), std::string::npos) << label << drawing;
    }
    std::istringstream lines(drawing);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 88u) << line;
  }
}

TEST(Spread, PicksTheLastOfEqualParts) {
  EXPECT_EQ(spread(2, 1), (std::vector<int>{1}));
  EXPECT_EQ(spread(16, 2), (std::vector<int>{7, 15}));
  EXPECT_EQ(spread(10, 3), (std::vector<int>{3, 6, 9}));
  EXPECT_TRUE(spread(5, 0).empty());
  for (int total = 1; total <= 64; ++total)
    for (int count = 0; count <= total; ++count) {
      const std::vector<int> picked = spread(total, count);
      ASSERT_EQ(picked.size(), static_cast<size_t>(count));
      for (size_t i = 1; i < picked.size(); ++i)
        EXPECT_LE(std::abs(picked[i] - picked[i - 1] - total / count), 1);
    }
}

}  // namespace
}  // namespace mpc::topo
