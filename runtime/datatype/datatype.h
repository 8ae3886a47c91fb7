#pragma once
// Datatype: an MPI type map with its bounds, layout, signature and history.
//
// Role:      everything of MPI-4.1 chapter 5 below handles: constructors, copy from layout to
//            layout, pack and unpack at any byte offset, external32, element counts.
// Users:     runtime/message, runtime/transport, nbc, mpi.
// Threads:   a Datatype is immutable and may be shared between ranks; reference counts are
//            atomic. commit() is a flag.
// See also:  layout.h (normal form), cursor.h (walk), reduce.h (operations), abi.h (codes).
//
// Buffers may be null (MPI_BOTTOM) when the type carries absolute addresses.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/datatype/abi.h"
#include "runtime/datatype/contents.h"
#include "runtime/datatype/layout.h"
#include "runtime/datatype/signature.h"

namespace mpc::dt {

class Datatype;
class TypeBuilder;
struct Details;

// The datatype of an ABI code (abi::kInt ...); null if there is none. It must never be freed.
// Cost: one load.
const Datatype* predefined(uint32_t abi_code) noexcept;

class TypeRef;

class Datatype {
 public:
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;

  Count size() const noexcept { return size_; }  // bytes of data
  Count lb() const noexcept { return lb_; }
  Count extent() const noexcept { return extent_; }  // may be negative or zero
  Count ub() const noexcept { return lb_ + extent_; }
  // lb() or ub() was set explicitly (resized, subarray, MPI_LB, a part of those ...); in
  // types made from this one it hides bounds that were not (MPI-4.1 section 5.1.6).
  bool has_lb_marker() const noexcept { return has_lb_marker_; }
  bool has_ub_marker() const noexcept { return has_ub_marker_; }
  Count true_lb() const noexcept { return true_lb_; }
  Count true_extent() const noexcept { return true_extent_; }
  // Do `count` of them occupy count * size() bytes from the buffer on, without gaps?
  bool is_contiguous() const noexcept { return contiguous_; }
  bool is_committed() const noexcept {
    return committed_.load(std::memory_order_relaxed);  // own flag, orders nothing
  }
  // Lives as long as the process: a type with an ABI code, or one of f90_real() and friends.
  bool is_predefined() const noexcept { return permanent_; }
  uint32_t abi_code() const noexcept { return abi_code_; }  // 0 if it has none
  // The only basic type of which it consists; 0 if there are several or none.
  uint32_t uniform_code() const noexcept {
    return signature_.kind == SignatureKind::kBasic ? signature_.code : 0;
  }
  Count elements() const noexcept { return signature_.elements; }  // basic ones
  Count alignment() const noexcept { return alignment_; }  // largest of its basic types

  void commit() const noexcept {
    committed_.store(true, std::memory_order_relaxed);  // see is_committed()
  }

  const Layout& layout() const noexcept { return layout_; }
  const Signature& signature() const noexcept { return signature_; }
  SignatureHash signature_hash() const noexcept { return hash_; }
  const Contents& contents() const noexcept;

  void retain() const noexcept;
  void release() const noexcept;

 private:
  friend class TypeBuilder;
  friend struct PredefinedTable;  // the only maker of predefined types
  Datatype() = default;
  ~Datatype() = default;
  constexpr Datatype(uint32_t code, Count extent, Count true_extent, Count alignment,
                     const Layout& layout, const Signature& signature,
                     SignatureHash hash)  // predefined
      : size_(layout.bytes),
        extent_(extent),
        true_extent_(true_extent),
        contiguous_(layout.bytes == extent),
        permanent_(true),
        has_lb_marker_(code == abi::kLb),
        has_ub_marker_(code == abi::kUb),
        committed_(true),
        abi_code_(code),
        alignment_(alignment),
        layout_(layout),
        signature_(signature),
        hash_(hash) {}

