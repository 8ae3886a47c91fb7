// Datatypes: a byte string is a program of type constructors. Small ones are compared with the
// byte-by-byte model, as the random tests do; with wild numbers a constructor may refuse, no more.

#include "runtime/datatype/datatype.h"

#include <vector>

#include "runtime/datatype/external32.h"
#include "tests/fuzz/bytes.h"
#include "tests/unit/datatype/random_types.h"
#include "tests/unit/datatype/room.h"

namespace mpc::dt {
namespace {

using fuzz::Bytes;

void claim_bounds(const Datatype& type, const Model& model) {
  FUZZ_CLAIM(type.size() == model.size());
  FUZZ_CLAIM(type.lb() == model.lb && type.extent() == model.extent());
  FUZZ_CLAIM(type.true_lb() == model.true_lb());
  FUZZ_CLAIM(type.true_extent() == model.true_ub() - model.true_lb());
  FUZZ_CLAIM(type.elements() == static_cast<Count>(model.map.size()));
}

// In pieces of any length, each of which ends where it must.
void claim_packs(Bytes& bytes, const RandomType& r, Count count) {
  Room room(r.model, count, 0);
  for (size_t i = 0; i < room.bytes.size(); ++i)
    room.bytes[i] = static_cast<char>(i * 37);
  const std::vector<char> want = gather(room, r.model, count);
  std::vector<char> packed(want.size());
  for (size_t from = 0; from < want.size();) {
    const auto n = static_cast<size_t>(
        bytes.is_empty() ? want.size() - from
                         : bytes.pick(1, static_cast<Count>(want.size() - from)));
    FUZZ_CLAIM(pack(room.at(), *r.type, count, from, packed.data() + from, n) == n);
    from += n;
  }
  FUZZ_CLAIM(packed == want);
  if (!RandomTypes::is_disjoint(r.model, count)) return;
  Room target(r.model, count, '.');
  for (size_t from = 0; from < want.size();) {
    const auto n = static_cast<size_t>(
        bytes.is_empty() ? want.size() - from
                         : bytes.pick(1, static_cast<Count>(want.size() - from)));
    FUZZ_CLAIM(unpack(target.at(), *r.type, count, from, want.data() + from, n) == n);
    from += n;
  }
  std::vector<char> expected(target.bytes.size(), '.');
  for (const Count at : r.model.bytes(count))
    expected[static_cast<size_t>(target.origin + at)] = *room.at(at);
  FUZZ_CLAIM(target.bytes == expected);
}

void claim_copies(RandomTypes& types, const RandomType& from, Count count) {
  const RandomType to = types.same_signature(from.model, count);
  FUZZ_CLAIM(same_signature(*from.type, count, *to.type, 1));
  Room source(from.model, count, 0), target(to.model, 1, '.');
  for (size_t i = 0; i < source.bytes.size(); ++i)
    source.bytes[i] = static_cast<char>(i * 41);
  const std::vector<char> want = gather(source, from.model, count);
  FUZZ_CLAIM(copy(target.at(), *to.type, 1, source.at(), *from.type, count) ==
             want.size());
  FUZZ_CLAIM(gather(target, to.model, 1) == want);
}

void try_small(Bytes& bytes) {
  constexpr Count kMostBytes = 4000;
  RandomTypes types([&](Count low, Count high) { return bytes.pick(low, high); });
  const RandomType r = types.make(static_cast<int>(bytes.pick(0, 3)), 60);
  const Count count = bytes.pick(0, 5);
  claim_bounds(*r.type, r.model);
  if (r.model.size() * count > kMostBytes) return;
  claim_packs(bytes, r, count);
  claim_copies(types, r, count);
}

// --- wild numbers ------------------------------------------------------------------------------

class Wild {
 public:
  explicit Wild(Bytes& bytes) : bytes_(bytes) {}

  void run() {
    constexpr int kMostSteps = 12;
    for (int step = 0; step < kMostSteps && !bytes_.is_empty(); ++step) {
      Result<TypeRef> made = construct();
      if (!made) {
        FUZZ_CLAIM(!made.error().message.empty());
        continue;
      }
      look_at(**made);
      types_.push_back(std::move(*made));
    }
  }

