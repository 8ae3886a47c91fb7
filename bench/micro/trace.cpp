// The cost of a place that could record: off, on, and as a span.
#include <benchmark/benchmark.h>

#include "base/trace.h"

namespace {

using namespace mpc;

constexpr trace::Site kMoment{"bench", "moment", {"value"}};
constexpr trace::Site kCall{"bench", "call", {"value"}};

void nothing(benchmark::State& state) {
  uint64_t value = 0;
  for (auto _ : state) benchmark::DoNotOptimize(++value);
}

void instant_off(benchmark::State& state) {
  trace::stop();
  uint64_t value = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(++value);
    trace::instant(kMoment, {value});
  }
}

// Begins anew before the memory is used up; the cost of a first touch is included.
void restart_if_full(uint64_t& left) {
  if (--left != 0) return;
  constexpr uint64_t kEvents = 1 << 20;
  trace::start(2 * kEvents);
  left = kEvents / 2;
}

void instant_on(benchmark::State& state) {
  uint64_t value = 0, left = 1;
  for (auto _ : state) {
    restart_if_full(left);
    trace::instant(kMoment, {++value});
  }
  trace::stop();
}

void span_on(benchmark::State& state) {
  uint64_t value = 0, left = 1;
  for (auto _ : state) {
    restart_if_full(left);
    const trace::Span span(kCall, {++value});
  }
  trace::stop();
}

BENCHMARK(nothing);
BENCHMARK(instant_off);
BENCHMARK(instant_on);
BENCHMARK(span_on);

}  // namespace

BENCHMARK_MAIN();
