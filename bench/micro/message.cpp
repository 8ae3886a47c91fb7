// Latency, rate and matching of runtime/message, with the machine's own floor beside them.
//
//   bench_message [latency|local|rate|depth|all] [bytes [rounds]]
//
// Floors (cache-line ping-pong, one memcpy between the cores with the same buffers) alternate with
// the measurements that they bound.
// Numbers of one run may be compared with each other, not with those of another machine.

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/settings.h"
#include "tests/unit/message/world.h"

namespace mpc::msg::test {
namespace {

// Short rounds, so that many of them run undisturbed on a machine with other work. The figure
// is the tenth percentile: the time that the code needs when no other program takes its core away.
int g_rounds = 300;
size_t g_only_bytes = SIZE_MAX;  // all sizes
const Why kWhy("a benchmark");

bool wants(size_t bytes) { return g_only_bytes == SIZE_MAX || bytes == g_only_bytes; }

double typical(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 10];
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

struct alignas(128) Line {
  std::atomic<uint64_t> value{0};
};

// One way of a ping-pong through one line, or through one line each way.
double floor_ns(bool two_lines) {
  static Line lines[2];
  lines[0].value = lines[1].value = 0;
  const uint64_t kIterations = 200;
  Line& there = lines[0];
  Line& back = two_lines ? lines[1] : lines[0];
  std::thread other([&] {
    pin(1);
    for (uint64_t i = 1; i <= g_rounds * kIterations; ++i) {
      while (there.value.load(std::memory_order_acquire) != 2 * i - 1) {
      }
      back.value.store(2 * i, std::memory_order_release);
    }
  });
  std::vector<double> samples;
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  pin(0);
  uint64_t start = sched::now_ns();
  for (uint64_t i = 1; i <= g_rounds * kIterations; ++i) {
    there.value.store(2 * i - 1, std::memory_order_release);
    while (back.value.load(std::memory_order_acquire) != 2 * i) {
    }
    if (i % kIterations == 0) {
      const uint64_t end = sched::now_ns();
      samples.push_back(static_cast<double>(end - start) / (2.0 * kIterations));
      start = end;
    }
  }
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  return typical(samples);
}

// The number of exchanges of a round: some 50 us, or one exchange.
uint64_t iterations_for(size_t bytes) {
  if (bytes <= 1024) return 200;
  return bytes <= 65536 ? 10 : 1;
}
int rounds_for(size_t bytes) { return bytes <= 65536 ? g_rounds : 100; }

struct Buffers {
  std::vector<char> data[2][2];  // [rank][out, in]
  explicit Buffers(size_t bytes) {
    for (auto& rank : data)
      for (auto& b : rank) b.assign(bytes + 64, 'a');
  }
  char* out(int r) { return data[r][0].data(); }
  char* in(int r) { return data[r][1].data(); }
};

// The receiver copies out of the sender's buffer as soon as a flag says so.
double memcpy_floor_us(size_t bytes) {
  static Line lines[2];
  lines[0].value = lines[1].value = 0;
  Buffers buffers(bytes);
  const uint64_t n = iterations_for(bytes);
  std::vector<double> samples;
  auto play = [&](int me) {
    pin(me);
    uint64_t start = sched::now_ns();
    for (uint64_t i = 1; i <= n * static_cast<uint64_t>(rounds_for(bytes)); ++i) {
      if (me == 0) lines[0].value.store(i, std::memory_order_release);
      while (lines[1 - me].value.load(std::memory_order_acquire) != i) {
      }
      std::memcpy(buffers.in(me), buffers.out(1 - me), bytes);
      if (me == 1) lines[1].value.store(i, std::memory_order_release);
      if (me == 0 && i % n == 0) {
        const uint64_t end = sched::now_ns();
        samples.push_back(static_cast<double>(end - start) /
                          (2e3 * static_cast<double>(n)));
        start = end;
      }
    }
  };
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  std::thread other(play, 1);
  play(0);
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  return typical(samples);
}

double ping_pong_ns(int workers, size_t bytes) {
  World world(2, workers);
  Buffers buffers(bytes);
  std::vector<double> samples;
  const uint64_t n = iterations_for(bytes);
  world.run([&](job::Rank& self) {
    const int me = self.world_rank, other = 1 - me;
    auto round = [&] {
      for (uint64_t i = 0; i < n; ++i) {
        if (me == 0) send(self, to(other, buffers.out(me), bytes, 1, me), kWhy);
        recv(self, from(other, buffers.in(me), bytes, 1), kWhy);
        if (me == 1) send(self, to(other, buffers.out(me), bytes, 1, me), kWhy);
      }
    };
    for (int r = 0; r < rounds_for(bytes); ++r) {
      const uint64_t start = sched::now_ns();
      round();
      const uint64_t end = sched::now_ns();
      if (me == 0) {
        samples.push_back(static_cast<double>(end - start) /
                          (2.0 * static_cast<double>(n)));
      }
    }
  });
  return typical(samples);
}

// Windows of 64 nonblocking messages, each window answered.
double rate_per_us(int workers, size_t bytes) {
  constexpr size_t kWindow = 64;
  World world(2, workers);
  Buffers buffers(bytes * kWindow);
  std::vector<double> samples;
  const int n = 5;
  world.run([&](job::Rank& self) {
    const int me = self.world_rank, other = 1 - me;
    std::vector<Request> requests(kWindow);
    for (int r = 0; r < g_rounds; ++r) {
      const uint64_t start = sched::now_ns();
      for (int i = 0; i < n; ++i) {
        for (size_t k = 0; k < kWindow; ++k) {
          char* data = buffers.data[me][0].data() + k * bytes;
          if (me == 0) {
            start_send(self, requests[k], to(other, data, bytes, 1, me));
          } else {
            start_recv(self, requests[k], from(other, data, bytes, 1));
          }
        }
        for (size_t k = 0; k < kWindow; ++k) wait(self, requests[k], kWhy);
        if (me == 0) {
          recv(self, from(other, nullptr, 0, 2), kWhy);
        } else {
          send(self, to(other, nullptr, 0, 2, me), kWhy);
        }
      }
      const uint64_t end = sched::now_ns();
      if (me == 0) {
        samples.push_back(static_cast<double>(end - start) /
                          (static_cast<double>(n) * kWindow * 1e3));
      }
    }
  });
  return 1 / typical(samples);
}

enum class Depth { kPosted, kUnexpected, kPostedWild, kUnexpectedWild };

// One way of a ping-pong of one rank with itself, with `depth` other entries in the queue.
double depth_ns(Depth what, int depth) {
  World world(1, 1);
  double result = 0;
  world.run([&](job::Rank& self) {
    std::vector<Request> requests(static_cast<size_t>(depth));
    std::vector<Request> sends(static_cast<size_t>(depth));
    int value = 1;
    const bool is_posted = what == Depth::kPosted || what == Depth::kPostedWild;
    const bool is_wild = what == Depth::kPostedWild || what == Depth::kUnexpectedWild;
    for (int i = 0; i < depth; ++i) {
      const auto k = static_cast<size_t>(i);
      const int source = what == Depth::kPostedWild ? kAnySource : 0;
      if (is_posted) {
        start_recv(self, requests[k], from(source, &value, 4, 10 + i));
      } else {
        start_send(self, sends[k], to(0, &value, 4, 10 + i, 0));
      }
    }
    constexpr int n = 100;
    Request r;
    std::vector<double> samples;
    for (int round = 0; round < g_rounds; ++round) {
      const uint64_t start = sched::now_ns();
      for (int i = 0; i < n; ++i) {
        const int source = is_wild ? kAnySource : 0;
        if (is_posted) start_recv(self, r, from(source, &value, 4, 5));
        send(self, to(0, &value, 4, 5, 0), kWhy);
        if (!is_posted) start_recv(self, r, from(source, &value, 4, 5));
        wait(self, r, kWhy);
      }
      samples.push_back(static_cast<double>(sched::now_ns() - start) / n);
    }
    result = typical(samples);
    for (int i = 0; i < depth; ++i) {
      if (is_posted) {
        send(self, to(0, &value, 4, 10 + i, 0), kWhy);
      } else {
        recv(self, from(0, &value, 4, 10 + i), kWhy);
      }
    }
    for (auto& q : is_posted ? requests : sends) wait(self, q, kWhy);
  });
  return result;
}

void latency() {
  std::printf("two workers, one way\n%10s %12s %12s %7s\n", "bytes", "message ns",
              "floor ns", "ratio");
  for (size_t bytes : {0, 8, 44, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                       32768, 65536, 262144, 1 << 20, 4 << 20}) {
    if (!wants(bytes)) continue;
    std::vector<double> ours, floor;
    for (int i = 0; i < 3; ++i) {
      floor.push_back(bytes <= 44 ? floor_ns(true) : 1e3 * memcpy_floor_us(bytes));
      ours.push_back(ping_pong_ns(2, bytes));
    }
    std::printf("%10zu %12.0f %12.0f %7.2f\n", bytes, typical(ours), typical(floor),
                typical(ours) / typical(floor));
  }
  std::printf("one line %.0f ns, two lines %.0f ns\n", floor_ns(false), floor_ns(true));
}

void local() {
  std::printf("one worker, one way, switch included\n%10s %12s\n", "bytes",
              "message ns");
  for (size_t bytes : {8, 64, 1024, 8192, 65536, 1 << 20}) {
    if (!wants(bytes)) continue;
    std::printf("%10zu %12.0f\n", bytes, ping_pong_ns(1, bytes));
  }
}

void rate() {
  std::printf("windows of 64, messages per us\n%10s %12s %12s\n", "bytes",
              "two workers", "one worker");
  for (size_t bytes : {8, 64, 256, 1024, 8192}) {
    if (!wants(bytes)) continue;
    std::printf("%10zu %12.1f %12.1f\n", bytes, rate_per_us(2, bytes),
                rate_per_us(1, bytes));
  }
}

void depth() {
  std::printf(
      "to oneself, ns per message, by entries that do not match\n%10s %10s %10s %12s "
      "%14s\n",
      "entries", "posted", "unexpected", "posted wild", "unexpected wild");
  for (int n : {0, 4, 8, 16, 100, 1000, 10000}) {
    std::printf("%10d %10.0f %10.0f %12.0f %14.0f\n", n, depth_ns(Depth::kPosted, n),
                depth_ns(Depth::kUnexpected, n), depth_ns(Depth::kPostedWild, n),
                depth_ns(Depth::kUnexpectedWild, n));
  }
}

}  // namespace
}  // namespace mpc::msg::test

int main(int argc, char** argv) {
  const auto loaded = mpc::Settings::load_environment();
  if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
  using namespace mpc::msg::test;
  const std::string what = argc > 1 ? argv[1] : "all";
  const bool all = what == "all";
  if (argc > 2) g_only_bytes = static_cast<size_t>(std::atol(argv[2]));
  if (argc > 3) g_rounds = std::atoi(argv[3]);
  if (all || what == "latency") latency();
  if (all || what == "local") local();
  if (all || what == "rate") rate();
  if (all || what == "depth") depth();
}
