#include "mpi/fortran/section.h"

#include <array>
#include <utility>
#include <vector>

#include "mpi/fortran/convert.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/request.h"
#include "mpi/objects/type_object.h"
#include "runtime/datatype/abi.h"
#include "runtime/datatype/cursor.h"

namespace mpc::mpi::fortran {
namespace {

using dt::Datatype;
using dt::TypeRef;

const Datatype& bytes() noexcept { return *dt::predefined(dt::abi::kByte); }

// The committed datatype of a handle; null: it cannot be used for a message.
const Datatype* committed(MPI_Fint handle) noexcept {
  const Datatype* type = nullptr;
  if (lookup(to_c<MPI_Datatype>(handle), &type).code != MPI_SUCCESS) return nullptr;
  return type->is_committed() ? type : nullptr;
}

// The first elements of a section, in array element order: whole slabs of the last dimension,
// then whole slabs of the one before in the next slab, and so on; at the end a part of an element.
class Prefix {
 public:
  Prefix(const Array& array, const Datatype& element) : array_(array) {
    slabs_[0] = TypeRef(&element);
    sizes_[0] = 1;
  }
  // `parts` of `part` follow the `n` elements. Null if there is no such datatype.
  TypeRef make(Count n, const Datatype& part, Count parts) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number of dimensions
    const int rank = array_.rank;
    for (int d = 1; d < rank; ++d) {
      const auto& dimension = array_.dimension[d - 1];
      if (dimension.extent <= 0 || !stack(d, dimension.extent)) return {};
      slabs_[d] = std::move(stacked_);
      sizes_[d] = sizes_[d - 1] * dimension.extent;
    }
    Count at = 0;
    for (int d = rank; d > 0; --d) {
      const Count slabs = n / sizes_[d - 1];
      if (slabs > 0) {
        if (!stack(d, slabs)) return {};
        add(at, std::move(stacked_));
      }
      at += slabs * array_.dimension[d - 1].stride_bytes;
      n -= slabs * sizes_[d - 1];
    }
    if (parts > 0) {
      auto rest = dt::make_contiguous(parts, part);
      if (!rest) return {};
      add(at, std::move(*rest));
    }
    return join();
  }

 private:
  bool stack(int d, Count slabs) {
    auto made = dt::make_hvector(slabs, 1, array_.dimension[d - 1].stride_bytes,
                                 *slabs_[static_cast<size_t>(d - 1)]);
    if (made) stacked_ = std::move(*made);
    return static_cast<bool>(made);
  }
  void add(Count at, TypeRef type) {
    at_.push_back(at);
    lengths_.push_back(1);
    types_.push_back(std::move(type));
  }
  TypeRef join() {
    std::vector<const Datatype*> types;
    for (const TypeRef& type : types_) types.push_back(type.get());
    auto made = dt::make_struct(lengths_, at_, types);
    return made ? std::move(*made) : TypeRef{};
  }

  const Array& array_;
  std::array<TypeRef, Array::kMaxRank + 1> slabs_;
  std::array<Count, Array::kMaxRank + 1> sizes_{};
  TypeRef stacked_;
  std::vector<Count> at_, lengths_;
  std::vector<TypeRef> types_;
};

// A message without gaps. Its elements keep their types where these fit into the array's elements.
TypeRef dense_message(const Array& array, const Datatype& type, Count count) {
  const auto element = static_cast<Count>(array.element_bytes);
  const Datatype* unit = &type;
  if (element % unit->size() != 0)
    unit = type.uniform_code() != 0 ? dt::predefined(type.uniform_code()) : nullptr;
  if (unit == nullptr || element % unit->size() != 0) unit = &bytes();
  auto whole = dt::make_contiguous(element / unit->size(), *unit);
  if (!whole) return {};
  const Count all = count * type.size();
  return Prefix(array, **whole)
      .make(all / element, *unit, all % element / unit->size());
}

// Any other message: byte by byte from the places where the datatype would find the bytes if the
// array had no gaps.
TypeRef sparse_message(const Array& array, const Datatype& type, Count count) {
  const auto element = static_cast<Count>(array.element_bytes);
  std::vector<Count> at, lengths;
  dt::Cursor cursor(nullptr, type.layout(), count, type.extent(), 0);
  while (cursor.leaf() != nullptr) {
    const auto from =
        static_cast<Count>(reinterpret_cast<uintptr_t>(cursor.position()));
    if (from < 0) return {};
    const Count n =
        std::min<Count>(cursor.contiguous_bytes(), element - from % element);
    const Count to = array.offset_of(from / element) + from % element;
    if (!at.empty() && at.back() + lengths.back() == to) {
      lengths.back() += n;
    } else {
      at.push_back(to);
      lengths.push_back(n);
    }
    cursor.pass_bytes(n);
  }
  auto made = dt::make_hindexed(lengths, at, bytes());
  return made ? std::move(*made) : TypeRef{};
}

// The single distance between consecutive elements; 0: there are several distances.
ptrdiff_t only_stride(const Array& array) noexcept {
  ptrdiff_t stride = 0, next = 0;
  for (int d = 0; d < array.rank; ++d) {
    const auto& dimension = array.dimension[d];
    if (dimension.extent == 1) continue;
    if (stride == 0)
      stride = dimension.stride_bytes;
    else if (dimension.stride_bytes != next)
      return 0;
    next = dimension.stride_bytes * dimension.extent;
  }
  return stride;
}

}  // namespace

