// Many threads of several processes at once, and processes that sleep until they are woken.
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "tests/unit/transport/contract.h"

namespace mpc::transport::test {
namespace {

// One process of a storm: what it has been sent, and what it does about it.
struct Storm {
  struct Fetching : Counted {
    std::vector<char> in;
    size_t bytes;
    int seed;
  };
  struct Offering : Counted {
    std::vector<char> out;
  };
  std::atomic<size_t> posted_arrived{0}, refused{0}, wrong{0};
  std::mutex lock;
  std::deque<Fetching> fetches;    // by whoever polls, under the lock
  std::deque<Offering> offers[2];  // by each thread
};

constexpr size_t kStormSizes[] = {0, 8, 200, 3000, 20000, 300000};

// Each message is of its id: its size and its data.
size_t storm_bytes(uint64_t id) { return kStormSizes[id % 6]; }
bool is_posted(uint64_t id) { return id % 6 < 4; }

void take_part(Storm& storm, Net& net, Arrival& a) {
  const uint64_t id = a.envelope.id;
  const size_t bytes = storm_bytes(id);
  const int seed = static_cast<int>(id);
  if (is_posted(id)) {
    if (a.data != message(bytes, seed)) ++storm.wrong;
    ++storm.posted_arrived;
  } else if (id % 5 == 0) {
    net.refuse(a.from, a.bulk);
    ++storm.refused;
  } else {
    std::unique_lock lock(storm.lock);
    Storm::Fetching& f = storm.fetches.emplace_back();
    lock.unlock();
    f.in.resize(bytes);
    f.bytes = bytes;
    f.seed = seed;
    net.fetch(a.from, a.bulk, {f.in.data(), bytes, nullptr}, f);
  }
}

void send_storm(Storm& storm, int which, Net& net, int me, int processes,
                size_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(me * 2 + which));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t id = i * 2 + static_cast<uint64_t>(which);
    const int peer =
        (me + 1 + static_cast<int>(random() % static_cast<uint64_t>(processes - 1))) %
        processes;
    std::vector<char> data = message(storm_bytes(id), static_cast<int>(id));
    const Envelope envelope = envelope_of(id, data.size());
    if (is_posted(id)) {
      net.post(peer, envelope, contiguous(data));
    } else {
      Storm::Offering& o = storm.offers[which].emplace_back();
      o.out = std::move(data);
      net.offer(peer, envelope, contiguous(o.out), o);
    }
  }
}

// A rank that waits for one process's next message, and takes it where it lies.
struct Taking final : NextTaker {
  explicit Taking(Storm& its_storm) noexcept : storm(its_storm) {}
  bool take(const Envelope& envelope, const void* data,
            size_t bytes) noexcept override {
    if (envelope.kind != PacketKind::kEager || !is_posted(envelope.id)) return false;
    const auto* const first = static_cast<const char*>(data);
    if (std::vector<char>(first, first + bytes) !=
        message(storm_bytes(envelope.id), static_cast<int>(envelope.id)))
      ++storm.wrong;
    ++storm.posted_arrived;
    return true;
  }
  Storm& storm;
};

// Does it until `is_over`, in turn with polls of what is near.
void take_what_is_near(Storm& storm, Net& net, int processes, int me,
                       const std::atomic<bool>& is_over) {
  Taking taking(storm);
  while (!is_over) {
    for (int peer = 0; peer < processes; ++peer) {
      if (peer == me) continue;
      const Sign sign = net.next_from(peer);
      if (sign.word != nullptr && sign.is_seen()) net.take_next(peer, taking);
      if (sign.is_polled) net.poll_for(peer, taking);
    }
    if (net.look_near() == Near::kNews) net.poll_near();
    std::this_thread::yield();
  }
}

