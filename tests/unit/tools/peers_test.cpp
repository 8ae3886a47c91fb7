#include "tools/mpcrun/peers.h"

#include <gtest/gtest.h>

namespace mpc::tools {
namespace {

TEST(PeerOptions, AreKnownByTheirWholeName) {
  EXPECT_NE(advice_for_peer_option("nodelist"), nullptr);
  EXPECT_NE(advice_for_peer_option("pty"), nullptr);  // the last one
  EXPECT_EQ(advice_for_peer_option("nodelis"), nullptr);
  EXPECT_EQ(advice_for_peer_option(""), nullptr);
}

// Of the fuzzer: these were looked up before the begin and behind the end of the table.
TEST(PeerOptions, HaveNoBlanks) {
  EXPECT_EQ(advice_for_peer_option(" "), nullptr);
  EXPECT_EQ(advice_for_peer_option(" nodelist"), nullptr);
  EXPECT_EQ(advice_for_peer_option("nodelist w"), nullptr);
  EXPECT_EQ(advice_for_peer_option("pty "), nullptr);
}

}  // namespace
}  // namespace mpc::tools
