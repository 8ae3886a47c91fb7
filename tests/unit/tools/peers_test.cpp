#include "tools/mpcrun/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tools/mpcrun/unwrap.h"

namespace mpc::tools {
namespace {

using Words = std::vector<std::string>;

Words ours(std::string_view name, const Words& values = {}) {
  const PeerOption* option = find_peer_option(name);
  if (option == nullptr) return {"unknown"};
  EXPECT_EQ(option->words, static_cast<int>(values.size())) << name;
  const auto result = translate(*option, values);
  return result ? *result : Words{"refused", result.error().message};
}

TEST(PeerOptions, AreKnownByTheirWholeName) {
  EXPECT_NE(find_peer_option("nodelist"), nullptr);
  EXPECT_NE(find_peer_option("pty"), nullptr);  // the last one
  EXPECT_EQ(find_peer_option("nodelis"), nullptr);
  EXPECT_EQ(find_peer_option(""), nullptr);
}

// Of the fuzzer: these were looked up before the begin and behind the end of the table.
TEST(PeerOptions, HaveNoBlanks) {
  EXPECT_EQ(find_peer_option(" "), nullptr);
  EXPECT_EQ(find_peer_option(" nodelist"), nullptr);
  EXPECT_EQ(find_peer_option("nodelist w"), nullptr);
  EXPECT_EQ(find_peer_option("pty "), nullptr);
}

TEST(PeerOptions, BecomeOursWhereTheseAreTheSame) {
  EXPECT_EQ(ours("mca", {"mca_base_env_list", "A=1;B;"}),
            (Words{"--export-all=A=1", "--export-all=B"}));
  EXPECT_EQ(ours("ppn", {"4"}), Words{"--ranks-per-host=4"});
  EXPECT_EQ(ours("genv", {"A", "b=c"}), Words{"--export-all=A=b=c"});
  EXPECT_EQ(ours("tag-output"), Words{"--label"});
  EXPECT_EQ(ours("oversubscribe"), Words{});
  EXPECT_EQ(ours("mca", {"btl", "self,tcp"}), Words{});
  EXPECT_EQ(ours("mca", {"plm_rsh_agent", "rsh"}), Words{"--agent=rsh"});
}

TEST(PeerOptions, AreDecidedByTheirValue) {
  EXPECT_EQ(ours("bind-to", {"core"}), Words{"--bind=core"});
  EXPECT_EQ(ours("bind-to", {"core:overload-allowed"}), Words{"--bind=core"});
  EXPECT_EQ(ours("bind-to", {"socket"}), Words{});
  EXPECT_EQ(ours("bind-to", {"user:0,1"}).front(), "refused");
  EXPECT_EQ(ours("map-by", {"ppr:2:node"}), Words{"--ranks-per-host=2"});
  EXPECT_EQ(ours("map-by", {"ppr:2:socket"}).front(), "refused");
  EXPECT_EQ(ours("map-by", {"ppr:2"}).front(), "refused");
  EXPECT_EQ(ours("map-by", {":OVERSUBSCRIBE"}), Words{});
  EXPECT_EQ(ours("map-by", {"core:PE=2"}).front(), "refused");
  EXPECT_EQ(ours("map-by", {""}).front(), "refused");
  EXPECT_EQ(ours("usize", {"16"}), Words{"--set=job.universe_size=16"});
  EXPECT_EQ(ours("usize", {"SYSTEM"}), Words{});
  EXPECT_EQ(ours("usize", {"INFINITE"}).front(), "refused");
}

TEST(PeerOptions, OneNameStandsInOneRow) {
  std::set<std::string> seen;
#define PEER(names, owners, words, meaning, text)               \
  for (std::string_view rest = names; !rest.empty();) {         \
    const std::string name(rest.substr(0, rest.find(' ')));     \
    EXPECT_TRUE(seen.insert(name).second) << name;              \
    rest.remove_prefix(std::min(rest.size(), name.size() + 1)); \
  }
#include "tools/mpcrun/peer_options.def"
#undef PEER
  EXPECT_GT(seen.size(), 100u);
}

TEST(Unwrap, SeesOnePlainCommandAndNoOther) {
  EXPECT_EQ(plain_command("A=1 ./p 'a b' \"c\"d"), (Words{"A=1", "./p", "a b", "cd"}));
  EXPECT_EQ(plain_command(" ./p\t'$x' "), (Words{"./p", "$x"}));
  for (const char* text :
       {"./p $x", "./p \"$x\"", "./p `x`", "./p; ./q", "./p | q", "./p > f", "./p &",
        "(./p)", "./p *", "./p 'x", "./p\n./q", "~/p", "./p \\x", "./p \"\\x\""})
    EXPECT_FALSE(plain_command(text)) << text;
}

TEST(Unwrap, TakesEnvAndShellsAway) {
  job::AppSpec app;
  app.program = "/usr/bin/env";
  app.args = {"A=1", "sh", "-c", "B='2 3' exec ./p x"};
  unwrap(app);
  EXPECT_EQ(app.program, "./p");
  EXPECT_EQ(app.args, Words{"x"});
  ASSERT_EQ(app.environment.size(), 2u);
  EXPECT_EQ(app.environment[0].second, "1");
  EXPECT_EQ(app.environment[1].second, "2 3");
}

TEST(Unwrap, LeavesWhatItCannotSee) {
  for (const Words& args : {Words{"-c", "./p; ./q"}, Words{"-c", "./p", "x"},
                            Words{"-c", "cd"}, Words{"./script"}, Words{"-c", ""}}) {
    job::AppSpec app;
    app.program = "sh";
    app.args = args;
    unwrap(app);
    EXPECT_EQ(app.program, "sh");
    EXPECT_EQ(app.args, args);
  }
}

}  // namespace
}  // namespace mpc::tools
