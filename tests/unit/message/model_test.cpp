// Random programs against a model that matches by looking at everything.
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <random>

#include "runtime/message/match_queue.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

unsigned seed_of_run() {
  if (const char* text = std::getenv("MPC_TEST_SEED")) {
    return static_cast<unsigned>(std::atoi(text));
  }
  return std::random_device{}();
}

// One rank that plays several sources: the sender's number is part of the envelope only.
class Model {
 public:
  Model(job::Rank& self, unsigned seed) : self_(self), random_(seed) {}

  void play(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      switch (pick(20)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
          send_one();
          break;
        case 7:
        case 8:
        case 9:
        case 10:
        case 11:
        case 12:
          receive_one();
          break;
        case 13:
        case 14:
          probe_one(false);
          break;
        case 15:
          probe_one(true);
          break;
        case 16:
          cancel_receive();
          break;
        case 17:
          cancel_send();
          break;
        case 18:
          relax(self_);
          break;  // now and then changes who looks at the ring
        default:
          progress(self_);
          break;
      }
      check_completions();
    }
    finish();
  }

 private:
  struct Send {
    Key key;
    int64_t id;
    std::vector<int64_t> data;
    Request request;
    bool is_over = false;  // in the model
    bool is_eager = false;
  };
  struct Receive {
    Key key;
    std::vector<int64_t> data;
    Request request;
    Send* from = nullptr;
    bool is_cancelled = false;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Key random_key(bool wild) {
    Key key{static_cast<ContextId>(2 + 2 * pick(2)), pick(3), pick(4)};
    if (wild && pick(4) == 0) key.source = kAnySource;
    if (wild && pick(4) == 0) key.tag = kAnyTag;
    return key;
  }
  static bool fits(const Key& receive, const Key& message) {
    return receive.context == message.context &&
           (receive.source == kAnySource || receive.source == message.source) &&
           (receive.tag == kAnyTag || receive.tag == message.tag);
  }

  void send_one() {
    auto owned = std::make_unique<Send>();
    Send& s = *owned;
    constexpr size_t kWords[] = {1, 5, 6, 20, 28, 29, 100, 1024, 1025, 3000};
    s.key = random_key(false);
    s.id = ++last_id_;
    s.data.assign(kWords[pick(10)], s.id);
    const Mode mode = pick(4) == 0 ? Mode::kSynchronous : Mode::kStandard;
    s.is_eager = mode == Mode::kStandard && s.data.size() <= 1024;
    start_send(self_, s.request,
               {s.data.data(), static_cast<Count>(s.data.size() * 8), byte_type(), 0,
                s.key.context, s.key.tag, s.key.source, mode});
    all_sends_.push_back(std::move(owned));
    for (auto it = posted_.begin(); it != posted_.end(); ++it) {
      if (!fits((*it)->key, s.key)) continue;
      (*it)->from = &s;
      s.is_over = true;
      posted_.erase(it);
      return;
    }
    unexpected_.push_back(&s);
  }

  Send* take_unexpected(const Key& key, bool remove) {
    for (auto it = unexpected_.begin(); it != unexpected_.end(); ++it) {
      Send* s = *it;
      if (!fits(key, s->key)) continue;
      if (remove) unexpected_.erase(it);
      return s;
    }
    return nullptr;
  }

  void receive_one() {
    auto owned = std::make_unique<Receive>();
    Receive& r = *owned;
    r.key = random_key(true);
    r.data.assign(3000, -1);
    start_recv(self_, r.request,
               from(r.key.source, r.data.data(), 3000 * 8, r.key.tag, r.key.context));
    all_receives_.push_back(std::move(owned));
    r.from = take_unexpected(r.key, true);
    if (r.from != nullptr) {
      r.from->is_over = true;
    } else {
      posted_.push_back(&r);
    }
  }

  void probe_one(bool take) {
    const Key key = random_key(true);
    progress(self_);
    Status status;
    Send* expected = take_unexpected(key, take);
    if (!take) {
      ASSERT_EQ(iprobe(self_, key.source, key.context, key.tag, &status),
                expected != nullptr);
    }
    MatchedMessage* message =
        take ? improbe(self_, key.source, key.context, key.tag, &status) : nullptr;
    if (take) {
      ASSERT_EQ(message != nullptr, expected != nullptr);
    }
    if (expected == nullptr) return;
    EXPECT_EQ(status.source, expected->key.source);
    EXPECT_EQ(status.tag, expected->key.tag);
    EXPECT_EQ(status.bytes, static_cast<int64_t>(expected->data.size() * 8));
    if (!take) return;
    auto owned = std::make_unique<Receive>();
    owned->data.assign(3000, -1);
    owned->from = expected;
    expected->is_over = true;
    start_mrecv(self_, owned->request, message, owned->data.data(), 3000 * 8,
                byte_type());
    all_receives_.push_back(std::move(owned));
  }

  void cancel_receive() {
    if (posted_.empty()) return;
    auto it = posted_.begin();
    std::advance(it, pick(static_cast<int>(posted_.size())));
    Receive* r = *it;
    cancel(self_, r->request);
    ASSERT_TRUE(r->request.is_complete());
    EXPECT_TRUE(r->request.status().cancelled);
    r->is_cancelled = true;
    posted_.erase(it);
  }

  void cancel_send() {
    if (unexpected_.empty()) return;
    auto it = unexpected_.begin();
    std::advance(it, pick(static_cast<int>(unexpected_.size())));
    Send* s = *it;
    cancel(self_, s->request);
    progress(self_);
    ASSERT_TRUE(s->request.status().cancelled);
    s->is_over = true;
    unexpected_.erase(it);
  }

  void check_completions() {
    progress(self_);
    for (auto it = all_receives_.begin(); it != all_receives_.end();) {
      Receive& r = **it;
      ASSERT_EQ(r.request.is_complete(), r.from != nullptr || r.is_cancelled);
      if (r.from != nullptr) {
        const Status& status = r.request.status();
        EXPECT_EQ(status.source, r.from->key.source);
        EXPECT_EQ(status.tag, r.from->key.tag);
        ASSERT_EQ(status.bytes, static_cast<int64_t>(r.from->data.size() * 8));
        for (size_t i = 0; i < r.from->data.size(); ++i) {
          ASSERT_EQ(r.data[i], r.from->id);
        }
        r.from->id = -1;  // may be freed below
      }
      it = r.request.is_complete() ? all_receives_.erase(it) : std::next(it);
    }
    for (auto it = all_sends_.begin(); it != all_sends_.end();) {
      Send& s = **it;
      ASSERT_EQ(s.request.is_complete(), s.is_over || s.is_eager);
      it = s.is_over ? all_sends_.erase(it) : std::next(it);
    }
  }

  void finish() {
    while (!unexpected_.empty() && !testing::Test::HasFailure()) {
      const Key key = unexpected_.back()->key;
      Send* s = take_unexpected(key, true);
      auto owned = std::make_unique<Receive>();
      owned->data.assign(3000, -1);
      owned->from = s;
      s->is_over = true;
      start_recv(self_, owned->request,
                 from(key.source, owned->data.data(), 3000 * 8, key.tag, key.context));
      all_receives_.push_back(std::move(owned));
      check_completions();
    }
    while (!posted_.empty()) {
      cancel(self_, posted_.front()->request);
      posted_.front()->is_cancelled = true;
      posted_.pop_front();
    }
    check_completions();
  }

  job::Rank& self_;
  std::mt19937 random_;
  int64_t last_id_ = 0;
  std::list<Receive*> posted_;
  std::list<Send*> unexpected_;
  std::list<std::unique_ptr<Send>> all_sends_;
  std::list<std::unique_ptr<Receive>> all_receives_;
};

