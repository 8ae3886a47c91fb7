#include "mpi/spawn/port_name.h"

#include <gtest/gtest.h>

#include "mpi.h"

namespace mpc::mpi {
namespace {

TEST(PortName, IsReadAsItWasWritten) {
  const PortName here{0xabc, 7, 0, {}};
  EXPECT_EQ(text_of(here), "mpc:abc:7");
  const PortName far{UINT64_MAX, 1, 255, {"/tmp/a folder:with/colons", 0, {}}};
  const auto read = read_port_name(text_of(far).c_str());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->job, far.job);
  EXPECT_EQ(read->port, far.port);
  EXPECT_EQ(read->slot, far.slot);
  EXPECT_EQ(read->place.folder, far.place.folder);
}

TEST(PortName, OfAJobInAFolderWithALongNameIsKnownInTheJobOnly) {
  const PortName far{1, 2, 3, {"/" + std::string(MPI_MAX_PORT_NAME, 'x'), 0, {}}};
  EXPECT_EQ(text_of(far), "mpc:1:2");
}

TEST(PortName, AnythingElseIsNone) {
  for (const char* text :
       {"", "mpc", "mpc:", "mpc:1", "mpc:1:2:", "mpc:1:2:3",
        "mpc:1:2:3:", "mpc:1:2:3:relative", "mpc:1:2x", "myhost:27", "mpc:g:1"})
    EXPECT_FALSE(read_port_name(text)) << text;
  EXPECT_FALSE(read_port_name(std::string(size_t{2} * MPI_MAX_PORT_NAME, '1').c_str()));
}

}  // namespace
}  // namespace mpc::mpi
