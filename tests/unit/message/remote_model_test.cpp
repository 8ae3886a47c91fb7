// Random programs over several processes: what each rank sends, in all modes and sizes, is received
// or withdrawn, once, in order, into buffers that may be too short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <random>
#include <set>

#include "tests/unit/message/unreceived.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

constexpr int kRanks = 6, kTags = 3, kMessages = 250;
constexpr size_t kSizes[] = {16, 17, 100, 1000, 8192, 8193, 30000};
constexpr size_t kCapacities[] = {16, 50, 8192, 30000, 30000, 30000};
constexpr ContextId kEndContext = 4;

// What one rank sends to another with one tag.
struct Stream {
  int source, dest, tag;
  friend auto operator<=>(const Stream&, const Stream&) = default;
};
// Stands in front of each message.
struct Head {
  int32_t source, dest, tag, number;
};
static_assert(sizeof(Head) == 16);

char byte_of(const Head& head, size_t at) {
  return static_cast<char>(head.number * 31 + head.source * 7 + static_cast<int>(at));
}

// What a rank has done, to be compared when all have ended.
struct Record {
  std::map<Stream, std::set<int>> sent, withdrawn;
  std::map<Stream, std::vector<int>> received;  // in the order of receives
};

class Player {
 public:
  Player(job::Rank& self, unsigned seed, size_t limit, Record& record)
      : self_(self),
        me_(self.world_rank),
        random_(seed),
        limit_(limit),
        record_(record) {}

  void play() {
    post_ends();
    while (sent_ < kMessages || !sends_.empty()) step();
    tell_ends();
    while (!have_all()) step();
    for (Receive& r : receives_) cancel(self_, r.request);
    reap();
    for (int r = 0; r < kRanks; ++r) wait(self_, end_sends_[r], why_);
  }

 private:
  struct Send {
    Head head;
    std::vector<char> data;
    Request request;
  };
  struct Receive {
    std::vector<char> data;
    Key key{};
    Request request;
  };

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_()) % n; }

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        if (sent_ < kMessages) start_one();
        break;
      case 5:
      case 6:
      case 7:
      case 8:
        if (receives_.size() < 6) post_one();
        break;
      case 9:
        probe_one();
        break;
      case 10:
        if (!sends_.empty() && pick(2) == 0) cancel_send();
        break;
      case 11:
        if (!receives_.empty() && pick(2) == 0)
          cancel(self_, at(receives_, pick(6)).request);
        break;
      default:
        progress(self_);
        relax(self_);
    }
    reap();
    ASSERT_LE(held_by(mailbox_of(self_)).data_memory, limit_);
  }

  template <class T>
  static T& at(std::list<T>& list, unsigned n) {
    return *std::next(list.begin(), n % static_cast<unsigned>(list.size()));
  }

  void start_one() {
    Send& s = sends_.emplace_back();
    const auto dest = static_cast<int>(pick(kRanks)),
               tag = static_cast<int>(pick(kTags));
    const Stream stream{me_, dest, tag};
    auto& numbers = record_.sent[stream];
    s.head = {me_, dest, tag, static_cast<int32_t>(numbers.size())};
    numbers.insert(s.head.number);
    s.data.resize(kSizes[pick(7)]);
    for (size_t i = 0; i < s.data.size(); ++i) s.data[i] = byte_of(s.head, i);
    std::memcpy(s.data.data(), &s.head, sizeof s.head);
    constexpr Mode kModes[] = {Mode::kStandard, Mode::kStandard, Mode::kSynchronous,
                               Mode::kBuffered};
    start_send(self_, s.request,
               to(dest, s.data.data(), s.data.size(), tag, me_, kModes[pick(4)]));
    ++sent_;
  }

  void cancel_send() {
    const auto it =
        std::next(sends_.begin(), pick(static_cast<unsigned>(sends_.size())));
    cancel(self_, it->request);
  }

  void post_one() {
    Receive& r = receives_.emplace_back();
    r.data.resize(kCapacities[pick(6)]);
    const int source = pick(3) == 0 ? kAnySource : static_cast<int>(pick(kRanks));
    const int tag = pick(3) == 0 ? kAnyTag : static_cast<int>(pick(kTags));
    start_recv(self_, r.request, from(source, r.data.data(), r.data.size(), tag));
  }

  void probe_one() {
    Status status;
    MatchedMessage* const message =
        improbe(self_, kAnySource, kContext, kAnyTag, &status);
    if (message == nullptr) return;
    Receive& r = receives_.emplace_back();
    r.data.resize(kCapacities[pick(6)]);
    start_mrecv(self_, r.request, message, r.data.data(),
                static_cast<Count>(r.data.size()), byte_type());
  }

  // In the order in which they were posted, as far as they are complete without a gap.
  void reap() {
    while (!receives_.empty() && receives_.front().request.is_complete()) {
      check(receives_.front());
      receives_.pop_front();
    }
    for (auto s = sends_.begin(); s != sends_.end();) {
      if (!s->request.is_complete() || pick(4) == 0) {  // it may be cancelled later
        ++s;
        continue;
      }
      const Head& h = s->head;
      EXPECT_FALSE(s->request.status().failed);
      if (s->request.status().cancelled)
        record_.withdrawn[{h.source, h.dest, h.tag}].insert(h.number);
      s = sends_.erase(s);
    }
  }

  void check(Receive& r) {
    const Status& s = r.request.status();
    if (s.cancelled) return;
    Head head;
    std::memcpy(&head, r.data.data(), sizeof head);
    ++received_;
    EXPECT_EQ(head.source, s.source);
    EXPECT_EQ(head.tag, s.tag);
    ASSERT_EQ(head.dest, me_);
    ASSERT_LE(s.bytes, static_cast<int64_t>(r.data.size()));
    if (s.failed) {
      EXPECT_EQ(s.error, Errc::kTruncate);
      EXPECT_EQ(s.bytes, static_cast<int64_t>(r.data.size()));
    }
    for (size_t i = sizeof head; i < static_cast<size_t>(s.bytes); ++i)
      ASSERT_EQ(r.data[i], byte_of(head, i)) << i;
    record_.received[{head.source, me_, head.tag}].push_back(head.number);
  }

  // Each rank tells each other one how many of its messages will never be withdrawn.
  void post_ends() {
    for (int r = 0; r < kRanks; ++r)
      start_recv(self_, end_receives_[r],
                 from(r, &to_come_[r], sizeof(int), 0, kEndContext));
  }
  void tell_ends() {
    for (const auto& [stream, numbers] : record_.sent)
      told_[stream.dest] += static_cast<int>(numbers.size());
    for (const auto& [stream, numbers] : record_.withdrawn)
      told_[stream.dest] -= static_cast<int>(numbers.size());
    for (int r = 0; r < kRanks; ++r)
      start_send(self_, end_sends_[r],
                 to(r, &told_[r], sizeof(int), 0, me_, Mode::kStandard, kEndContext));
  }
  bool have_all() {
    int expected = 0;
    for (int r = 0; r < kRanks; ++r) {
      if (!end_receives_[r].is_complete()) return false;
      expected += to_come_[r];
    }
    return received_ + complete_behind_a_gap() == expected;
  }
  int complete_behind_a_gap() {
    int n = 0;
    for (const Receive& r : receives_)
      n += r.request.is_complete() && !r.request.status().cancelled;
    return n;
  }

  job::Rank& self_;
  const int me_;
  std::mt19937 random_;
  const size_t limit_;
  Record& record_;
  std::list<Send> sends_;
  std::list<Receive> receives_;
  int sent_ = 0, received_ = 0;
  int told_[kRanks] = {}, to_come_[kRanks] = {};
  Request end_sends_[kRanks], end_receives_[kRanks];
  Why why_;
};

