// Copies between layouts, beside the loop or memcpy that a programmer would write by
// hand.
//
// Each pair of benchmarks moves the same bytes: Hand* is the floor, the other one is
// ours. Argument: bytes of data. 32 KiB fits the first-level caches, 4 MiB does not.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/datatype/datatype.h"
#include "runtime/datatype/external32.h"
#include "runtime/datatype/reduce.h"

namespace mpc::dt {
namespace {

constexpr Count kStride = 4;  // in elements

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(1 << 10)->Arg(32 << 10)->Arg(4 << 20);
}

// Packs and unpacks `type` (one element of `bytes` bytes of data).
void run_pack(benchmark::State& state, const Datatype& type) {
  std::vector<char> user(static_cast<size_t>(type.ub()), 1), packed(type.size(), 2);
  for (auto _ : state) {
    pack(user.data(), type, 1, 0, packed.data(), packed.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * type.size());
}

void HandContiguous(benchmark::State& state) {
  std::vector<char> from(state.range(0), 1), to(state.range(0), 2);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(HandContiguous)->Apply(sizes);

void Contiguous(benchmark::State& state) {
  run_pack(state, **make_contiguous(state.range(0) / 8, *predefined(abi::kDouble)));
}
BENCHMARK(Contiguous)->Apply(sizes);

template <class T>
void HandVector(benchmark::State& state) {
  const Count n = state.range(0) / static_cast<Count>(sizeof(T));
  std::vector<T> from(static_cast<size_t>(n * kStride), T{1}),
      to(static_cast<size_t>(n));
  for (auto _ : state) {
    for (Count i = 0; i < n; ++i) to[i] = from[i * kStride];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(HandVector<float>)->Apply(sizes);
BENCHMARK(HandVector<double>)->Apply(sizes);

template <uint32_t kCode>
void Vector(benchmark::State& state) {
  const Datatype& old = *predefined(kCode);
  run_pack(state, **make_vector(state.range(0) / old.size(), 1, kStride, old));
}
BENCHMARK(Vector<abi::kFloat>)->Apply(sizes);
BENCHMARK(Vector<abi::kDouble>)->Apply(sizes);
BENCHMARK(Vector<abi::kCDoubleComplex>)->Apply(sizes);

void VectorToVector(benchmark::State& state) {
  const Count n = state.range(0) / 8;
  auto a = make_vector(n, 1, kStride, *predefined(abi::kDouble));
  auto b = make_vector(n, 1, 2, *predefined(abi::kDouble));
  std::vector<double> from(static_cast<size_t>(n * kStride)),
      to(static_cast<size_t>(n * 2));
  for (auto _ : state) {
    copy(to.data(), **b, 1, from.data(), **a, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(VectorToVector)->Apply(sizes);

std::vector<Count> random_places(Count n) {
  std::vector<Count> places(static_cast<size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937(1));
  return places;
}

void HandGather(benchmark::State& state) {
  const Count n = state.range(0) / 8;
  const std::vector<Count> places = random_places(n);
  std::vector<double> from(static_cast<size_t>(n), 1), to(static_cast<size_t>(n));
  for (auto _ : state) {
    for (Count i = 0; i < n; ++i) to[i] = from[places[i]];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(HandGather)->Apply(sizes);

void Gather(benchmark::State& state) {
  const std::vector<Count> places = random_places(state.range(0) / 8);
  run_pack(state, **make_indexed_block(1, places, *predefined(abi::kDouble)));
}
BENCHMARK(Gather)->Apply(sizes);

struct Particle {
  double x, y, z;
  int id;
  char tag;
};

void HandStruct(benchmark::State& state) {
  const Count n = state.range(0) / 29;
  std::vector<Particle> from(static_cast<size_t>(n));
  std::vector<char> to(static_cast<size_t>(n * 29));
  for (auto _ : state) {
    for (Count i = 0; i < n; ++i) std::memcpy(to.data() + i * 29, &from[i], 29);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * n * 29);
}
BENCHMARK(HandStruct)->Apply(sizes);

// {double[3], int, char} is one block of 29 bytes; without `y` it is three.
template <bool kWithGap>
void Struct(benchmark::State& state) {
  const Datatype* parts[] = {predefined(abi::kDouble), predefined(abi::kDouble),
                             predefined(abi::kInt), predefined(abi::kChar)};
  const std::vector<int> lengths{kWithGap ? 1 : 2, 1, 1, 1};
  auto particle = make_struct(lengths, std::vector<Count>{0, 16, 24, 28}, parts);
  auto all = make_contiguous(state.range(0) / (*particle)->size(), **particle);
  run_pack(state, **all);
}
BENCHMARK(Struct<false>)->Apply(sizes);
BENCHMARK(Struct<true>)->Apply(sizes);

// A face of a cube of doubles, in the three directions.
void Face(benchmark::State& state) {
  const int n = 128, direction = static_cast<int>(state.range(0));
  std::vector<int> all{n, n, n}, part{n, n, n}, at{0, 0, 0};
  part[static_cast<size_t>(direction)] = 1;
  run_pack(state,
           **make_subarray(all, part, at, abi::kOrderC, *predefined(abi::kDouble)));
}
BENCHMARK(Face)->DenseRange(0, 2);

// 4,096 doubles to places that are so many bytes apart: by hand, and unpacked.
constexpr Count kDoubles = 4096;

void distances(benchmark::internal::Benchmark* one) {
  for (const Count bytes : {64, 256, 512, 576, 1024, 1536, 2560, 4096}) one->Arg(bytes);
}

void HandScatter(benchmark::State& state) {
  const Count step = state.range(0) / 8;
  std::vector<double> from(kDoubles, 1), to(static_cast<size_t>(kDoubles * step));
  for (auto _ : state) {
    for (Count i = 0; i < kDoubles; ++i) to[i * step] = from[i];
    benchmark::ClobberMemory();
  }
}
BENCHMARK(HandScatter)->Apply(distances);

void Scatter(benchmark::State& state) {
  auto type = make_vector(kDoubles, 1, state.range(0) / 8, *predefined(abi::kDouble));
  std::vector<double> from(kDoubles, 1),
      to(static_cast<size_t>(kDoubles * state.range(0) / 8));
  for (auto _ : state) {
    unpack(to.data(), **type, 1, 0, from.data(), kDoubles * 8);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Scatter)->Apply(distances);

// The cost of a derived type for a small message.
void SmallVector(benchmark::State& state) {
  run_pack(state, **make_vector(4, 1, kStride, *predefined(abi::kDouble)));
}
BENCHMARK(SmallVector);

// Pipelines: the same vector in segments of 8 KiB, whose positions are computed anew for each.
void VectorInSegments(benchmark::State& state) {
  const Count n = state.range(0) / 8;
  auto type = make_vector(n, 1, kStride, *predefined(abi::kDouble));
  std::vector<double> from(static_cast<size_t>(n * kStride));
  std::vector<char> to(8192);
  for (auto _ : state) {
    for (Count at = 0; at < state.range(0); at += 8192)
      pack(from.data(), **type, 1, static_cast<size_t>(at), to.data(), to.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(VectorInSegments)->Arg(4 << 20);

template <uint32_t kOp, uint32_t kType>
void Reduce(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<char> in(bytes), inout(bytes);
  ReduceFn reduce = reduction(kOp, kType);
  for (auto _ : state) {
    reduce(in.data(), inout.data(), state.range(0) / predefined(kType)->extent());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Reduce<abi::kSum, abi::kDouble>)->Apply(sizes);
BENCHMARK(Reduce<abi::kMax, abi::kFloat>)->Apply(sizes);
BENCHMARK(Reduce<abi::kProd, abi::kCDoubleComplex>)->Apply(sizes);
BENCHMARK(Reduce<abi::kBor, abi::kInt8T>)->Apply(sizes);
BENCHMARK(Reduce<abi::kMaxloc, abi::kDoubleInt>)->Apply(sizes);

void External32Doubles(benchmark::State& state) {
  const Count n = state.range(0) / 8;
  std::vector<double> from(static_cast<size_t>(n), 1);
  std::vector<char> to(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auto done = external32_pack(from.data(), *predefined(abi::kDouble), n, to.data(),
                                to.size());
    benchmark::DoNotOptimize(done);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(External32Doubles)->Apply(sizes);

}  // namespace
}  // namespace mpc::dt

BENCHMARK_MAIN();