 private:
  // Small, or at an end of what fits.
  Count number() {
    switch (bytes_.pick(0, 7)) {
      case 0:
        return INT64_MAX - bytes_.pick(0, 9);
      case 1:
        return INT64_MIN + bytes_.pick(0, 9);
      case 2:
        return INT32_MAX + bytes_.pick(-2, 2);
      case 3:
        return bytes_.number<Count>();
      case 4:
        return Count{1} << bytes_.pick(0, 62);
      default:
        return bytes_.pick(-3, 12);
    }
  }
  std::vector<Count> numbers(size_t count) {
    std::vector<Count> all(count);
    for (Count& n : all) n = number();
    return all;
  }
  std::vector<int> choices(size_t count, int low, int high) {
    std::vector<int> all(count);
    for (int& n : all)
      n = bytes_.pick(0, 9) == 0 ? bytes_.number<int>()
                                 : static_cast<int>(bytes_.pick(low, high));
    return all;
  }
  const Datatype& old() {
    if (types_.empty() || bytes_.pick(0, 3) == 0)
      return *predefined(bytes_.pick(0, 1) == 0 ? abi::kInt : abi::kByte);
    return *types_[static_cast<size_t>(
        bytes_.pick(0, static_cast<Count>(types_.size()) - 1))];
  }

  Result<TypeRef> construct() {
    const auto n = static_cast<size_t>(bytes_.pick(0, 4));
    const Binding binding = Binding::kLarge;
    switch (bytes_.pick(0, 10)) {
      case 0:
        return make_contiguous(number(), old(), binding);
      case 1:
        return make_vector(number(), number(), number(), old(), binding);
      case 2:
        return make_hvector(number(), number(), number(), old(), binding);
      case 3:
        return make_indexed(numbers(n), numbers(n), old(), binding);
      case 4:
        return make_hindexed(numbers(n), numbers(n), old(), binding);
      case 5:
        return make_indexed_block(number(), numbers(n), old(), binding);
      case 6:
        return make_hindexed_block(number(), numbers(n), old(), binding);
      case 7: {
        std::vector<const Datatype*> parts(n);
        for (const Datatype*& part : parts) part = &old();
        return make_struct(numbers(n), numbers(n), parts, binding);
      }
      case 8:
        return make_resized(old(), number(), number(), binding);
      case 9:
        return make_subarray(numbers(n), numbers(n), numbers(n),
                             bytes_.pick(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran,
                             old(), binding);
      default:
        return distributed(n);
    }
  }

  Result<TypeRef> distributed(size_t dims) {
    const auto size = static_cast<int>(bytes_.pick(-1, 9));
    const auto sizes = numbers(dims);
    const auto distribs = choices(dims, abi::kDistributeNone, abi::kDistributeCyclic);
    auto dargs = choices(dims, 1, 4);
    for (int& darg : dargs)
      if (bytes_.pick(0, 2) == 0) darg = abi::kDistributeDfltDarg;
    const auto psizes = choices(dims, 1, 3);
    return make_darray(size, static_cast<int>(bytes_.pick(-1, 9)), sizes, distribs,
                       dargs, psizes,
                       bytes_.pick(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran,
                       old(), Binding::kLarge);
  }

  void look_at(const Datatype& type) {
    FUZZ_CLAIM(type.size() >= 0 && type.elements() >= 0);
    FUZZ_CLAIM(type.elements() == 0 || type.true_extent() > 0);
    FUZZ_CLAIM(same_signature(type, 1, type, 1));
    (void)type.contents();
    (void)make_dup(type);
    const auto some = static_cast<size_t>(bytes_.pick(0, 300));
    (void)count_in(type, some);
    (void)elements_in(type, some);
    (void)external32_size(type, bytes_.pick(0, 9));
  }

  Bytes& bytes_;
  std::vector<TypeRef> types_;
};

}  // namespace
}  // namespace mpc::dt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mpc::fuzz::Bytes bytes(data, size);
  if (bytes.pick(0, 1) == 0)
    mpc::dt::try_small(bytes);
  else
    mpc::dt::Wild(bytes).run();
  return 0;
}
