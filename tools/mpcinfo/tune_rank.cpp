// The program of jobs that mpcinfo tune starts: measures the time of a collective, by size.
//
//     tune-rank allreduce:256,512
//
// Rank 0 prints a line "TUNE BYTES MICROSECONDS" for each size of a block.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Buffers {
  std::vector<double> in, out;
  int count = 0;  // doubles in a block or vector
};

void wait_for(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

using Run = void (*)(Buffers&);

constexpr struct {
  const char* name;
  Run run;
} kCalls[] = {
    {"allreduce",
     [](Buffers& b) {
       MPI_Allreduce(b.in.data(), b.out.data(), b.count, MPI_DOUBLE, MPI_SUM,
                     MPI_COMM_WORLD);
     }},
    {"allgather",
     [](Buffers& b) {
       MPI_Allgather(b.in.data(), b.count, MPI_DOUBLE, b.out.data(), b.count,
                     MPI_DOUBLE, MPI_COMM_WORLD);
     }},
    {"bcast",
     [](Buffers& b) {
       MPI_Bcast(b.in.data(), b.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
       MPI_Barrier(MPI_COMM_WORLD);  // so that no root runs ahead
     }},
    {"reduce",
     [](Buffers& b) {
       MPI_Reduce(b.in.data(), b.out.data(), b.count, MPI_DOUBLE, MPI_SUM, 0,
                  MPI_COMM_WORLD);
       MPI_Barrier(MPI_COMM_WORLD);
     }},
    {"gather",
     [](Buffers& b) {
       MPI_Gather(b.in.data(), b.count, MPI_DOUBLE, b.out.data(), b.count, MPI_DOUBLE,
                  0, MPI_COMM_WORLD);
       MPI_Barrier(MPI_COMM_WORLD);
     }},
    {"iallreduce",
     [](Buffers& b) {
       MPI_Request request;
       MPI_Iallreduce(b.in.data(), b.out.data(), b.count, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD, &request);
       wait_for(&request);
     }},
    {"iallgather",
     [](Buffers& b) {
       MPI_Request request;
       MPI_Iallgather(b.in.data(), b.count, MPI_DOUBLE, b.out.data(), b.count,
                      MPI_DOUBLE, MPI_COMM_WORLD, &request);
       wait_for(&request);
     }},
    {"ialltoall",
     [](Buffers& b) {
       MPI_Request request;
       MPI_Ialltoall(b.in.data(), b.count, MPI_DOUBLE, b.out.data(), b.count,
                     MPI_DOUBLE, MPI_COMM_WORLD, &request);
       wait_for(&request);
     }},
    {"ireduce_scatter_block",
     [](Buffers& b) {
       MPI_Request request;
       MPI_Ireduce_scatter_block(b.in.data(), b.out.data(), b.count, MPI_DOUBLE,
                                 MPI_SUM, MPI_COMM_WORLD, &request);
       wait_for(&request);
     }},
};

// Seconds that the slowest rank takes.
double batch_s(Run run, Buffers& buffers, long rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) run(buffers);
  double mine = MPI_Wtime() - begin, slowest = mine;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

// The lower quartile: disturbances only lengthen batches.
double time_us(Run run, Buffers& buffers) {
  constexpr double kBatchS = 0.001;
  constexpr int kBatches = 12;
  long rounds = 1;
  while (batch_s(run, buffers, rounds) < kBatchS) rounds *= 2;
  std::vector<double> times;
  for (int i = 0; i < kBatches; ++i) times.push_back(batch_s(run, buffers, rounds));
  std::nth_element(times.begin(), times.begin() + kBatches / 4, times.end());
  return 1e6 * times[kBatches / 4] / static_cast<double>(rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string what = argv[1];
  const size_t colon = std::min(what.find(':'), what.size());
  const auto* const found = std::find_if(
      std::begin(kCalls), std::end(kCalls),
      [&](const auto& call) { return what.substr(0, colon) == call.name; });
  if (found == std::end(kCalls)) return 2;
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* at = what.c_str() + std::min(colon + 1, what.size());
  for (char* end = nullptr; *at != 0; at = *end == ',' ? end + 1 : end) {
    const long bytes = std::strtol(at, &end, 10);
    if (end == at || bytes < 8) break;
    Buffers buffers;
    buffers.count = static_cast<int>(bytes / 8);
    const auto all = static_cast<size_t>(buffers.count) * static_cast<size_t>(ranks);
    buffers.in.assign(all, 1.0);
    buffers.out.assign(all, 0.0);
    const double us = time_us(found->run, buffers);
    if (rank == 0) std::printf("TUNE %ld %.6f\n", bytes, us);
  }
  MPI_Finalize();
  return 0;
}
