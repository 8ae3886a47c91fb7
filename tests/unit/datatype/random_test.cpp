// Random datatypes against the byte-by-byte model. MPC_TEST_SEED repeats a failure,
// MPC_TEST_ROUNDS lengthens the search.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/datatype/external32.h"
#include "runtime/datatype/type_bytes.h"
#include "tests/unit/datatype/random_types.h"
#include "tests/unit/datatype/room.h"

namespace mpc::dt {
namespace {

uint64_t first_seed() {
  const char* text = std::getenv("MPC_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device{}();
}
int rounds() {
  const char* text = std::getenv("MPC_TEST_ROUNDS");
  return text != nullptr ? std::atoi(text) : 500;
}

void fill_random(RandomTypes& random, std::vector<char>& bytes) {
  for (char& byte : bytes) byte = static_cast<char>(random.pick(0, 255));
}

class RandomDatatypes : public testing::Test {
 protected:
  // Calls body(random) once per round, with a seed of its own, until one fails.
  template <class Body>
  void repeat(Body body) {
    const uint64_t first = first_seed();
    const int n = std::getenv("MPC_TEST_SEED") != nullptr ? 1 : rounds();
    for (int i = 0; i < n && !HasFailure(); ++i) {
      SCOPED_TRACE("MPC_TEST_SEED=" + std::to_string(first + static_cast<uint64_t>(i)));
      RandomTypes random(first + static_cast<uint64_t>(i));
      body(random);
    }
  }
};

TEST_F(RandomDatatypes, HaveTheBoundsOfTheModel) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 4)));
    EXPECT_EQ(r.type->size(), r.model.size());
    EXPECT_EQ(r.type->lb(), r.model.lb);
    EXPECT_EQ(r.type->extent(), r.model.extent());
    EXPECT_EQ(r.type->true_lb(), r.model.true_lb());
    EXPECT_EQ(r.type->true_extent(), r.model.true_ub() - r.model.true_lb());
    EXPECT_EQ(r.type->elements(), static_cast<Count>(r.model.map.size()));
    if (r.type->is_contiguous()) {
      const std::vector<Count> bytes = r.model.bytes(3);
      for (size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], static_cast<Count>(i));
    }
  });
}

TEST_F(RandomDatatypes, PackAndUnpackAnySegment) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 4)));
    const Count count =
        random.pick(0, 3) == 0 ? random.pick(100, 150) : random.pick(0, 4);
    if (r.model.size() * count > 20000) return;
    Room room(r.model, count, 0);
    fill_random(random, room.bytes);
    const std::vector<char> want = gather(room, r.model, count);
    std::vector<char> packed(want.size() + 8, '#');
    // In one piece, and not a byte more than there is.
    ASSERT_EQ(pack(room.at(), *r.type, count, 0, packed.data(), packed.size()),
              want.size());
    ASSERT_TRUE(std::equal(want.begin(), want.end(), packed.begin()));
    ASSERT_EQ(packed[want.size()], '#');
    // Segments that resume anywhere.
    for (int i = 0; i < 4 && !want.empty(); ++i) {
      const auto last = static_cast<Count>(want.size());
      const Count from = random.pick(0, last), n = random.pick(0, last - from);
      std::vector<char> segment(static_cast<size_t>(n) + 1, '#');
      ASSERT_EQ(pack(room.at(), *r.type, count, from, segment.data(), n), n);
      ASSERT_TRUE(std::equal(segment.begin(), segment.end() - 1, want.begin() + from));
      ASSERT_EQ(segment.back(), '#');
    }
    if (!RandomTypes::is_disjoint(r.model, count)) return;
    // Unpack in random segments: touches the bytes of the type map and no other.
    Room target(r.model, count, '.');
    std::vector<char> expected = target.bytes;
    const std::vector<Count> places = r.model.bytes(count);
    for (size_t i = 0; i < places.size(); ++i)
      expected[static_cast<size_t>(target.origin + places[i])] = want[i];
    for (Count from = 0, last = static_cast<Count>(want.size()); from < last;) {
      const Count n = random.pick(1, last - from);
      ASSERT_EQ(unpack(target.at(), *r.type, count, from, want.data() + from, n), n);
      from += n;
    }
    ASSERT_EQ(target.bytes, expected);
  });
}

TEST_F(RandomDatatypes, LieAtTheSamePlacesWhereTheirBytesHaveCome) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 4)));
    const Count count = random.pick(0, 4);
    if (r.model.size() * count > 20000) return;
    const std::vector<std::byte> bytes = to_bytes(*r.type);
    const TypeRef there = from_bytes(bytes);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->size(), r.type->size());
    EXPECT_EQ(there->lb(), r.type->lb());
    EXPECT_EQ(there->extent(), r.type->extent());
    EXPECT_EQ(there->true_lb(), r.type->true_lb());
    EXPECT_EQ(there->true_extent(), r.type->true_extent());
    EXPECT_EQ(there->is_contiguous(), r.type->is_contiguous());
    Room room(r.model, count, 0);
    fill_random(random, room.bytes);
    const std::vector<char> want = gather(room, r.model, count);
    const Count from = random.pick(0, static_cast<Count>(want.size()));
    std::vector<char> packed(want.size() - static_cast<size_t>(from) + 1);
    ASSERT_EQ(pack(room.at(), *there, count, from, packed.data(), packed.size()),
              packed.size() - 1);
    ASSERT_TRUE(std::equal(want.begin() + from, want.end(), packed.begin()));
    // A part of them is none.
    const auto cut =
        static_cast<size_t>(random.pick(0, static_cast<Count>(bytes.size()) - 1));
    EXPECT_FALSE(from_bytes({bytes.data(), cut}));
  });
}