bool Array::has_no_gaps() const noexcept {
  auto expected = static_cast<ptrdiff_t>(element_bytes);
  for (int d = 0; d < rank; ++d) {
    const Dimension& in = dimension[d];
    if (in.extent == 0) return true;
    if (in.extent != 1 && in.stride_bytes != expected) return false;
    if (in.extent < 0) return true;  // of assumed size: the last one
    expected *= in.extent;
  }
  return true;
}

ptrdiff_t Array::offset_of(ptrdiff_t element) const noexcept {
  ptrdiff_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const bool is_last = d == rank - 1;
    const ptrdiff_t extent = dimension[d].extent;
    const ptrdiff_t index = is_last || extent <= 0 ? element : element % extent;
    offset += index * dimension[d].stride_bytes;
    if (!is_last && extent > 0) element /= extent;
  }
  return offset;
}

ptrdiff_t Array::elements() const noexcept {
  ptrdiff_t n = 1;
  for (int d = 0; d < rank; ++d) n *= dimension[d].extent;
  return n;
}

// A copy of a section without gaps, and the way back.
class SectionCopy {
 public:
  SectionCopy(const Array& array, TypeRef type, bool is_written)
      : array_base_(array.base),
        type_(std::move(type)),
        size_(static_cast<size_t>(type_->size())),
        is_written_(is_written),
        bytes_(new char[size_]) {
    load();
  }
  void load() noexcept { dt::pack(array_base_, *type_, 1, 0, bytes_.get(), size_); }
  void store() noexcept {
    if (is_written_) dt::unpack(array_base_, *type_, 1, 0, bytes_.get(), size_);
  }
  void* get() const noexcept { return bytes_.get(); }

 private:
  void* array_base_;
  TypeRef type_;
  size_t size_;
  bool is_written_;
  std::unique_ptr<char[]> bytes_;
};

Section::Section(const Array& array, Use use) noexcept
    : array_(array),
      use_(use),
      has_gaps_(!array.is_contiguous()),
      address_(array.base) {}

Section::~Section() {
  if (copy_) copy_->store();
  if (type_ == kNone) return;
  auto handle = to_c<MPI_Datatype>(type_);
  PMPI_Type_free(&handle);  // operations in flight keep the type
}

void Section::take(TypeRef type) {
  if (!type) return;
  type->commit();
  type_ = to_fortran(create_type_handle(std::move(type)));
}

void Section::use_message(MPI_Count count, MPI_Fint handle) {
  const Datatype* type = has_gaps_ ? committed(handle) : nullptr;
  if (type == nullptr || count <= 0 || type->size() == 0 || array_.element_bytes == 0)
    return;
  take(type->is_contiguous() ? dense_message(array_, *type, count)
                             : sparse_message(array_, *type, count));
  is_message_ = type_ != kNone;
}

void Section::use_elements(MPI_Fint handle) {
  const Datatype* type = has_gaps_ ? committed(handle) : nullptr;
  if (type == nullptr) return;
  const ptrdiff_t stride = only_stride(array_);
  if (stride <= 0 || !type->is_contiguous() ||
      static_cast<size_t>(type->size()) != array_.element_bytes)
    return use_whole();
  if (auto resized = dt::make_resized(*type, 0, stride)) take(std::move(*resized));
}

void Section::use_partitions(MPI_Fint handle) {
  use_elements(handle);
  if (copy_ == nullptr) return;
  copy_.reset();
  address_ = nullptr;
}

void Section::use_whole() {
  if (!has_gaps_) return;
  auto element = dt::make_contiguous(static_cast<Count>(array_.element_bytes), bytes());
  if (!element) return;
  TypeRef type = Prefix(array_, **element).make(array_.elements(), bytes(), 0);
  if (!type) return;
  copy_ = std::make_unique<SectionCopy>(array_, std::move(type), use_ == kWritten);
  address_ = copy_->get();
}

namespace {
struct Copies final : StagedBuffers {
  void load() noexcept override {
    for (auto& copy : list) copy->load();
  }
  void store() noexcept override {
    for (auto& copy : list) copy->store();
  }
  std::vector<std::unique_ptr<SectionCopy>> list;
};
}  // namespace

void keep(MPI_Fint handle, std::initializer_list<Section*> sections) {
  Request* request = nullptr;
  if (lookup(to_c<MPI_Request>(handle), &request).code != MPI_SUCCESS) return;
  const bool is_small = request->kind() == RequestKind::kSmallCollective;
  if (!request->collective && !is_small) return;  // it is over already
  auto copies = std::make_unique<Copies>();
  for (Section* section : sections)
    if (section->copy_) copies->list.push_back(std::move(section->copy_));
  if (copies->list.empty()) return;
  (is_small ? request->staged : request->collective->staged) = std::move(copies);
}

}  // namespace mpc::mpi::fortran
