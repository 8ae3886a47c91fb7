// What the network of UCX does beyond the contract of all: sleeping, broken peers, ranks that call it.
#include <gtest/gtest.h>

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/transport/load_net.h"
#include "scheduler/execution.h"
#include "tests/unit/transport/nets.h"

#ifdef MPC_TEST_NET_MODULE
namespace mpc::transport::test {
namespace {

class UcxNetwork : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    ASSERT_EQ(Nets::make(GetParam(), 2, nets_), "");
    ASSERT_EQ(nets_->start({&inboxes_[0], &inboxes_[1]}), "");
  }
  bool wait_for(const std::function<bool()>& condition) {
    return eventually(*nets_, 2, condition);
  }
  // The same, without polling by itself.
  static bool wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  // Of process 1. Sleeping is not always possible at once: connections are being made.
  bool becomes_armed() {
    for (int i = 0; i < 10000; ++i) {
      if (nets_->events(1)->arm()) return true;
      nets_->events(1)->poll();
      nets_->events(0)->poll();
    }
    return false;
  }
  bool is_readable(int ms) {
    pollfd one{nets_->events(1)->descriptor(), POLLIN, 0};
    return ::poll(&one, 1, ms) == 1;
  }
  static void pack_nothing(const void*, size_t, void*, size_t) noexcept {}
  // Until the connection stands: before that, messages wait for polls of both. UCX needs more of it
  // for what is not short, as packed data never are.
  void meet() {
    const Source packed{nullptr, 8, &pack_nothing};
    for (int i = 0; i < 50; ++i) {
      for (const int p : {0, 1}) nets_->net(p).post(1 - p, {}, packed);
      ASSERT_TRUE(wait_for(
          [&] { return inboxes_[0].count() == 1 && inboxes_[1].count() == 1; }));
      for (Inbox& inbox : inboxes_) inbox.all();
    }
  }

  Inbox inboxes_[2];
  std::unique_ptr<Nets> nets_;
};

TEST_P(UcxNetwork, TheDescriptorIsQuietUntilSomethingComes) {
  meet();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(becomes_armed());
    EXPECT_FALSE(is_readable(5));
    nets_->net(0).post(1, {}, {});
    ASSERT_TRUE(is_readable(5000));
    const size_t before = inboxes_[1].count();
    ASSERT_TRUE(wait_for([&] { return inboxes_[1].count() == before + 1; }));
  }
}

// Takes every second message of its process.
struct EverySecond final : NextTaker {
  bool take(const Envelope& envelope, const void* data,
            size_t bytes) noexcept override {
    if (envelope.id % 2 != 0) return false;
    const char* const first = static_cast<const char*>(data);
    taken.push_back({0, envelope, {first, first + bytes}, 0});
    return true;
  }
  std::vector<Arrival> taken;
};

TEST_P(UcxNetwork, APollForAMessageGivesItToItsTakerAndOthersToTheReceiver) {
  meet();
  Net& net = nets_->net(1);
  ASSERT_TRUE(net.next_from(0).is_polled);
  const size_t limit = nets_->net(0).limits(1).eager_bytes;
  uint64_t id = 0;
  // Lengths that travel in one piece with their head, and such that do not.
  for (const size_t bytes :
       {size_t{0}, size_t{8}, size_t{1000}, size_t{1024}, size_t{1025}, limit}) {
    for (int i = 0; i < 2; ++i, ++id) {
      const std::vector<char> data = message(bytes, static_cast<int>(id));
      Envelope envelope;
      envelope.id = id;
      envelope.bytes = bytes;
      nets_->net(0).post(1, envelope, {data.data(), bytes, nullptr});
      EverySecond taker;
      Polled polled = Polled::kNothing;
      ASSERT_TRUE(wait_until([&] {
        nets_->events(0)->poll();
        // What is no message of a process, such as the net's own, is news for nobody.
        polled = net.poll_for(0, taker);
        return polled == Polled::kTaken || inboxes_[1].count() != 0;
      }));
      std::vector<Arrival> received = inboxes_[1].all();
      const bool is_taken = id % 2 == 0;
      EXPECT_EQ(polled, is_taken ? Polled::kTaken : Polled::kNews);
      ASSERT_EQ(taker.taken.size(), is_taken ? 1U : 0U);
      ASSERT_EQ(received.size(), is_taken ? 0U : 1U);
      const Arrival& arrival = is_taken ? taker.taken[0] : received[0];
      EXPECT_EQ(arrival.envelope.id, id);
      EXPECT_EQ(arrival.data, data);
    }
  }
  // Of another process: none of its business.
  EverySecond taker;
  nets_->net(0).post(1, {}, {});
  ASSERT_TRUE(wait_until([&] {
    nets_->events(0)->poll();
    return net.poll_for(1, taker) == Polled::kNews && inboxes_[1].count() != 0;
  }));
  EXPECT_EQ(inboxes_[1].count(), 1U);
  EXPECT_TRUE(taker.taken.empty());
}