TEST_F(RandomDatatypes, CopyBetweenLayoutsOfOneSignature) {
  repeat([](RandomTypes& random) {
    const RandomType from = random.make(static_cast<int>(random.pick(1, 4)), 100);
    const Count count = random.pick(1, 40);
    if (from.model.size() * count > 8000) return;
    const RandomType to = random.same_signature(from.model, count);
    ASSERT_TRUE(dt::same_signature(*from.type, count, *to.type, 1));
    Room source(from.model, count, 0), target(to.model, 1, '.');
    fill_random(random, source.bytes);
    const std::vector<char> want = gather(source, from.model, count);
    ASSERT_EQ(copy(target.at(), *to.type, 1, source.at(), *from.type, count),
              want.size());
    ASSERT_EQ(gather(target, to.model, 1), want);
    if (!RandomTypes::is_disjoint(from.model, count)) return;
    Room back(from.model, count, '.');  // and the way back
    ASSERT_EQ(copy(back.at(), *from.type, count, target.at(), *to.type, 1),
              want.size());
    ASSERT_EQ(gather(back, from.model, count), want);
  });
}

TEST_F(RandomDatatypes, CopyStopsAtTheShorterSide) {
  repeat([](RandomTypes& random) {
    const RandomType a = random.make(2, 60), b = random.make(2, 60);
    const Count na = random.pick(0, 5), nb = random.pick(0, 5);
    if (!RandomTypes::is_disjoint(b.model, nb)) return;
    Room source(a.model, na, 0), target(b.model, nb, '.');
    fill_random(random, source.bytes);
    const std::vector<char> data = gather(source, a.model, na);
    std::vector<char> want = gather(target, b.model, nb);
    const size_t n = std::min(data.size(), want.size());
    std::copy(data.begin(), data.begin() + static_cast<Count>(n), want.begin());
    ASSERT_EQ(copy(target.at(), *b.type, nb, source.at(), *a.type, na), n);
    ASSERT_EQ(gather(target, b.model, nb), want);
  });
}

TEST_F(RandomDatatypes, CountElementsOfPartialData) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 3)), 60);
    if (r.model.size() == 0) {
      EXPECT_EQ(elements_in(*r.type, 0), 0);
      EXPECT_EQ(elements_in(*r.type, 1), -1);
      return;
    }
    const std::vector<uint32_t> codes = r.model.signature(3);
    Count bytes = 0, elements = 0;
    for (uint32_t code : codes) {
      ASSERT_EQ(elements_in(*r.type, static_cast<size_t>(bytes)), elements);
      ASSERT_EQ(bytes_of_elements(*r.type, elements), bytes);
      for (Count part = 1; part < Model::bytes_of(code); ++part)
        ASSERT_EQ(elements_in(*r.type, static_cast<size_t>(bytes + part)), -1);
      bytes += Model::bytes_of(code);
      ++elements;
    }
    EXPECT_EQ(count_in(*r.type, static_cast<size_t>(bytes)), 3);
  });
}

TEST_F(RandomDatatypes, HaveOneSignatureExactlyIfTheModelsHave) {
  repeat([](RandomTypes& random) {
    const RandomType a = random.make(2, 12), b = random.make(1, 12);
    const Count na = random.pick(0, 3), nb = random.pick(0, 3);
    EXPECT_EQ(same_signature(*a.type, na, *b.type, nb),
              a.model.signature(na) == b.model.signature(nb));
  });
}

TEST_F(RandomDatatypes, SurviveARoundTripThroughExternal32) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 3)), 100);
    const Count count = random.pick(0, 30);
    if (!RandomTypes::is_disjoint(r.model, count)) return;
    Room source(r.model, count, 0), target(r.model, count, 0);
    // Small values, which every representation can hold.
    Count external = 0;
    const Model& m = r.model;
    for (Count i = 0; i < count; ++i)
      for (const Model::Entry& e : m.map) {
        char* at = source.at(i * m.extent() + e.at);
        const auto value = static_cast<unsigned char>(random.pick(0, 127));
        const long double number = value;
        external += e.code == abi::kLong    ? 4
                    : e.code == abi::kWchar ? 2
                                            : Model::bytes_of(e.code);
        if (e.code == abi::kLongDouble)
          std::memcpy(at, &number, 10);
        else
          *at = static_cast<char>(value);
      }
    ASSERT_EQ(external32_size(*r.type, count).value(), external);
    std::vector<char> wire(static_cast<size_t>(external));
    ASSERT_EQ(
        external32_pack(source.at(), *r.type, count, wire.data(), wire.size()).value(),
        wire.size());
    ASSERT_EQ(external32_unpack(target.at(), *r.type, count, wire.data(), wire.size())
                  .value(),
              wire.size());
    ASSERT_EQ(gather(target, m, count), gather(source, m, count));
  });
}

