#include "runtime/rma/accumulate.h"

#include <algorithm>
#include <optional>

#include "runtime/rma/element_atomics.h"

namespace mpc::rma {
namespace {

bool adds_integers(uint32_t op_code, const dt::Datatype& element) noexcept {
  // A type that has bit operations and a sum is an integer, and wraps as the processor does.
  return op_code == dt::abi::kSum &&
         dt::reduction(dt::abi::kBand, element.abi_code()) != nullptr;
}

template <class Word>
Word load(const void* from) noexcept {
  Word word;
  // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): null for MPI_NO_OP, which loads nothing
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

bool ElementOp::make(uint32_t op_code, const dt::Datatype& element,
                     ElementOp* out) noexcept {
  out->element_ = &element;
  out->kernel_ = dt::reduction(op_code, element.abi_code());
  if (op_code == dt::abi::kNoOp)
    out->way_ = Way::kRead;
  else if (op_code == dt::abi::kReplace)
    out->way_ = Way::kReplace;
  else
    out->way_ = adds_integers(op_code, element) ? Way::kAdd : Way::kKernel;
  return out->kernel_ != nullptr;
}

template <class Word>
void ElementOp::apply_words(char* target, const char* origin, char* result,
                            Count n) const noexcept {
  using Atomic = Processor<Word>;
  for (Count i = 0; i < n; ++i) {
    const Count at = i * static_cast<Count>(sizeof(Word));
    Word old = 0;
    switch (way_) {
      case Way::kRead:
        old = Atomic::get(target + at);
        break;
      case Way::kReplace:
        if (result == nullptr)
          Atomic::set(target + at, load<Word>(origin + at));
        else
          old = Atomic::exchange(target + at, load<Word>(origin + at));
        break;
      case Way::kAdd:
        old = Atomic::add(target + at, load<Word>(origin + at));
        break;
      case Way::kKernel:
        old = Atomic::apply(target + at, origin + at, kernel_);
        break;
    }
    if (result != nullptr) std::memcpy(result + at, &old, sizeof old);
  }
}

// Moves elements of a byte that are only read or replaced, in words as far as they fill them. MPI
// promises only whole elements; but programs accumulate structures as MPI_BYTE, and expect each of
// their words to be whole. Words are read from the first to the last and written from the last to
// the first: a reader that finds the first one new finds the others new.
void ElementOp::move_bytes(char* target, const char* origin, char* result,
                           Count bytes) const noexcept {
  constexpr Count kWord = sizeof(uint64_t);
  const auto misfit = static_cast<Count>(reinterpret_cast<uintptr_t>(target) % kWord);
  const Count head = std::min(bytes, (kWord - misfit) % kWord);
  const Count tail = head + (bytes - head) / kWord * kWord;
  const char* const from = origin != nullptr ? origin : target;  // read for kReplace
  const auto single = [&](Count first, Count end) {
    for (Count i = first; i < end; ++i)
      apply_words<uint8_t>(target + i, from + i,
                           result != nullptr ? result + i : nullptr, 1);
  };
  const auto word = [&](Count i) {
    apply_words<uint64_t>(target + i, from + i,
                          result != nullptr ? result + i : nullptr, 1);
  };
  if (way_ == Way::kRead) {
    single(0, head);
    for (Count i = head; i < tail; i += kWord) word(i);
    return single(tail, bytes);
  }
  single(tail, bytes);
  for (Count i = tail; i > head; i -= kWord) word(i - kWord);
  single(0, head);
}

// Combines elements of 1, 2 or 4 bytes, those that fill an aligned word with one compare-and-swap. Such
// a word has elements of this operation only, and the processor keeps changes of a word and of a part
// of it apart.
void ElementOp::combine_words(char* target, const char* origin, char* result,
                              Count n) const noexcept {
  constexpr Count kWord = sizeof(uint64_t);
  const Count extent = element_->extent();
  const auto misfit = static_cast<Count>(reinterpret_cast<uintptr_t>(target) % kWord);
  const Count head = std::min(n, (kWord - misfit) % kWord / extent);
  const Count each = kWord / extent;
  const Count tail = head + (n - head) / each * each;
  const auto single = [&](Count first, Count end) {
    const Count at = first * extent;
    apply_elements(target + at, origin + at, result != nullptr ? result + at : nullptr,
                   end - first);
  };
  single(0, head);
  for (Count i = head; i < tail; i += each) {
    const Count at = i * extent;
    const uint64_t old =
        Processor<uint64_t>::apply(target + at, origin + at, kernel_, each);
    if (result != nullptr) std::memcpy(result + at, &old, sizeof old);
  }
  single(tail, n);
}

void ElementOp::apply_striped(char* target, const char* origin, char* result,
                              Count n) const noexcept {
  const Count extent = element_->extent();
  for (Count i = 0; i < n; ++i) {
    char* const at = target + i * extent;
    const Locked inside(stripe_of(at));
    if (result != nullptr)
      dt::copy(result + i * extent, *element_, 1, at, *element_, 1);
    if (way_ == Way::kReplace)  // without the gap of a pair
      dt::copy(at, *element_, 1, origin + i * extent, *element_, 1);
    else if (way_ != Way::kRead)
      kernel_(origin + i * extent, at, 1);
  }
}

void ElementOp::apply_run(char* target, const char* origin, char* result,
                          Count n) const noexcept {
  const Count extent = element_->extent();
  if (!is_atomic_size(extent) || !is_aligned(target, extent))
    return apply_striped(target, origin, result, n);
  if (extent == 1 && n > 1 && (way_ == Way::kRead || way_ == Way::kReplace))
    return move_bytes(target, origin, result, n);
  constexpr Count kEnough = 2 * sizeof(uint64_t);
  const bool combines = way_ == Way::kKernel || way_ == Way::kAdd;
  if (combines && extent < Count{sizeof(uint64_t)} && n * extent >= kEnough)
    return combine_words(target, origin, result, n);
  apply_elements(target, origin, result, n);
}

void ElementOp::apply_elements(char* target, const char* origin, char* result,
                               Count n) const noexcept {
  switch (element_->extent()) {
    case 1:
      return apply_words<uint8_t>(target, origin, result, n);
    case 2:
      return apply_words<uint16_t>(target, origin, result, n);
    case 4:
      return apply_words<uint32_t>(target, origin, result, n);
    default:
      return apply_words<uint64_t>(target, origin, result, n);
  }
}

void ElementOp::apply(void* target, const void* origin, void* result) const noexcept {
  apply_run(static_cast<char*>(target), static_cast<const char*>(origin),
            static_cast<char*>(result), 1);
}

void ElementOp::apply_alone(char* target, const char* origin, char* result,
                            Count n) const noexcept {
  const Count extent = element_->extent(), bytes = n * extent;
  // Bytes are moved in the order that move_bytes() promises; a result in the place of the origin is no legal
  // program's, but worked.
  const bool may_be_one = result != nullptr && origin != nullptr &&
                          result < origin + bytes && origin < result + bytes;
  if (extent == 1 || may_be_one) return apply_run(target, origin, result, n);
  const bool is_dense = element_->size() == extent;
  const auto move = [&](char* to, const char* from) {
    if (is_dense)
      std::memcpy(to, from, static_cast<size_t>(bytes));
    else
      dt::copy(to, *element_, n, from, *element_, n);
  };
  if (result != nullptr) move(result, target);
  if (way_ == Way::kReplace)
    move(target, origin);
  else if (way_ != Way::kRead)
    kernel_(origin, target, n);
}

namespace {

// The elements of all sides, in step.
class Steps {
 public:
  Steps(const ElementOp& op, const Buffer& target, const Buffer& origin,
        const Buffer* result, Count first) noexcept
      : op_(op), to_(target.base, *target.type, target.count, op.element(), first) {
    if (origin.type != nullptr)
      from_.emplace(origin.base, *origin.type, origin.count, op.element());
    if (result != nullptr)
      back_.emplace(result->base, *result->type, result->count, op.element());
  }
  bool are_left() const noexcept {
    return to_.left() > 0 && (!from_ || from_->left() > 0) &&
           (!back_ || back_->left() > 0);
  }
  // Applies the operation to the next run, of `most` elements at most; returns their number.
  template <class Apply>
  Count once(Count most, Apply apply) noexcept {
    Count n = std::min(most, to_.run());
    if (from_) n = std::min(n, from_->run());
    if (back_) n = std::min(n, back_->run());
    (op_.*apply)(to_.address(), from_ ? from_->address() : nullptr,
                 back_ ? back_->address() : nullptr, n);
    to_.pass(n);
    if (from_) from_->pass(n);
    if (back_) back_->pass(n);
    return n;
  }

 private:
  const ElementOp& op_;
  dt::ElementRuns to_;
  std::optional<dt::ElementRuns> from_, back_;
};

// From so many bytes of a target's memory on one lock costs less than the atomics.
constexpr Count kManyBytes = 512;
// The lock is held for some microseconds; then others have a chance.
constexpr Count kMostUnderLock = 4096;

}  // namespace

void accumulate(const ElementOp& op, const Buffer& target, const Buffer& origin,
                const Buffer* result, Count first) noexcept {
  Steps steps(op, target, origin, result, first);
  while (steps.are_left()) steps.once(INT64_MAX, &ElementOp::apply_run);
}

void accumulate(const AccumulateGate::Passage& who, const ElementOp& op,
                const Buffer& target, const Buffer& origin, const Buffer* result,
                Count first) noexcept {
  AccumulateGate& gate = who.gate;
  const bool is_many = target.bytes() - first * op.element().size() >= kManyBytes &&
                       (origin.type == nullptr || origin.bytes() >= kManyBytes);
  if (is_many ? !gate.close() : !gate.is_closed())
    return AccumulateGate::pass(who,
                                [&] { accumulate(op, target, origin, result, first); });
  Steps steps(op, target, origin, result, first);
  while (steps.are_left()) {
    const Locked alone(gate.lock_of(who.target));
    for (Count left = kMostUnderLock; left > 0 && steps.are_left();)
      left -= steps.once(left, &ElementOp::apply_alone);
  }
}

namespace {

template <class Word>
void swap_word(void* target, const void* origin, const void* expected,
               void* result) noexcept {
  const Word old = Processor<Word>::compare_and_swap(target, load<Word>(expected),
                                                     load<Word>(origin));
  std::memcpy(result, &old, sizeof old);
}

void swap_striped(size_t bytes, void* target, const void* origin, const void* expected,
                  void* result) noexcept {
  const Locked inside(stripe_of(target));
  const bool is_equal = std::memcmp(target, expected, bytes) == 0;
  std::memcpy(result, target, bytes);
  if (is_equal) std::memcpy(target, origin, bytes);
}

}  // namespace

void compare_and_swap(const dt::Datatype& element, void* target, const void* origin,
                      const void* expected, void* result) noexcept {
  const Count bytes = element.extent();
  if (!is_atomic_size(bytes) || !is_aligned(target, bytes))
    return swap_striped(static_cast<size_t>(bytes), target, origin, expected, result);
  switch (bytes) {
    case 1:
      return swap_word<uint8_t>(target, origin, expected, result);
    case 2:
      return swap_word<uint16_t>(target, origin, expected, result);
    case 4:
      return swap_word<uint32_t>(target, origin, expected, result);
    default:
      return swap_word<uint64_t>(target, origin, expected, result);
  }
}

}  // namespace mpc::rma