TEST_P(UcxNetwork, WhatIsKeptIsNews) {
  meet();
  inboxes_[1].refuse_one_of(1, 1);  // nothing is taken
  nets_->net(0).post(1, {}, {});
  for (int i = 0; i < 1000; ++i) nets_->events(1)->poll();
  EXPECT_FALSE(nets_->events(1)->arm());
  inboxes_[1].refuse_one_of(0, 1);
  ASSERT_TRUE(wait_for([&] { return inboxes_[1].count() == 1; }));
  EXPECT_TRUE(becomes_armed());
}

// No room at the other side: only a poll sends the rest, so who sleeps has to be woken for it.
TEST_P(UcxNetwork, WhatOnlyAPollCanMoveWakesWhoSleeps) {
  meet();
  ASSERT_TRUE(becomes_armed());
  const std::vector<char> data = message(nets_->net(1).limits(0).eager_bytes, 1);
  constexpr size_t kMany = 3000;
  for (size_t i = 0; i < kMany; ++i)
    nets_->net(1).post(0, {}, {data.data(), data.size(), nullptr});
  EXPECT_TRUE(is_readable(5000));
  EXPECT_TRUE(wait_for([&] { return inboxes_[0].count() == kMany; }));
}

// Who does not get the lock leaves the message to the holder, who may just be about to unlock. Nobody
// polls for the sender, so what has been left behind would stay there.
TEST_P(UcxNetwork, NothingIsLeftBehindByTwoThatSendAtOnce) {
  meet();
  constexpr size_t kRounds = 20000;
  std::atomic<size_t> round{0}, posted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (size_t mine = 1; mine <= kRounds; ++mine) {
        while (round < mine) std::this_thread::yield();
        nets_->net(0).post(1, {}, {});
        ++posted;
      }
    });
  size_t left_behind = 0;
  for (size_t now = 1; now <= kRounds; ++now) {
    round = now;
    while (posted < 2 * now) std::this_thread::yield();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    const auto have_come = [&] { return inboxes_[1].count() == 2 * now; };
    while (!have_come() && std::chrono::steady_clock::now() < end)
      nets_->events(1)->poll();
    if (have_come()) continue;
    ++left_behind;
    ASSERT_TRUE(wait_for(have_come));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(left_behind, 0U);
}

// UCX would write behind the end of the target.
TEST_P(UcxNetwork, AFetchIntoATooShortTargetFetchesNothing) {
  Counted sent, fetched;
  const std::vector<char> out = message(20000, 1);
  std::vector<char> in(20000, 'x');
  nets_->net(0).offer(1, {}, {out.data(), out.size(), nullptr}, sent);
  ASSERT_TRUE(wait_for([&] { return inboxes_[1].count() == 1; }));
  nets_->net(1).fetch(0, inboxes_[1].all()[0].bulk, {in.data(), 10000, nullptr},
                      fetched);
  ASSERT_TRUE(wait_for([&] { return sent.is_done() && fetched.is_done(); }));
  EXPECT_EQ(fetched.outcome, Outcome::kGone);
  EXPECT_EQ(sent.outcome, Outcome::kRefused);
  EXPECT_EQ(in, std::vector<char>(20000, 'x'));
}

// Libraries behind the network would take a rank's environment and threads for those of the process.
TEST_P(UcxNetwork, CallsActForNobody) {
  int rank = 0;
  auto& self = sched::Execution::self();
  self.set_identity(&rank);
  const void* seen = &rank;
  inboxes_[1].on_arrival([&](Arrival&) { seen = self.identity(); });
  nets_->net(0).post(1, {}, {});
  EXPECT_EQ(self.identity(), &rank);
  EXPECT_TRUE(wait_for([&] { return seen == nullptr; }));
  EXPECT_EQ(self.identity(), &rank);
  self.set_identity(nullptr);
}

std::string name_of(const testing::TestParamInfo<Kind>& parameter) {
  return parameter.param.name;
}
INSTANTIATE_TEST_SUITE_P(Networks, UcxNetwork,
                         testing::Values(Kind{"SharedMemory", "posix,self", 0, true,
                                              false, true},
                                         Kind{"Tcp", "tcp,self", 0, true, false, true}),
                         name_of);

// --- a process that is gone ----------------------------------------------------------------------

struct Report {
  static void note(void* self, int peer, const char* problem) noexcept {
    auto& report = *static_cast<Report*>(self);
    report.peer = peer;
    report.text = problem;
    ++report.count;
  }
  int count = 0;
  int peer = -1;
  std::string text;
};

// Two ends, of which the second is destroyed.
class LostPeer : public testing::Test {
 protected:
  void open(const char* networks, bool is_same_host) {
    ::setenv("UCX_TLS", networks, 1);
    std::vector<NetPeer> peers;
    for (int p = 0; p < 2; ++p) {
      auto loaded = load_net({p, 2, 0, &Report::note, &reports_[p], ""});
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      ends_[p] = std::move(*loaded);
      peers.push_back({ends_[p]->address(), is_same_host});
    }
    for (int p = 0; p < 2; ++p) ASSERT_TRUE(ends_[p]->connect(peers, inboxes_[p]).ok());
  }
  void meet(const char* networks, bool is_same_host) {
    open(networks, is_same_host);
    for (int p = 0; p < 2; ++p) ends_[p]->net().post(1 - p, {}, {});
    for (int i = 0; i < 1000000 && inboxes_[0].count() + inboxes_[1].count() != 2; ++i)
      for (auto& end : ends_) end->events().poll();
    ASSERT_EQ(inboxes_[0].count() + inboxes_[1].count(), 2U);
  }
  void poll_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end)
      ends_[0]->events().poll();
  }

  Report reports_[2];
  Inbox inboxes_[2];
  std::unique_ptr<NetModule> ends_[2];
};