// Calls the constructor that `type.contents()` describes.
TypeRef rebuild(const Datatype& type) {
  const Contents& c = type.contents();
  const Binding b = c.large ? Binding::kLarge : Binding::kClassic;
  std::vector<Count> counts;  // counts and addresses in the order of the arguments
  const std::vector<int>& ints = c.integers;
  counts.assign(c.large ? c.large_counts.begin() : c.large_counts.end(),
                c.large_counts.end());
  if (!c.large) counts.assign(ints.begin(), ints.end());
  const std::vector<Count>& addresses = c.addresses;
  const auto address = [&](size_t large_at, size_t n) {
    return c.large ? CountArray(c.large_counts.data() + large_at, n)
                   : CountArray(addresses.data(), n);
  };
  const auto* data = counts.data();
  const Datatype& old = *c.types.at(0);
  const auto n = static_cast<size_t>(counts.empty() ? 0 : counts[0]);
  switch (c.combiner) {
    case abi::kCombinerDup:
      return make_dup(old).value();
    case abi::kCombinerContiguous:
      return make_contiguous(counts[0], old, b).value();
    case abi::kCombinerVector:
      return make_vector(counts[0], counts[1], counts[2], old, b).value();
    case abi::kCombinerHvector:
      return make_hvector(counts[0], counts[1], address(2, 1)[0], old, b).value();
    case abi::kCombinerIndexed:
      return make_indexed({data + 1, n}, {data + 1 + n, n}, old, b).value();
    case abi::kCombinerHindexed:
      return make_hindexed({data + 1, n}, address(1 + n, n), old, b).value();
    case abi::kCombinerIndexedBlock:
      return make_indexed_block(counts[1], {data + 2, n}, old, b).value();
    case abi::kCombinerHindexedBlock:
      return make_hindexed_block(counts[1], address(2, n), old, b).value();
    case abi::kCombinerStruct:
      return make_struct({data + 1, n}, address(1 + n, n), c.types, b).value();
    case abi::kCombinerResized:
      return make_resized(old, address(0, 2)[0], address(0, 2)[1], b).value();
    case abi::kCombinerSubarray: {
      const auto dims = static_cast<size_t>(ints[0]);
      const auto* sizes = c.large ? data : data + 1;
      return make_subarray({sizes, dims}, {sizes + dims, dims},
                           {sizes + 2 * dims, dims}, ints.back(), old, b)
          .value();
    }
    case abi::kCombinerDarray: {
      const auto dims = static_cast<size_t>(ints[2]);
      const auto* sizes = c.large ? data : data + 3;
      const auto* rest = ints.data() + (c.large ? 3 : 3 + dims);
      return make_darray(ints[0], ints[1], {sizes, dims}, {rest, dims},
                         {rest + dims, dims}, {rest + 2 * dims, dims}, ints.back(), old,
                         b)
          .value();
    }
    default:
      ADD_FAILURE() << "combiner " << c.combiner;
      return {};
  }
}

TEST_F(RandomDatatypes, CanBeRebuiltFromTheirContents) {
  repeat([](RandomTypes& random) {
    const RandomType r = random.make(static_cast<int>(random.pick(1, 3)));
    const TypeRef again = rebuild(*r.type);
    const Contents &a = r.type->contents(), &b = again->contents();
    EXPECT_EQ(a.combiner, b.combiner);
    EXPECT_EQ(a.large, b.large);
    EXPECT_EQ(a.integers, b.integers);
    EXPECT_EQ(a.addresses, b.addresses);
    EXPECT_EQ(a.large_counts, b.large_counts);
    EXPECT_EQ(a.types, b.types);
    EXPECT_EQ(r.type->lb(), again->lb());
    EXPECT_EQ(r.type->extent(), again->extent());
    EXPECT_EQ(r.type->size(), again->size());
    EXPECT_EQ(r.type->signature_hash(), again->signature_hash());
  });
}

TEST_F(RandomDatatypes, OutliveTheTypesTheyAreMadeOf) {
  repeat([](RandomTypes& random) {
    RandomType r = random.make(3, 60);
    const TypeRef copy = make_dup(*r.type).value();
    r.type = TypeRef();
    Room room(r.model, 1, 0);
    fill_random(random, room.bytes);
    std::vector<char> packed(static_cast<size_t>(r.model.size()));
    pack(room.at(), *copy, 1, 0, packed.data(), packed.size());
    ASSERT_EQ(packed, gather(room, r.model, 1));
  });
}

}  // namespace
}  // namespace mpc::dt
