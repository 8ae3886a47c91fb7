#include "mpi/objects/op.h"

#include <fmt/format.h>

#include <array>
#include <climits>

#include "base/mpi_handle_names.h"
#include "base/settings.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"
#include "runtime/datatype/reduce.h"

namespace mpc::mpi {
namespace {

using detail::kFirstOp, detail::kOpCount;

// Belongs to the process, created at the first use, never freed.
std::array<Op*, kOpCount>& table() {
  static auto* const ops = [] {
    auto* t = new std::array<Op*, kOpCount>{};
    using namespace dt::abi;
    for (const uint32_t code : {kSum, kMin, kMax, kProd, kBand, kBor, kBxor, kLand,
                                kLor, kLxor, kMinloc, kMaxloc, kNoOp})
      (*t)[code - kFirstOp] = new Op(-1, code, true);
    (*t)[kReplace - kFirstOp] = new Op(-1, kReplace, false);
    detail::predefined_ops.store(t->data(), std::memory_order_release);
    return t;
  }();
  return *ops;
}

enum WhereToRun { kByThreadLevel, kInCalls, kAnywhere };
constexpr const char* kPlaces[] = {"auto", "calls", "background"};
EnumSetting functions_setting{"mpi.user_functions", kByThreadLevel, kPlaces, 3,
                              "Where functions of the user's operations run: in MPI "
                              "calls of their rank only, or also in the "
                              "background while the rank computes; auto: in the "
                              "background for ranks that have asked "
                              "for MPI_THREAD_MULTIPLE"};

bool may_run_in_background() noexcept {
  const int place = functions_setting.get();
  if (place != kByThreadLevel) return place == kAnywhere;
  return rank_state()->thread_level == MPI_THREAD_MULTIPLE;
}

}  // namespace

constinit std::atomic<Op* const*> detail::predefined_ops{nullptr};

Op* predefined_op(MPI_Op handle) noexcept {
  const auto code = reinterpret_cast<uintptr_t>(handle);
  if (code < kFirstOp || code >= kFirstOp + kOpCount) return nullptr;
  return table()[code - kFirstOp];
}

const char* Op::name() const noexcept { return abi::handle_name(code_); }

MPI_Op Op::handle() noexcept {
  return is_predefined() ? reinterpret_cast<MPI_Op>(static_cast<uintptr_t>(code_))
                         : reinterpret_cast<MPI_Op>(this);
}

void Op::drop() noexcept {
  if (is_predefined() || !release()) return;
  forget_handle(*this);
  delete this;
}

BoundOp::~BoundOp() {
  if (op_ != nullptr) op_->drop();
  keep(nullptr);
}

void BoundOp::keep(DatatypeObject* object) noexcept {
  if (object_ != nullptr) drop_type_object(object_);
  object_ = object;
}

Err BoundOp::bind(Op& op, const dt::Datatype& type, MPI_Datatype handle) {
  reduction_.commutative = op.commutes();
  reduction_.is_user = !op.is_predefined();
  reduction_.may_run_in_background = reduction_.is_user && may_run_in_background();
  reduction_.context = this;
  reduction_.apply = apply;
  reduction_.apply3 = nullptr;
  handle_ = handle;
  if (op.is_predefined()) {
    // A duplicate of a predefined type is as good as the type (MPI-4.1 section 6.9.2).
    const uint32_t code = type.is_predefined() ? type.abi_code() : dup_code(type);
    kernel_ =
        code == 0 || !op.is_reduction() ? nullptr : dt::reduction(op.code(), code);
    if (kernel_ == nullptr)
      return fail(MPI_ERR_OP, fmt::format("{} is not defined for {}", op.name(),
                                          code == 0 ? "a derived datatype"
                                                    : predefined_type_name(code)));
    reduction_.apply = [](void* context, const void* in, void* inout, dt::Count n) {
      static_cast<BoundOp*>(context)->kernel_(in, inout, n);
    };
    kernel3_ = dt::reduction3(op.code(), code);
    if (kernel3_ != nullptr)
      reduction_.apply3 = [](void* context, const void* a, const void* b, void* out,
                             dt::Count n) {
        static_cast<BoundOp*>(context)->kernel3_(a, b, out, n);
      };
  }
  // Predefined ones are not counted: the count's cache line would move from rank to rank with each
  // call.
  if (!op.is_predefined()) op.retain();
  if (op_ != nullptr) op_->drop();
  op_ = &op;
  type_ = dt::TypeRef(&type);
  DatatypeObject* object = nullptr;
  if (reduction_.is_user && !type.is_predefined()) {
    object = reinterpret_cast<DatatypeObject*>(handle);
    object
        ->retain();  // the handle stays valid for the function, even if it is freed now
  }
  keep(object);
  return kSuccess;
}

uint32_t BoundOp::dup_code(const dt::Datatype& type) noexcept {
  const dt::Datatype* t = &type;
  while (!t->is_predefined() && t->contents().combiner == dt::abi::kCombinerDup)
    t = t->contents().types[0];
  return t->is_predefined() ? t->abi_code() : 0;
}

void BoundOp::apply_alone(void* context, const void* in, void* inout, dt::Count n) {
  const nbc::Reduction& reduction = static_cast<BoundOp*>(context)->reduction_;
  if (!reduction.is_user) return reduction.apply(context, in, inout, n);
  const nbc::UserCode alone(*rank_state()->rank);
  apply(context, in, inout, n);
}

void BoundOp::apply(void* context, const void* in, void* inout, dt::Count n) {
  auto& self = *static_cast<BoundOp*>(context);
  void* source = const_cast<void*>(in);  // the ABI's function type has no const
  const Op& op = *self.op_;
  MPI_Datatype handle = self.handle_;
  if (op.large_function != nullptr) {
    MPI_Count count = n;
    if (op.language == Language::kC) {
      op.large_function(source, inout, &count, &handle);
    } else {
      int type = handle_to_int(handle, Kind::kDatatype);
      using FortranFunction = void(void*, void*, MPI_Count*, int*);
      reinterpret_cast<FortranFunction*>(op.large_function)(source, inout, &count,
                                                            &type);
    }
    return;
  }
  const dt::Count extent = self.type_->extent();
  while (n > 0) {
    int count = static_cast<int>(std::min<dt::Count>(n, INT_MAX));
    if (op.language == Language::kC) {
      reinterpret_cast<MPI_User_function*>(op.function)(source, inout, &count, &handle);
    } else {
      int type = handle_to_int(handle, Kind::kDatatype);
      using FortranFunction = void(void*, void*, int*, int*);
      reinterpret_cast<FortranFunction*>(op.function)(source, inout, &count, &type);
    }
    n -= count;
    source = static_cast<char*>(source) + count * extent;
    inout = static_cast<char*>(inout) + count * extent;
  }
}

}  // namespace mpc::mpi
