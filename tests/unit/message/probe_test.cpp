// Probes: what they say of a message that stays in the ring, and who gets it then.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/message/cell.h"
#include "runtime/message/mailbox.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// Workers; with one the ranks take turns, so the quick ways are taken less often.
class Probes : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(job::Rank&)>& body) {
    World world(2, GetParam());
    EXPECT_EQ(world.run(body), "");
  }
  // A probe that waits, as MPI_Probe does.
  Status probe(job::Rank& me, int source, int tag) {
    Status found;
    if (probe_quickly(me, source, kContext, tag, &found)) return found;
    struct Wanted {
      job::Rank& me;
      int source, tag;
      Status* found;
    } wanted{me, source, tag, &found};
    wait_for_message(
        me, kContext, source,
        [](void* argument) {
          auto& w = *static_cast<Wanted*>(argument);
          return iprobe(w.me, w.source, kContext, w.tag, w.found);
        },
        &wanted, why_);
    return found;
  }
  Why why_;
};
INSTANTIATE_TEST_SUITE_P(Workers, Probes, testing::Values(1, 2));

constexpr auto kInCell = static_cast<int>(kInlineBytes);
constexpr int kSizes[] = {0, 1, 8, kInCell, kInCell + 1, 9000, 100000};

TEST_P(Probes, SayWhatTheReceiveThenGets) {
  run([&](job::Rank& me) {
    std::vector<char> data(100000), token(1);
    for (int round = 0; round < 50; ++round) {
      int tag = 0;
      for (const int bytes : kSizes) {
        ++tag;
        if (me.world_rank == 0) {
          data[0] = static_cast<char>(tag + round);
          send(me, to(1, data.data(), bytes, tag, 0), why_);
          recv(me, from(1, token.data(), 1, 100), why_);
          continue;
        }
        // Twice: the first one has not taken it away.
        for (const int source : {0, kAnySource}) {
          const Status found = probe(me, source, round % 2 != 0 ? tag : kAnyTag);
          EXPECT_EQ(found.source, 0);
          EXPECT_EQ(found.tag, tag);
          EXPECT_EQ(found.bytes, bytes);
        }
        data[0] = 0;
        const Status got =
            recv(me, from(kAnySource, data.data(), bytes, kAnyTag), why_);
        EXPECT_EQ(got.tag, tag);
        EXPECT_EQ(got.bytes, bytes);
        if (bytes != 0) {
          EXPECT_EQ(data[0], static_cast<char>(tag + round));
        }
        EXPECT_FALSE(iprobe(me, kAnySource, kContext, kAnyTag, nullptr));
        send(me, to(0, token.data(), 1, 100, 1), why_);
      }
    }
  });
}

TEST_P(Probes, DoNotSeeWhatAPostedReceiveGets) {
  run([&](job::Rank& me) {
    int value = 0, first = 0;
    if (me.world_rank == 0) {
      recv(me, from(1, &value, sizeof value, 100), why_);  // it has posted
      for (int i = 1; i <= 2; ++i) {
        value = i;
        send(me, to(1, &value, sizeof value, 7, 0), why_);
      }
      return;
    }
    Request posted;
    start_recv(me, posted, from(0, &first, sizeof first, 7));
    send(me, to(0, &value, sizeof value, 100, 1), why_);
    const Status found = probe(me, 0, 7);
    EXPECT_EQ(found.bytes, static_cast<int64_t>(sizeof value));
    recv(me, from(0, &value, sizeof value, 7), why_);
    EXPECT_EQ(value, 2);
    wait(me, posted, why_);
    EXPECT_EQ(first, 1);
  });
}

// The oldest message of the ring is for another tag; one that came earlier was already put aside.
TEST_P(Probes, FindMessagesInTheOrderOfSending) {
  run([&](job::Rank& me) {
    int value = 0;
    if (me.world_rank == 0) {
      for (int i = 0; i < 4; ++i) {
        value = 10 + i;
        send(me, to(1, &value, sizeof value, i % 2, 0), why_);
      }
      send(me, to(1, &value, sizeof value, 100, 0), why_);
      recv(me, from(1, &value, sizeof value, 100), why_);
      for (int i = 0; i < 2; ++i) {
        value = 20 + i;
        send(me, to(1, &value, sizeof value, i, 0), why_);
      }
      return;
    }
    EXPECT_EQ(probe(me, 0, 1).tag, 1);  // puts the first one aside
    recv(me, from(0, &value, sizeof value, 100), why_);
    send(me, to(0, &value, sizeof value, 100, 1), why_);
    for (const int expected : {11, 13, 21}) {
      EXPECT_EQ(probe(me, 0, 1).tag, 1);
      recv(me, from(0, &value, sizeof value, 1), why_);
      EXPECT_EQ(value, expected);
    }
    for (const int expected : {10, 12, 20}) {
      EXPECT_EQ(probe(me, kAnySource, kAnyTag).tag, 0);
      recv(me, from(kAnySource, &value, sizeof value, kAnyTag), why_);
      EXPECT_EQ(value, expected);
    }
  });
}

TEST_P(Probes, AndASendAtOnceThatWaitsForNobody) {
  run([&](job::Rank& me) {
    const int other = 1 - me.world_rank;
    std::vector<char> out(static_cast<size_t>(kInCell) + 1), in(out.size());
    for (int round = 0; round < 2000; ++round) {
      out[0] = static_cast<char>(round);
      const int bytes = round % kInCell;
      // Both send before they receive. To a rank of another process it may not leave at once.
      Request request;
      const SendArgs message = to(other, out.data(), bytes, 3, me.world_rank);
      const bool is_sent = send_at_once(me, message);
      if (!is_sent) start_send(me, request, message);
      const Status got = recv(me, from(other, in.data(), bytes, 3), why_);
      EXPECT_EQ(got.bytes, bytes);
      if (bytes != 0) {
        EXPECT_EQ(in[0], static_cast<char>(round));
      }
      if (!is_sent) wait(me, request, why_);
    }
    EXPECT_FALSE(
        send_at_once(me, to(other, out.data(), kInCell + 1, 3, me.world_rank)));
  });
}

}  // namespace
}  // namespace mpc::msg::test