struct Case {
  int processes;
  size_t unexpected_bytes;
};
class RemotePrograms
    : public testing::TestWithParam<std::tuple<Case, uint64_t /* of the network */>> {};
INSTANTIATE_TEST_SUITE_P(
    Seeds, RemotePrograms,
    testing::Combine(testing::Values(Case{2, 8 << 20}, Case{3, 128 << 10}, Case{6, 0},
                                     Case{6, 160 << 10}),
                     testing::Values(0, 1, 2, 3)));

TEST_P(RemotePrograms, ReceiveOrWithdrawEachMessageOnceAndInOrder) {
  const Case which = std::get<0>(GetParam());
  const auto net_seed = std::get<1>(GetParam());
  const char* const text = std::getenv("MPC_TEST_SEED");
  const unsigned seed =
      text != nullptr ? static_cast<unsigned>(std::atoi(text)) : std::random_device{}();
  std::printf("MPC_TEST_SEED=%u\n", seed);
  std::vector<Record> records(kRanks);
  World world(kRanks, 2);
  world.with_processes(which.processes, net_seed)
      .with_unexpected_bytes(which.unexpected_bytes);
  EXPECT_EQ(world.run([&](job::Rank& me) {
    const auto rank = static_cast<unsigned>(me.world_rank);
    Player(me, seed + rank, which.unexpected_bytes, records[rank]).play();
  }),
            "");
  World(1, 1).with_unexpected_bytes(8 << 20);
  size_t withdrawn = 0, received = 0;
  for (Record& sender : records) {
    for (auto& [stream, left] : sender.sent) {
      for (const int number : sender.withdrawn[stream]) withdrawn += left.erase(number);
      const auto& in = records[static_cast<size_t>(stream.dest)].received[stream];
      EXPECT_TRUE(std::is_sorted(in.begin(), in.end()));
      EXPECT_EQ(std::set<int>(in.begin(), in.end()), left);
      EXPECT_EQ(in.size(), left.size());
      received += in.size();
    }
  }
  EXPECT_EQ(withdrawn + received, size_t{kRanks * kMessages});
  EXPECT_GT(withdrawn, 0u);
}

}  // namespace
}  // namespace mpc::msg::test
