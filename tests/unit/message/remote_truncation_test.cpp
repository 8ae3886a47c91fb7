// A message that is longer than its receive: what comes of it between processes, and within one.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

class Truncation : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Truncation, testing::Values(0, 1, 2, 3));

struct Cut {
  bool failed;
  Errc error;
  int64_t bytes;
  std::vector<int> buffer;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// All that receives into `count` elements of `type` get of messages that are longer.
std::vector<Cut> receive_too_little(World& world, Count count,
                                    const dt::Datatype& type) {
  std::vector<Cut> cuts;
  const std::string left = world.run([&](job::Rank& me) {
    const Why why;
    for (const size_t bytes : {size_t{80}, size_t{8000}, size_t{100000}}) {
      for (int how = 0; how < 4; ++how) {
        std::vector<char> data(bytes);
        for (size_t i = 0; i < bytes; ++i)
          data[i] = static_cast<char>(i * 7 + static_cast<size_t>(how));
        const Mode mode = how / 2 != 0 ? Mode::kSynchronous : Mode::kStandard;
        Request r;
        if (me.world_rank == 0) {
          if (how % 2 != 0) recv(me, from(1, nullptr, 0, 2), why);
          start_send(me, r, to(1, data.data(), bytes, 1, 0, mode));
          wait(me, r, why);
          EXPECT_FALSE(r.status().failed || r.status().cancelled);
          continue;
        }
        while (how % 2 == 0 && !iprobe(me, 0, kContext, 1, nullptr)) {
          progress(me);
          relax(me);
        }
        std::vector<int> in(30000, -1);
        start_recv(me, r, {in.data(), count, &type, 0, kContext, 1});
        if (how % 2 != 0) send(me, to(0, nullptr, 0, 2, 1), why);
        wait(me, r, why);
        const Status& s = r.status();
        cuts.push_back({s.failed, s.error, s.bytes, in});
      }
    }
  });
  EXPECT_EQ(left, "");
  return cuts;
}

TEST_P(Truncation, CutsAMessageAsWithinAProcess) {
  const auto every_second = *dt::make_vector(17, 1, 2, *int_type());
  struct {
    Count count;
    const dt::Datatype* type;
  } const buffers[] = {{0, int_type()},          {1, int_type()},
                       {19, int_type()},         {1900, int_type()},
                       {1, every_second.get()},  {29, every_second.get()},
                       {880, every_second.get()}};
  for (const auto& [count, type] : buffers) {
    World near(2, 2), far(2, 2);
    near.with_processes(1);
    far.with_processes(2, GetParam());
    const auto expected = receive_too_little(near, count, *type);
    ASSERT_EQ(expected.size(), 12u);
    EXPECT_EQ(receive_too_little(far, count, *type), expected) << count;
  }
}

}  // namespace
}  // namespace mpc::msg::test
