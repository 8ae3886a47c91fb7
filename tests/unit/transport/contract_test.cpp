// What every network does that runtime/message uses: the contract of runtime/transport/net.h.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/unit/transport/contract.h"

namespace mpc::transport::test {
namespace {

// Every second byte of a memory: what "packed" stands for here.
void pack_every_second(const void* data, size_t offset, void* out, size_t n) noexcept {
  const char* const from = static_cast<const char*>(data) + 2 * offset;
  for (size_t i = 0; i < n; ++i) static_cast<char*>(out)[i] = from[2 * i];
}
void unpack_every_second(void* data, size_t offset, const void* in, size_t n) noexcept {
  char* const to = static_cast<char*>(data) + 2 * offset;
  for (size_t i = 0; i < n; ++i) to[2 * i] = static_cast<const char*>(in)[i];
}

std::vector<char> spread(const std::vector<char>& data) {
  std::vector<char> out(2 * data.size());
  for (size_t i = 0; i < data.size(); ++i) out[2 * i] = data[i];
  return out;
}

Source packed(const std::vector<char>& data) {
  return {data.data(), data.size() / 2, &pack_every_second};
}

TEST_P(NetContract, WhatIsPostedArrivesOnceAndWhole) {
  open(kTwo);
  EXPECT_GE(net(0).limits(1).eager_bytes, 1024U);
  const std::vector<size_t> sizes = sizes_around_the_limit(1);
  constexpr size_t kRounds = 20;
  for (size_t i = 0; i < kRounds * sizes.size(); ++i) {
    for (const int from : {0, 1}) {
      std::vector<char> data = message(sizes[i % sizes.size()], static_cast<int>(i));
      net(from).post(1 - from, envelope_of(i, data.size()), contiguous(data));
      std::fill(data.begin(), data.end(), 'x');  // it is ours again
    }
  }
  const size_t count = kRounds * sizes.size();
  ASSERT_TRUE(
      wait_for([&] { return inbox(0).count() == count && inbox(1).count() == count; }));
  for (const int to : {0, 1}) {
    std::set<uint64_t> seen;
    for (const Arrival& a : inbox(to).all()) {
      EXPECT_EQ(a.from, 1 - to);
      EXPECT_EQ(a.bulk, 0U);
      const size_t i = a.envelope.id;
      ASSERT_LT(i, count);
      EXPECT_TRUE(seen.insert(i).second) << i;
      char expected[kEnvelopeBytes], found[kEnvelopeBytes];
      encode(envelope_of(i, a.data.size()), expected);
      encode(a.envelope, found);
      EXPECT_EQ(std::memcmp(expected, found, kEnvelopeBytes), 0);
      ASSERT_EQ(a.data, message(sizes[i % sizes.size()], static_cast<int>(i))) << i;
    }
  }
}

TEST_P(NetContract, PackedDataLeaveWhileTheyArePosted) {
  open(kTwo);
  const std::vector<size_t> sizes = sizes_around_the_limit(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<char> data = spread(message(sizes[i], static_cast<int>(i)));
    net(0).post(1, envelope_of(i, sizes[i]), packed(data));
    std::fill(data.begin(), data.end(), 'x');
  }
  ASSERT_TRUE(wait_for([&] { return inbox(1).count() == sizes.size(); }));
  for (const Arrival& a : inbox(1).all())
    EXPECT_EQ(a.data, message(sizes[a.envelope.id], static_cast<int>(a.envelope.id)));
}

// More than the networks have room for: some wait inside of it.
TEST_P(NetContract, AFloodArrivesWhole) {
  open(kTwo);
  constexpr size_t kCount = 3000;
  const size_t limit = net(0).limits(1).eager_bytes;
  for (size_t i = 0; i < kCount; ++i) {
    std::vector<char> data = message(i % 2 != 0 ? limit : 8, static_cast<int>(i));
    net(0).post(1, envelope_of(i, data.size()), contiguous(data));
    std::fill(data.begin(), data.end(), 'x');
  }
  ASSERT_TRUE(wait_for([&] { return inbox(1).count() == kCount; }));
  std::set<uint64_t> seen;
  for (const Arrival& a : inbox(1).all()) {
    EXPECT_TRUE(seen.insert(a.envelope.id).second);
    ASSERT_EQ(a.data, message(a.data.size(), static_cast<int>(a.envelope.id)));
  }
}

TEST_P(NetContract, AnOfferIsFetchedFromAndIntoAnyLayout) {
  open(kTwo);
  const size_t limit = net(0).limits(1).eager_bytes;
  int seed = 0;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, limit, limit + 1,
                             size_t{65536}, size_t{1048579}, size_t{5000000}}) {
    for (const bool is_packed : {false, true}) {
      for (const bool is_unpacked : {false, true}) {
        const std::vector<char> data = message(bytes, ++seed);
        const std::vector<char> out = is_packed ? spread(data) : data;
        Counted sent, fetched;
        const Arrival a = offer(is_packed ? packed(out) : contiguous(out), sent);
        ASSERT_NE(a.bulk, 0U);
        EXPECT_EQ(a.envelope.bytes, bytes);
        EXPECT_FALSE(sent.is_done());
        std::vector<char> in(is_unpacked ? 2 * bytes : bytes);
        net(1).fetch(0, a.bulk,
                     {in.data(), bytes, is_unpacked ? &unpack_every_second : nullptr},
                     fetched);
        ASSERT_TRUE(wait_for([&] { return sent.is_done() && fetched.is_done(); }));
        EXPECT_EQ(sent.outcome, Outcome::kDone);
        EXPECT_EQ(fetched.outcome, Outcome::kDone);
        ASSERT_EQ(in, is_unpacked ? spread(data) : data) << bytes;
      }
    }
  }
}

