#pragma once
// NetContract: the fixture of all tests that every network has to pass.
//
// Role:      opens some ends of one kind of network, each with a receiver; at the end nothing has been
//            reported, and no receiver was entered twice.
// Users:     tests/unit/transport.
// Threads:   the test's.
// See also:  runtime/transport/net.h.

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/transport/nets.h"

namespace mpc::transport::test {

inline constexpr int kTwo = 2;

inline Envelope envelope_of(uint64_t id, size_t bytes) {
  Envelope e;
  e.dest_world = 3;
  e.context = 0x89abcdef;
  e.source = 5;
  e.tag = -7;
  e.sequence = static_cast<uint32_t>(id);
  e.kind = PacketKind::kEager;
  e.flag = id % 2 != 0;
  e.id = id;
  e.bytes = bytes;
  return e;
}

inline Source contiguous(const std::vector<char>& data) {
  return {data.data(), data.size(), nullptr};
}
class NetContract : public testing::TestWithParam<Kind> {
 protected:
  void open(int processes, unsigned refuse_one_of = 0) {
    TearDown();  // networks that were open still write to their inboxes
    processes_ = processes;
    inboxes_ = std::deque<Inbox>(static_cast<size_t>(processes));
    ASSERT_EQ(Nets::make(GetParam(), processes, nets_), "");
    std::vector<Receiver*> receivers;
    for (Inbox& inbox : inboxes_) {
      inbox.refuse_one_of(refuse_one_of, GetParam().seed + 1);
      receivers.push_back(&inbox);
    }
    ASSERT_EQ(nets_->start(receivers), "");
  }
  void TearDown() override {
    if (nets_ == nullptr) return;
    EXPECT_EQ(nets_->problems(), std::vector<std::string>());
    nets_.reset();
    for (Inbox& inbox : inboxes_) EXPECT_FALSE(inbox.was_entered_twice());
  }
  Net& net(int p) { return nets_->net(p); }
  Inbox& inbox(int p) { return inboxes_[static_cast<size_t>(p)]; }
  bool wait_for(const std::function<bool()>& condition) {
    return eventually(*nets_, processes_, condition);
  }
  // The arrival of the offer that process 0 makes to process 1.
  Arrival offer(const Source& source, Completion& completion) {
    net(0).offer(1, envelope_of(1, source.bytes), source, completion);
    EXPECT_TRUE(wait_for([&] { return inbox(1).count() != 0; }));
    std::vector<Arrival> arrivals = inbox(1).all();
    return arrivals.empty() ? Arrival{} : arrivals[0];
  }
  std::vector<size_t> sizes_around_the_limit(int peer) {
    const size_t limit = net(0).limits(peer).eager_bytes;
    return {0,   1,   7,    8,    31,        32,        33,   64,
            100, 500, 1000, 4096, limit / 2, limit - 1, limit};
  }

  int processes_ = 0;
  std::unique_ptr<Nets> nets_;
  std::deque<Inbox> inboxes_;
};

}  // namespace mpc::transport::test
