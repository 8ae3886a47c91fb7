#pragma once
// Accumulate: operations on elements of a window, each element as a whole.
//
// Role:      accumulate, get-accumulate, fetch-and-op, compare-and-swap on memory in this process.
// Users:     mpi/rma.
// Threads:   any; elements of one predefined type that several threads change at once stay whole,
//            buffers of the origin belong to the caller.
// See also:  runtime/rma/element_atomics.h, runtime/rma/accumulate_gate.h; MPI-4.1 sections 12.3.4 and 12.7.

#include "runtime/datatype/elements.h"
#include "runtime/datatype/reduce.h"
#include "runtime/rma/accumulate_gate.h"

namespace mpc::rma {

using dt::Count;

// `count` of `type` at an address.
struct Buffer {
  void* base = nullptr;
  const dt::Datatype* type = nullptr;
  Count count = 0;

  Count bytes() const noexcept { return type->size() * count; }
};

// An operation with an element type: target = target op origin.
class ElementOp {
 public:
  // False: MPI has no such operation for the type. `op_code`: dt::abi::Op.
  static bool make(uint32_t op_code, const dt::Datatype& element,
                   ElementOp* out) noexcept;

  const dt::Datatype& element() const noexcept { return *element_; }
  // One element: `result`, if not null, receives the old value; `origin` is not read for MPI_NO_OP.
  void apply(void* target, const void* origin, void* result) const noexcept;
  // `n` of them one after another.
  void apply_run(char* target, const char* origin, char* result,
                 Count n) const noexcept;
  // The same by a thread that holds the lock of a closed gate.
  void apply_alone(char* target, const char* origin, char* result,
                   Count n) const noexcept;

 private:
  enum class Way : uint8_t { kKernel, kAdd, kReplace, kRead };
  template <class Word>
  void apply_words(char* target, const char* origin, char* result,
                   Count n) const noexcept;
  void apply_elements(char* target, const char* origin, char* result,
                      Count n) const noexcept;
  void combine_words(char* target, const char* origin, char* result,
                     Count n) const noexcept;
  void move_bytes(char* target, const char* origin, char* result,
                  Count bytes) const noexcept;
  void apply_striped(char* target, const char* origin, char* result,
                     Count n) const noexcept;

  const dt::Datatype* element_ = nullptr;
  dt::ReduceFn kernel_ = nullptr;
  Way way_ = Way::kKernel;
};

// Combines elements pairwise, as many as both (with a result: all three) have. `origin.type` is
// null for MPI_NO_OP, `result` for an accumulate. All types consist of op.element(). `first`:
// number of elements of the target to skip (a part of an operation that arrived in several).
void accumulate(const ElementOp& op, const Buffer& target, const Buffer& origin,
                const Buffer* result, Count first = 0) noexcept;
// The same through the window's gate, which a long operation closes.
void accumulate(const AccumulateGate::Passage& who, const ElementOp& op,
                const Buffer& target, const Buffer& origin, const Buffer* result,
                Count first = 0) noexcept;

// `element` is an integer or a logical type, of any size.
void compare_and_swap(const dt::Datatype& element, void* target, const void* origin,
                      const void* expected, void* result) noexcept;

}  // namespace mpc::rma