TEST_P(NetContract, ManyThreadsOfManyProcessesSendToEachOther) {
  constexpr int kProcesses = 3;
  constexpr size_t kEach = 600;
  open(kProcesses, 7);
  std::deque<Storm> storms(kProcesses);
  for (int p = 0; p < kProcesses; ++p)
    inbox(p).on_arrival([this, p, &storms](Arrival& a) {
      take_part(storms[static_cast<size_t>(p)], net(p), a);
    });
  const Sleepers sleepers(*nets_, kProcesses);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads, takers;
  for (int p = 0; p < kProcesses; ++p)
    takers.emplace_back([&, p] {
      take_what_is_near(storms[static_cast<size_t>(p)], net(p), kProcesses, p, is_over);
    });
  for (int p = 0; p < kProcesses; ++p)
    for (const int which : {0, 1})
      threads.emplace_back([&, p, which] {
        send_storm(storms[static_cast<size_t>(p)], which, net(p), p, kProcesses, kEach);
      });
  for (std::thread& thread : threads) thread.join();
  size_t done = 0, refused = 0, refusals = 0, posted = 0;
  for (Storm& storm : storms) {
    for (auto& offers : storm.offers)
      for (Storm::Offering& o : offers) {
        ASSERT_TRUE(wait_for([&] { return o.is_done(); }));
        ++(o.outcome == Outcome::kRefused ? refused : done);
      }
  }
  constexpr size_t kPosts = 2 * kProcesses * kEach * 4 / 6;
  ASSERT_TRUE(wait_for([&] {
    posted = 0;
    for (Storm& storm : storms) posted += storm.posted_arrived;
    return posted >= kPosts;
  }));
  EXPECT_EQ(posted, kPosts);
  is_over = true;
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(sleepers.vain_sleeps(), 0);
  for (Storm& storm : storms) {
    refusals += storm.refused;
    EXPECT_EQ(storm.wrong, 0U);
    const std::lock_guard lock(storm.lock);
    for (Storm::Fetching& f : storm.fetches) {
      ASSERT_TRUE(wait_for([&] { return f.is_done(); }));
      EXPECT_EQ(f.outcome, Outcome::kDone);
      EXPECT_EQ(f.times, 1);
      EXPECT_EQ(f.in, message(f.bytes, f.seed));
    }
  }
  EXPECT_EQ(refused, refusals);
  EXPECT_EQ(done + refused, 2 * kProcesses * kEach * 2 / 6);
}

// Nobody polls but who is woken: an answer to each message, and a long one now and then.
TEST_P(NetContract, WhoSleepsIsWoken) {
  open(kTwo);
  std::atomic<int> turns{0};
  constexpr int kTurns = 400;
  std::deque<Counted> sent(kTurns), fetched(kTurns);
  const std::vector<char> out = message(200000, 1);
  std::vector<char> in(200000);
  for (const int p : {0, 1})
    inbox(p).on_arrival([&, p](Arrival& a) {
      const int turn = turns.fetch_add(1);
      const auto at = static_cast<size_t>(turn);
      if (a.bulk != 0)
        net(p).fetch(1 - p, a.bulk, {in.data(), in.size(), nullptr}, fetched[at]);
      if (turn + 1 >= kTurns) return;
      if (turn % 4 == 3) {
        net(p).offer(1 - p, envelope_of(1, out.size()), contiguous(out), sent[at]);
      } else {
        net(p).post(1 - p, envelope_of(1, 8), {out.data(), 8, nullptr});
      }
    });
  const Sleepers sleepers(*nets_, kTwo);
  net(0).post(1, envelope_of(1, 8), {out.data(), 8, nullptr});
  const auto all_is_done = [&] {
    if (turns < kTurns) return false;
    for (size_t turn = 3; turn + 1 < kTurns; turn += 4)
      if (!sent[turn].is_done() || !fetched[turn + 1].is_done()) return false;
    return true;
  };
  for (int i = 0; i < 40000 && !all_is_done(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(all_is_done()) << turns;
  EXPECT_EQ(sleepers.vain_sleeps(), 0);
}

}  // namespace
}  // namespace mpc::transport::test