  Count size_ = 0;
  Count extent_ = 0;
  Count lb_ = 0;
  Count true_lb_ = 0;
  Count true_extent_ = 0;
  bool contiguous_ = false;
  bool permanent_ = false;
  bool has_lb_marker_ = false, has_ub_marker_ = false;
  mutable std::atomic<bool> committed_{false};
  uint32_t abi_code_ = 0;
  Count alignment_ = 1;
  mutable std::atomic<uint32_t> references_{1};
  Layout layout_;
  Signature signature_;
  SignatureHash hash_;
  Details* details_ = nullptr;  // arena, contents; null for basic types
};

// Shares ownership of a Datatype. Predefined types are not counted.
class TypeRef {
 public:
  TypeRef() = default;
  explicit TypeRef(const Datatype* type) noexcept
      : type_(type) {  // takes a new reference
    if (is_counted()) type_->retain();
  }
  static TypeRef adopt(
      const Datatype* type) noexcept {  // takes over the caller's reference
    TypeRef ref;
    ref.type_ = type;
    return ref;
  }
  TypeRef(const TypeRef& other) noexcept : TypeRef(other.type_) {}
  TypeRef(TypeRef&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {}
  TypeRef& operator=(TypeRef other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~TypeRef() {
    if (is_counted()) type_->release();
  }
  const Datatype* get() const noexcept { return type_; }
  const Datatype* detach() noexcept { return std::exchange(type_, nullptr); }
  const Datatype& operator*() const noexcept { return *type_; }
  const Datatype* operator->() const noexcept { return type_; }
  explicit operator bool() const noexcept { return type_ != nullptr; }

 private:
  // References to predefined types, the most frequent ones, are not counted.
  bool is_counted() const noexcept {
    return type_ != nullptr && !type_->is_predefined();
  }

  const Datatype* type_ = nullptr;
};

// --- constructors (MPI-4.1 section 5.1.2 ff.) -------------------------------------------------
// A read-only view of an array of int (classic binding) or Count (`_c` binding, addresses).
class CountArray {
 public:
  CountArray() = default;
  CountArray(const int* values, size_t size) noexcept : ints_(values), size_(size) {}
  CountArray(const Count* values, size_t size) noexcept
      : counts_(values), size_(size) {}
  CountArray(const std::vector<int>& v) noexcept : CountArray(v.data(), v.size()) {}
  CountArray(const std::vector<Count>& v) noexcept : CountArray(v.data(), v.size()) {}
  size_t size() const noexcept { return size_; }
  Count operator[](size_t i) const noexcept { return ints_ ? ints_[i] : counts_[i]; }

 private:
  const int* ints_ = nullptr;
  const Count* counts_ = nullptr;
  size_t size_ = 0;
};

// Which binding called: decides where contents() puts the counts.
enum class Binding : bool { kClassic = false, kLarge = true };

// Units: strides and displacements in extents of the old type for vector, indexed and
// indexed_block; in bytes for the h-forms, struct and resized.
// Ownership: the result holds references to its parts. Not committed.
// Errors: kCount, kArg, kDims with the argument's name and value; kType for a null type;
// kCount as well if a bound or the size does not fit in 63 bits.
using B = Binding;
Result<TypeRef> make_contiguous(Count count, const Datatype& old,
                                B binding = B::kClassic);
Result<TypeRef> make_vector(Count count, Count block_length, Count stride,
                            const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_hvector(Count count, Count block_length, Count stride_bytes,
                             const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_indexed(CountArray block_lengths, CountArray displacements,
                             const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_hindexed(CountArray block_lengths, CountArray displacements,
                              const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_indexed_block(Count block_length, CountArray displacements,
                                   const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_hindexed_block(Count block_length, CountArray displacements,
                                    const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_struct(CountArray block_lengths, CountArray displacements,
                            std::span<const Datatype* const> types,
                            B binding = B::kClassic);
Result<TypeRef> make_subarray(CountArray sizes, CountArray subsizes, CountArray starts,
                              int order, const Datatype& old, B binding = B::kClassic);
Result<TypeRef> make_darray(int size, int rank, CountArray gsizes,
                            std::span<const int> distribs, std::span<const int> dargs,
                            std::span<const int> psizes, int order, const Datatype& old,
                            B binding = B::kClassic);
Result<TypeRef> make_resized(const Datatype& old, Count lb, Count extent,
                             B binding = B::kClassic);
Result<TypeRef> make_dup(const Datatype& old);  // committed if the old one is

// --- Fortran kinds and pairs ------------------------------------------------------------------
// The predefined type of a Fortran kind with `precision` decimal digits and decimal exponent
// range `range`; kAny for MPI_UNDEFINED. The same arguments give the same type; its contents
// return the arguments. Null if no kind of gfortran fits.
inline constexpr int kAny = abi::kUndefined;
const Datatype* f90_real(int precision, int range);
const Datatype* f90_complex(int precision, int range);
const Datatype* f90_integer(int range);
// The pair type for MINLOC and MAXLOC over these two types (MPI_Type_get_value_index); null if
// there is no such predefined type.
const Datatype* value_index_pair(const Datatype& value, const Datatype& index) noexcept;

// --- moving data ------------------------------------------------------------------------------
// Copies from one layout to another without a buffer between them.
// Returns the number of bytes copied, the smaller of both sides. The sides must not overlap.
size_t copy(void* dst, const Datatype& dst_type, Count dst_count, const void* src,
            const Datatype& src_type, Count src_count) noexcept;

// Packs bytes [offset, offset + out_bytes) of the packed form of `count` elements at `src`.
// Returns the number of bytes written; fewer than out_bytes at the end of the data.
// Cost: O(depth * log(entries)) to find the offset, then the copy.
size_t pack(const void* src, const Datatype& type, Count count, size_t offset,
            void* out, size_t out_bytes) noexcept;
// The reverse: `in` holds bytes [offset, offset + in_bytes) of the packed form.
size_t unpack(void* dst, const Datatype& type, Count count, size_t offset,
              const void* in, size_t in_bytes) noexcept;

// --- counting and matching ----------------------------------------------------------------------
// Number of whole elements of `type` in `bytes` bytes of data, or -1 (MPI_UNDEFINED) if that is not
// a whole number. A type of size 0 gives 0 for 0 bytes, else -1. (MPI_Get_count)
Count count_in(const Datatype& type, size_t bytes) noexcept;
// Number of basic elements in `bytes` bytes of data of any number of `type`; -1 if the last one is
// incomplete. (MPI_Get_elements)
Count elements_in(const Datatype& type, size_t bytes) noexcept;
// The reverse, for MPI_Status_set_elements: bytes of the first `elements` basic elements.
Count bytes_of_elements(const Datatype& type, Count elements) noexcept;
// Does `count` of `type` have the same sequence of basic types as that of the other?
// MPI_PACKED and MPI_BYTE are not treated specially here.
bool same_signature(const Datatype& a, Count a_count, const Datatype& b,
                    Count b_count) noexcept;

}  // namespace mpc::dt
