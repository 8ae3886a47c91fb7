// The ring between two processes of one host, both ends in one thread, or in two.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/transport/host/ring.h"
#include "tests/unit/transport/nets.h"

namespace mpc::transport::host {
namespace {

using test::message;

constexpr RingShape kSmall{8, 4096};
constexpr size_t kSizes[] = {0, 1, 8, 71, 72, 73, 128, 500, 1000, 2048};

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

class HostRing : public testing::Test {
 protected:
  explicit HostRing(const RingShape& shape = kSmall)
      : memory_(std::aligned_alloc(kLineBytes, shape.bytes())) {
    std::memset(memory_.get(), 0, shape.bytes());
    writer_ = std::make_unique<RingWriter>(memory_.get(), shape);
    reader_.reset(new RingReader(memory_.get(), shape));
  }
  // Its length and its data follow from its number.
  static size_t bytes_of(uint64_t number) {
    return kSizes[number * 7 % std::size(kSizes)];
  }
  bool write(uint64_t number) {
    const std::vector<char> data = message(bytes_of(number), static_cast<int>(number));
    Envelope envelope;
    envelope.id = number;
    return writer_->write(envelope, {data.data(), data.size(), nullptr});
  }
  bool is_next(uint64_t number) {
    const RingReader::Message found = reader_->front();
    Envelope envelope;
    if (!found.is_sane || !decode(found.envelope, kEnvelopeBytes, &envelope))
      return false;
    const std::vector<char> data = message(bytes_of(number), static_cast<int>(number));
    return envelope.id == number && found.bytes == data.size() &&
           (data.empty() || std::memcmp(found.data, data.data(), data.size()) == 0);
  }
  Cell& cell(uint64_t number) { return RingMemory(memory_.get(), kSmall).cell(number); }

  std::unique_ptr<void, Free> memory_;
  std::unique_ptr<RingWriter> writer_;
  std::unique_ptr<RingReader> reader_;
};

TEST_F(HostRing, ShowsEachMessageOnceInOrder) {
  for (uint64_t i = 0; i < 10000; ++i) {
    EXPECT_FALSE(reader_->has_mail());
    ASSERT_TRUE(write(i));
    ASSERT_TRUE(reader_->has_mail());
    ASSERT_TRUE(is_next(i)) << i;
    reader_->pop();
    reader_->give_back();
  }
}

TEST_F(HostRing, TakesNoMoreThanItHasRoomForAndGoesOnWhenThereIsRoomAgain) {
  std::mt19937_64 random(1);
  uint64_t written = 0, read = 0;
  while (read < 20000) {
    while (write(written)) ++written;
    ASSERT_GT(written, read);
    ASSERT_LE(written - read, kSmall.cells);
    for (uint64_t n = 1 + random() % (written - read); n != 0; --n, ++read) {
      ASSERT_TRUE(reader_->has_mail());
      ASSERT_TRUE(is_next(read)) << read;
      reader_->pop();
    }
    reader_->give_back();
  }
  for (; read < written; ++read) {
    ASSERT_TRUE(is_next(read));
    reader_->pop();
  }
  EXPECT_FALSE(reader_->has_mail());
}

TEST_F(HostRing, HasRoomForAMessageOfTheGreatestLengthWhereverItEnds) {
  const std::vector<char> data = message(kSmall.most_message_bytes(), 3);
  for (size_t before = 0; before < 300; ++before) {
    ASSERT_TRUE(write(before));
    reader_->pop();
    reader_->give_back();
    ASSERT_TRUE(writer_->write({}, {data.data(), data.size(), nullptr}));
    const RingReader::Message found = reader_->front();
    ASSERT_TRUE(found.is_sane);
    ASSERT_EQ(std::memcmp(found.data, data.data(), data.size()), 0);
    reader_->pop();
    reader_->give_back();
  }
}

// As if the writer had been killed: everything is there, but not the end of it.
TEST_F(HostRing, ShowsNoMessageWhoseWriterDiedInTheMiddle) {
  for (uint64_t i = 0; i < uint64_t{3} * kSmall.cells; ++i) {
    const uint32_t lap_before = cell(i).lap.load();
    ASSERT_TRUE(write(i));
    const uint32_t lap = cell(i).lap.exchange(lap_before);
    EXPECT_FALSE(reader_->has_mail());
    cell(i).lap.store(lap);
    ASSERT_TRUE(reader_->has_mail());
    reader_->pop();
    reader_->give_back();
  }
}

TEST_F(HostRing, SaysThatALengthOrAPlaceIsNotOurs) {
  ASSERT_TRUE(write(0));
  for (const uint32_t bytes : {kSmall.data_bytes + 1, UINT32_MAX}) {
    cell(0).kind_and_bytes = bytes;
    EXPECT_FALSE(reader_->front().is_sane);
  }
  const uint64_t near_the_end = kSmall.data_bytes - 64;
  std::memcpy(cell(0).data, &near_the_end, sizeof near_the_end);
  cell(0).kind_and_bytes = 100;
  EXPECT_FALSE(reader_->front().is_sane);
}

// ThreadSanitizer follows this one: both ends are in one mapping.
TEST_F(HostRing, CarriesEverythingBetweenTwoThreads) {
  constexpr uint64_t kMessages = 60000;
  uint64_t wrong = 0;
  std::thread reader([&] {
    std::mt19937_64 random(2);
    for (uint64_t read = 0; read < kMessages;) {
      if (!reader_->has_mail()) {
        std::this_thread::yield();
        continue;
      }
      wrong += is_next(read) ? 0 : 1;
      reader_->pop();
      ++read;
      if (random() % 3 == 0) reader_->give_back();
      if (read % kSmall.cells == 0 || !reader_->has_mail()) reader_->give_back();
    }
  });
  for (uint64_t i = 0; i < kMessages; ++i)
    while (!write(i)) std::this_thread::yield();
  reader.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace mpc::transport::host