class RandomPrograms : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, RandomPrograms, testing::Values(1, 2));

TEST_P(RandomPrograms, AgreeWithTheModel) {
  const unsigned seed = seed_of_run();
  std::printf("MPC_TEST_SEED=%u\n", seed);
  for (unsigned round = 0; round < 10; ++round) {
    World world(1, GetParam());
    EXPECT_EQ(world.run([&](job::Rank& self) { Model(self, seed + round).play(2000); }),
              "");
    if (HasFailure()) break;
  }
}

// Every pair of ranks and tag is a stream; receives use wildcards; each stream must be in order.
TEST_P(RandomPrograms, KeepEveryStreamInOrder) {
  const unsigned seed = seed_of_run();
  std::printf("MPC_TEST_SEED=%u\n", seed);
  constexpr int kRanks = 5, kTags = 3, kMessages = 400;
  World world(kRanks, GetParam());
  const std::string left = world.run([&](job::Rank& self) {
    const int me = self.world_rank;
    std::mt19937 random(seed + static_cast<unsigned>(me));
    auto pick = [&](int n) {
      return static_cast<int>(random() % static_cast<unsigned>(n));
    };
    const Why why;
    constexpr size_t kWords[] = {1, 6, 30, 200, 1024, 2000};
    struct Out {
      std::vector<int64_t> data;
      Request request;
    };
    std::list<Out> outs;
    std::vector<int64_t> next_out(kRanks * kTags), next_in(kRanks * kTags);
    int received = 0, sent = 0;
    std::vector<int64_t> in(2000);
    auto receive = [&](int source, int tag) {
      const Status s = recv(self, from(source, in.data(), in.size() * 8, tag), why);
      const auto stream = static_cast<size_t>(s.source * kTags + s.tag);
      ASSERT_EQ(in[0], next_in[stream]++);
      ASSERT_EQ(in[static_cast<size_t>(s.bytes / 8 - 1)], in[0]);
      ++received;
    };
    // Each rank gets kMessages from each rank, itself included.
    const int total = kRanks * kMessages;
    while (sent < total || received < total) {
      if (sent < total && (received == total || pick(2) == 0)) {
        const int dest = sent % kRanks, tag = pick(kTags);
        Out& out = outs.emplace_back();
        out.data.assign(kWords[pick(6)],
                        next_out[static_cast<size_t>(dest * kTags + tag)]++);
        start_send(self, out.request,
                   to(dest, out.data.data(), out.data.size() * 8, tag, me,
                      pick(8) == 0 ? Mode::kSynchronous : Mode::kStandard));
        ++sent;
        while (!outs.empty() && outs.front().request.is_complete()) outs.pop_front();
      } else if (received < total) {
        Status s;
        if (sent == total) {
          receive(kAnySource, kAnyTag);
        } else if (iprobe(self, kAnySource, kContext, kAnyTag, &s)) {
          pick(2) == 0 ? receive(s.source, s.tag) : receive(kAnySource, s.tag);
        } else {
          relax(self);
        }
      }
    }
    for (auto& out : outs) wait(self, out.request, why);
  });
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace mpc::msg::test
