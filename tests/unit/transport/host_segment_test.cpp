// Segments of a host: how they are found, how a sleeper is woken, and what a killed sender leaves.
#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "runtime/transport/host/lane.h"
#include "runtime/transport/host/segment.h"
#include "tests/unit/transport/nets.h"

namespace mpc::transport::host {
namespace {

using test::message;

bool is_readable(int descriptor, int ms = 0) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, ms) == 1;
}

struct HostSegment : testing::Test {
  void SetUp() override {
    inbox = Inbox::make(kSenders, kSenders);
    ASSERT_NE(inbox, nullptr);
  }
  std::unique_ptr<RingReader> reader(int sender) {
    return std::unique_ptr<RingReader>(new RingReader(inbox->reader_of(sender)));
  }
  static constexpr int kSenders = 3;
  std::unique_ptr<Inbox> inbox;
};

TEST_F(HostSegment, IsFoundByItsNameAndHasARingForEachSender) {
  for (int sender = 0; sender < kSenders; ++sender) {
    const auto outbox = Outbox::open(inbox->name(), sender);
    ASSERT_NE(outbox, nullptr);
    Envelope envelope;
    envelope.id = static_cast<uint64_t>(sender) + 100;
    auto writer = outbox->writer();
    ASSERT_TRUE(writer.write(envelope, {}));
    for (int other = 0; other < kSenders; ++other)
      EXPECT_EQ(reader(other)->has_mail(), other <= sender);
  }
  EXPECT_EQ(Outbox::open(inbox->name(), kSenders), nullptr);
}

TEST_F(HostSegment, IsNotTakenForAnotherOne) {
  SegmentName wrong = inbox->name();
  ++wrong.mark.words[1];
  EXPECT_EQ(Outbox::open(wrong, 0), nullptr);
  wrong = inbox->name();
  wrong.memory.inode += 1;
  EXPECT_EQ(Outbox::open(wrong, 0), nullptr);
  wrong = inbox->name();
  wrong.memory.process_id = 0;
  EXPECT_EQ(Outbox::open(wrong, 0), nullptr);
  wrong = inbox->name();
  wrong.bell.number += 1000;
  EXPECT_EQ(Outbox::open(wrong, 0), nullptr);
  EXPECT_EQ(Outbox::open(SegmentName{}, 0), nullptr);
}

TEST_F(HostSegment, IsRungForOnlyWhileItsOwnerSleeps) {
  const auto outbox = Outbox::open(inbox->name(), 0);
  EXPECT_FALSE(outbox->must_ring());
  for (int i = 0; i < 3; ++i) {
    inbox->begin_sleep();
    EXPECT_TRUE(inbox->sleeps());
    EXPECT_TRUE(outbox->must_ring());
    EXPECT_FALSE(is_readable(inbox->descriptor()));
    EXPECT_TRUE(outbox->ring());
    EXPECT_TRUE(is_readable(inbox->descriptor()));
    EXPECT_FALSE(outbox->must_ring());  // once is enough
    inbox->wake_up();
    EXPECT_FALSE(inbox->sleeps());
    EXPECT_FALSE(is_readable(inbox->descriptor()));
    EXPECT_FALSE(outbox->must_ring());
  }
}

// Threads that send, and a receiver that sleeps whenever there is nothing: no wake-up is lost.
TEST_F(HostSegment, WakesItsOwnerForEveryMessage) {
  constexpr int kMessages = 20000, kLongMs = 10000;
  std::vector<std::thread> senders;
  for (int s = 0; s < kSenders; ++s)
    senders.emplace_back([this, s] {
      Lane lane(Outbox::open(inbox->name(), s));
      for (int i = 0; i < kMessages; ++i) {
        const std::vector<char> data = message(static_cast<size_t>(i % 300), i);
        Lane::Left left = lane.post({}, {data.data(), data.size(), nullptr});
        EXPECT_TRUE(!lane.must_ring() || lane.ring());
        while (left == Lane::Left::kSome) {
          std::this_thread::yield();
          left = lane.flush();
          EXPECT_TRUE(!lane.must_ring() || lane.ring());
        }
      }
    });
  std::unique_ptr<RingReader> readers[kSenders];
  int read[kSenders] = {}, wrong = 0, vain = 0;
  for (int s = 0; s < kSenders; ++s) readers[s] = reader(s);
  const auto has_mail = [&](std::memory_order order) {
    bool found = false;
    for (const auto& r : readers) found = found || r->has_mail(order);
    return found;
  };
  while (read[0] + read[1] + read[2] < kSenders * kMessages && vain == 0) {
    for (int s = 0; s < kSenders; ++s) {
      for (; readers[s]->has_mail(); ++read[s]) {
        const RingReader::Message found = readers[s]->front();
        const auto data = message(static_cast<size_t>(read[s] % 300), read[s]);
        wrong += found.bytes == data.size() &&
                         std::equal(data.begin(), data.end(),
                                    static_cast<const char*>(found.data))
                     ? 0
                     : 1;
        readers[s]->pop();
        readers[s]->give_back();
      }
    }
    inbox->begin_sleep();
    if (!has_mail(std::memory_order_seq_cst) &&
        read[0] + read[1] + read[2] < kSenders * kMessages)
      vain += is_readable(inbox->descriptor(), kLongMs) ? 0 : 1;
    inbox->wake_up();
  }
  EXPECT_EQ(vain, 0);
  EXPECT_EQ(wrong, 0);
  if (vain != 0) std::_Exit(1);  // the senders may wait for ever
  for (std::thread& sender : senders) sender.join();
}

// Each child is killed in the middle of its writing, wherever that is.
TEST_F(HostSegment, DeliversWholeMessagesOnlyAlthoughSendersAreKilled) {
  constexpr int kChildren = 30;
  for (int child = 0; child < kChildren; ++child) {
    inbox = Inbox::make(kSenders, kSenders);
    ASSERT_NE(inbox, nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto outbox = Outbox::open(inbox->name(), 0);
      if (outbox == nullptr) ::_exit(1);
      RingWriter writer = outbox->writer();
      for (uint64_t i = 0;; ++i) {
        const std::vector<char> data = message(i * 37 % 9000, static_cast<int>(i));
        Envelope envelope;
        envelope.id = i;
        while (!writer.write(envelope, {data.data(), data.size(), nullptr}))
          ::usleep(1);
      }
    }
    const auto doomed = reader(0), other = reader(1);
    Lane alive(Outbox::open(inbox->name(), 1));
    uint64_t read = 0, wrong = 0;
    const auto take = [&] {
      for (; doomed->has_mail(); ++read) {
        const RingReader::Message found = doomed->front();
        const auto data = message(read * 37 % 9000, static_cast<int>(read));
        wrong += found.is_sane && found.bytes == data.size() &&
                         std::equal(data.begin(), data.end(),
                                    static_cast<const char*>(found.data))
                     ? 0
                     : 1;
        doomed->pop();
        doomed->give_back();
      }
    };
    while (read < 100 + static_cast<uint64_t>(child) * 10) take();
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    take();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(alive.post({}, {}), Lane::Left::kNone);
    EXPECT_TRUE(other->has_mail());
  }
}

}  // namespace
}  // namespace mpc::transport::host
