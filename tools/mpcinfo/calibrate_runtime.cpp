#include "tools/mpcinfo/calibrate_runtime.h"

#include <mpc/schedule.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace mpc::tools {

namespace {

constexpr int kRounds = 41;
constexpr int kFew = 8, kMany = 136;    // nodes or messages
constexpr MPI_Count kBytes = 16 << 10;  // sent in the way of large messages

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The lower quartile: disturbances only lengthen rounds.
template <class Round>
double time_us(Round&& round) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const double begin = now_us();
    round();
    times.push_back(now_us() - begin);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 4, times.end());
  return times[kRounds / 4];
}

// A schedule that this tool has built; failures are fatal in MPI.
class Own {
 public:
  Own() { MPCX_Builder_create(MPI_COMM_SELF, &builder_); }
  ~Own() { MPCX_Schedule_free(&schedule_); }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
  MPCX_Builder builder() const { return builder_; }
  double run_us() {
    MPCX_Commit(&builder_, &schedule_);
    return time_us([this] {
      MPI_Request request;
      MPCX_Schedule_start(schedule_, &request);
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): it knows only MPI's own calls
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
  }

 private:
  MPCX_Builder builder_ = MPCX_BUILDER_NULL;
  MPCX_Schedule schedule_ = MPCX_SCHEDULE_NULL;
};

double chain_us(int nodes) {
  Own own;
  char from = 1, to = 0;
  MPCX_Node last = MPCX_NODE_NULL;
  for (int i = 0; i < nodes; ++i) {
    MPCX_Node node;
    MPCX_Copy(own.builder(), &from, 1, MPI_CHAR, &to, 1, MPI_CHAR, &node);
    MPCX_Connect(own.builder(), last, node);
    last = node;
  }
  return own.run_us();
}

// Sends messages to itself, one after the other, into buffers that stay in the cache.
double messages_us(int count, std::vector<char>& from, std::vector<char>& to) {
  Own own;
  MPCX_Node last = MPCX_NODE_NULL;
  for (int i = 0; i < count; ++i) {
    MPCX_Node sent, received;
    MPCX_Recv(own.builder(), to.data(), kBytes, MPI_CHAR, 0, i, &received);
    MPCX_Send(own.builder(), from.data(), kBytes, MPI_CHAR, 0, i, &sent);
    MPCX_Connect(own.builder(), last, sent);
    MPCX_Connect(own.builder(), last, received);
    last = received;
  }
  return own.run_us();
}

// Runs collectives of one rank, of one node each.
double collectives_us(int count) {
  double in = 1, out = 0;
  return time_us([&] {
    for (int i = 0; i < count; ++i) {
      MPI_Request request;
      MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  });
}

}  // namespace

RuntimeCosts calibrate_runtime() {
  MPI_Init(nullptr, nullptr);
  RuntimeCosts costs;
  constexpr double kMore = kMany - kFew;
  costs.node_us = std::max(0.0, (chain_us(kMany) - chain_us(kFew)) / kMore);
  std::vector<char> from(kBytes, 1), to(kBytes);
  const double copy_us = time_us([&] {
                           for (int i = 0; i < kMany; ++i) {
                             std::memcpy(to.data(), from.data(), kBytes);
                             asm volatile("" : : "r"(to.data()) : "memory");
                           }
                         }) /
                         kMany;
  const double message_us =
      (messages_us(kMany, from, to) - messages_us(kFew, from, to)) / kMore;
  costs.message_us = std::max(0.0, message_us - copy_us - 2 * costs.node_us);
  costs.call_us = std::max(0.0, collectives_us(kMany) / kMany - costs.node_us);
  MPI_Finalize();
  return costs;
}

}  // namespace mpc::tools