TEST_F(LostPeer, IsReportedAndWhatWasUnderWayEnds) {
  meet("tcp,self", false);
  const std::vector<char> out = message(1000000, 1);
  Counted sent;
  ends_[0]->net().offer(1, {}, {out.data(), out.size(), nullptr}, sent);
  ends_[1].reset();
  poll_until([&] { return reports_[0].count != 0 && sent.is_done(); });
  EXPECT_GE(reports_[0].count, 1);
  EXPECT_EQ(reports_[0].peer, 1);
  EXPECT_NE(reports_[0].text.find("connection lost"), std::string::npos)
      << reports_[0].text;
  EXPECT_EQ(reports_[0].text.find('\n'), std::string::npos);
  EXPECT_TRUE(sent.is_done());
  const int before = reports_[0].count;
  for (int i = 0; i < 10; ++i) ends_[0]->net().post(1, {}, {});  // into the void
  poll_until([&] { return true; });
  EXPECT_EQ(reports_[0].count, before);  // once is enough
}

// A host without power: nothing comes of it, and UCX goes on trying.
TEST_F(LostPeer, ThatTheNetworkDoesNotMissIsClosedByForce) {
  meet("tcp,self", false);
  for (Inbox& inbox : inboxes_) inbox.all();
  const std::vector<char> out = message(1000000, 1);
  std::vector<char> in(1000000);
  Counted sent, theirs, fetched, fetched_late;
  for (int i = 0; i < 2; ++i)
    ends_[1]->net().offer(0, {}, {out.data(), out.size(), nullptr}, theirs);
  for (int i = 0; i < 1000000 && inboxes_[0].count() != 2; ++i)
    for (auto& end : ends_) end->events().poll();
  const std::vector<Arrival> offers = inboxes_[0].all();
  ASSERT_EQ(offers.size(), 2U);
  // From now on the other end is never polled again.
  ends_[0]->net().offer(1, {}, {out.data(), out.size(), nullptr}, sent);
  ends_[0]->net().fetch(1, offers[0].bulk, {in.data(), in.size(), nullptr}, fetched);
  for (int i = 0; i < 1000; ++i) ends_[0]->events().poll();
  EXPECT_FALSE(sent.is_done());
  ends_[0]->lose(1);
  ends_[0]->lose(1);
  ends_[0]->net().fetch(1, offers[1].bulk, {in.data(), in.size(), nullptr},
                        fetched_late);
  poll_until(
      [&] { return sent.is_done() && fetched.is_done() && fetched_late.is_done(); });
  ASSERT_TRUE(sent.is_done() && fetched.is_done() && fetched_late.is_done());
  EXPECT_EQ(sent.outcome, Outcome::kGone);
  EXPECT_EQ(fetched_late.outcome, Outcome::kGone);
  ends_[0]->net().post(1, {}, {});  // into the void
  EXPECT_EQ(reports_[0].count, 0) << reports_[0].text;
  // Who is taken for lost and lives is ended by its daemon: UCX does not end all that it has under way.
  static_cast<void>(ends_[1].release());
}

TEST_F(LostPeer, HasAllConnectionsMadeBefore) {
  for (const char* networks : {"posix,self", "tcp,self"}) {
    open(networks, networks[0] == 'p');
    Counted made[2];
    ends_[0]->make_connections(made[0]);
    for (int i = 0; i < 20000; ++i)
      for (auto& end : ends_) end->events().poll();
    EXPECT_FALSE(made[0].is_done());  // the other one has not come
    ends_[1]->make_connections(made[1]);
    for (int i = 0; i < 1000000 && !(made[0].is_done() && made[1].is_done()); ++i)
      for (auto& end : ends_) end->events().poll();
    EXPECT_EQ(made[0].times.load(), 1);
    EXPECT_EQ(made[1].times.load(), 1);
    EXPECT_EQ(inboxes_[0].count() + inboxes_[1].count(), 0U);
    for (auto& end : ends_) end.reset();
  }
}

TEST_F(LostPeer, WithinAHostEndsNobodyElse) {
  for (const char* networks : {"posix,self", "tcp,self"}) {
    meet(networks, true);
    ends_[1].reset();
    for (int i = 0; i < 100; ++i) {
      ends_[0]->net().post(1, {}, {});
      ends_[0]->events().poll();
    }
    ends_[0].reset();
    for (Inbox& inbox : inboxes_) inbox.all();
  }
}

}  // namespace
}  // namespace mpc::transport::test
#endif