TEST_P(NetContract, TheSenderLearnsThatItsOfferWasRefused) {
  open(kTwo);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100000}}) {
    for (const bool is_packed : {false, true}) {
      const std::vector<char> data = message(2 * bytes, 1);
      Counted sent;
      const Source source =
          is_packed ? packed(data) : Source{data.data(), bytes, nullptr};
      const Arrival a = offer(source, sent);
      net(1).refuse(0, a.bulk);
      ASSERT_TRUE(wait_for([&] { return sent.is_done(); }));
      EXPECT_EQ(sent.outcome, Outcome::kRefused);
    }
  }
}

TEST_P(NetContract, AForgottenOfferIsGoneForWhoFetchesIt) {
  for (const bool is_refused : {false, true}) {
    open(kTwo);
    const Sleepers sleepers(*nets_, kTwo);
    Counted sent, fetched;
    std::vector<char> in(100000);
    {
      const std::vector<char> data = message(100000, 1);
      const Arrival a = offer(contiguous(data), sent);
      net(0).forget(sent);
      if (is_refused) {
        net(1).refuse(0, a.bulk);
        fetched.outcome = Outcome::kGone;
        ++fetched.times;
      } else {
        net(1).fetch(0, a.bulk, {in.data(), in.size(), nullptr}, fetched);
      }
    }
    ASSERT_TRUE(wait_for([&] { return fetched.is_done(); }));
    EXPECT_EQ(fetched.outcome, Outcome::kGone);
    EXPECT_EQ(sent.times, 0);
  }
}

// Before the other process can have seen it.
TEST_P(NetContract, AnOfferMayBeForgottenAtOnce) {
  open(kTwo);
  const Sleepers sleepers(*nets_, kTwo);
  constexpr size_t kCount = 50;
  for (size_t i = 0; i < kCount; ++i) {
    Counted sent;
    const std::vector<char> data = message(50000, 1);
    net(0).offer(1, envelope_of(i, data.size()), contiguous(data), sent);
    net(0).forget(sent);
    EXPECT_EQ(sent.times, 0);
  }
  ASSERT_TRUE(wait_for([&] { return inbox(1).count() == kCount; }));
  for (const Arrival& a : inbox(1).all()) {
    Counted fetched;
    std::vector<char> in(50000);
    net(1).fetch(0, a.bulk, {in.data(), in.size(), nullptr}, fetched);
    ASSERT_TRUE(wait_for([&] { return fetched.is_done(); }));
    EXPECT_EQ(fetched.outcome, Outcome::kGone);
  }
}

TEST_P(NetContract, AForgottenFetchLeavesItsMemoryAlone) {
  open(kTwo);
  const Sleepers sleepers(*nets_, kTwo);
  for (int i = 0; i < 20; ++i) {
    const std::vector<char> data = message(3000000, i);
    Counted sent, fetched;
    const Arrival a = offer(contiguous(data), sent);
    {
      std::vector<char> in(data.size());
      net(1).fetch(0, a.bulk, {in.data(), in.size(), nullptr}, fetched);
      net(1).forget(fetched);
    }
    EXPECT_LE(fetched.times, 1);
    ASSERT_TRUE(wait_for([&] { return sent.is_done(); }));
    EXPECT_EQ(sent.outcome, Outcome::kDone);
  }
}

TEST_P(NetContract, WhatTheReceiverDoesNotTakeIsOfferedAgain) {
  open(kTwo, 2);
  constexpr size_t kCount = 200;
  Counted sent[kCount];
  const std::vector<char> data = message(20000, 1);
  for (size_t i = 0; i < kCount; ++i) {
    if (i % 2 == 0) {
      net(0).post(1, envelope_of(i, 1000), {data.data(), 1000, nullptr});
    } else {
      net(0).offer(1, envelope_of(i, data.size()), contiguous(data), sent[i]);
    }
  }
  ASSERT_TRUE(wait_for([&] { return inbox(1).count() == kCount; }));
  std::set<uint64_t> seen;
  for (const Arrival& a : inbox(1).all()) {
    EXPECT_TRUE(seen.insert(a.envelope.id).second);
    if (a.bulk == 0) {
      EXPECT_EQ(a.data, message(1000, 1));
    } else {
      net(1).refuse(0, a.bulk);
    }
  }
  for (size_t i = 1; i < kCount; i += 2)
    EXPECT_TRUE(wait_for([&] { return sent[i].is_done(); }));
}

std::string name_of(const testing::TestParamInfo<Kind>& parameter) {
  return parameter.param.name;
}

INSTANTIATE_TEST_SUITE_P(Loopback, NetContract,
                         testing::Values(Kind{"InOrder", nullptr, 0, true},
                                         Kind{"Reordering", nullptr, 5, true}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Bridge, NetContract,
                         testing::Values(Kind{"Sockets", kSockets, 0, true},
                                         Kind{"Streams", kStreams, 0, true}),
                         name_of);
#ifdef MPC_TEST_NET_MODULE
INSTANTIATE_TEST_SUITE_P(
    Ucx, NetContract,
    testing::Values(Kind{"OwnChoice", "", 0, true},
                    Kind{"SharedMemoryWithoutCma", "posix,self", 0, true},
                    Kind{"TcpOfOneHost", "tcp,self", 0, true},
                    Kind{"TcpOfTwoHosts", "tcp,self", 0, false, false, true}),
    name_of);
INSTANTIATE_TEST_SUITE_P(Host, NetContract,
                         testing::Values(Kind{"SegmentOverUcx", "", 0, true, true},
                                         Kind{"SegmentOverTcp", "tcp,self", 0, false,
                                              true}),
                         name_of);
#endif

}  // namespace
}  // namespace mpc::transport::test
