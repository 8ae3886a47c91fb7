#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/settings.h"
#include "tests/unit/transport/peer.h"

int main(int argc, char** argv) {
#ifdef MPC_TEST_NET_MODULE
  if (!mpc::Settings::assign("net.module=" MPC_TEST_NET_MODULE).ok()) return 2;
#endif
  if (argc == 4 && std::strcmp(argv[1], mpc::transport::test::kPeerOption) == 0)
    return mpc::transport::test::run_peer(std::atoi(argv[2]), std::atoi(argv[3]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
