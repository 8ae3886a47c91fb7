#include "mpi/ext/user_schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"
#include "nbc/algorithms/collectives.h"

namespace mpc::mpi {

namespace {

constexpr uint16_t kFirstSlot = nbc::kScratch + 1;
constexpr size_t kMaxSlots = 60000;

// The bytes that `ref` touches: addresses [low, high).
struct Range {
  int64_t low, high;
};

Range range_of(const nbc::BufferRef& ref, const dt::Datatype& type) {
  const int64_t first = ref.offset + type.true_lb();
  const int64_t last = first + (ref.count - 1) * type.extent();
  return {std::min(first, last), std::max(first, last) + type.true_extent()};
}

// One start, or one persistent request: keeps operation, types and nodes alive.
struct UserCall final : CollectiveState {
  explicit UserCall(UserSchedule& of) noexcept : schedule(of) { schedule.retain(); }
  ~UserCall() override {
    collective.reset();
    schedule.drop();
  }
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;
  UserSchedule& schedule;
};

Err check_object(void* handle, Kind kind, const char* what, Object** out) {
  if (handle == nullptr)
    return fail(MPI_ERR_ARG, fmt::format("the {} is the null handle", what));
  const auto address = reinterpret_cast<uintptr_t>(handle);
  if (address < kPredefinedEnd || address % alignof(Object) != 0)
    return fail(MPI_ERR_ARG, fmt::format("{} is no {} handle", handle, what));
  Object* object = object_of(handle);
  if (!object->is_alive() || object->kind() != kind)
    return fail(MPI_ERR_ARG, fmt::format("the {} is freed, or never was one", what));
  if (object->owner() != rank_state()->rank->world_rank)
    return fail(MPI_ERR_ARG,
                fmt::format("the {} belongs to rank {}", what, object->owner()));
  *out = object;
  return kSuccess;
}

Err check_tag(int tag) {
  if (tag >= 0 && tag < nbc::kTagsPerCollective) return kSuccess;
  return fail(MPI_ERR_TAG, fmt::format("tag {} of a node is not in 0..{}", tag,
                                       nbc::kTagsPerCollective - 1));
}

}  // namespace

UserSchedule::UserSchedule(Comm& comm) noexcept
    : Object(Kind::kUserSchedule, comm.self().world_rank), comm_(&comm) {
  comm_->retain();
}

UserSchedule::~UserSchedule() { comm_->drop(); }

void UserSchedule::drop() noexcept {
  if (release()) delete this;
}

Err UserSchedule::make_request(bool is_persistent, Request** out) {
  auto call = std::make_unique<UserCall>(*this);
  nbc::Binding binding;
  binding.buffers = buffers_;
  binding.types = types_;
  binding.reduction = op_.reduction();
  binding.world_ranks = comm_->peers();
  binding.my_rank = comm_->rank();
  binding.context = comm_->collective_context();
  const uint32_t sequence =
      is_persistent ? comm_->next_persistent() : comm_->next_collective();
  binding.tag_base = nbc::tag_base(sequence, is_persistent);
  call->collective = nbc::create(comm_->self(), schedule_, binding);
  if (call->collective == nullptr)
    return fail(MPI_ERR_NO_MEM, "no memory for a collective in flight");
  nbc::set_on_complete(
      *call->collective,
      [](void* self) { msg::notify(*static_cast<job::Rank*>(self)); }, &comm_->self());
  *out = Request::make(*rank_state(), RequestKind::kCollective, comm_,
                       is_persistent ? "MPCX_Schedule_init" : "MPCX_Schedule_start");
  (*out)->collective = std::move(call);
  (*out)->is_persistent = is_persistent;
  return kSuccess;
}

UserBuilder::UserBuilder(Comm& comm)
    : Object(Kind::kUserBuilder, comm.self().world_rank),
      result_(new UserSchedule(comm)) {}

UserBuilder::~UserBuilder() {
  if (result_ != nullptr) result_->drop();
}

// Until commit() the offset is the address itself.
nbc::BufferRef UserBuilder::ref_of(const Region& region) {
  auto& types = result_->types_;
  auto known = std::find(types.begin(), types.end(), region.type);
  if (known == types.end()) {
    types.push_back(region.type);
    result_->kept_types_.emplace_back(region.type);
    known = types.end() - 1;
  }
  return {kFirstSlot, static_cast<uint16_t>(known - types.begin()),
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(region.address)),
          region.count};
}

Err UserBuilder::send(const Region& from, int peer, int tag, nbc::NodeId* out) {
  MPC_MPI_TRY(check_tag(tag));
  *out = peer == MPI_PROC_NULL ? nop() : builder_.send(peer, ref_of(from), tag);
  return kSuccess;
}

Err UserBuilder::recv(const Region& to, int peer, int tag, nbc::NodeId* out) {
  MPC_MPI_TRY(check_tag(tag));
  *out = peer == MPI_PROC_NULL ? nop() : builder_.recv(peer, ref_of(to), tag);
  return kSuccess;
}

Err UserBuilder::copy(const Region& from, const Region& to, nbc::NodeId* out) {
  if (from.count * from.type->size() > to.count * to.type->size())
    return fail(MPI_ERR_TRUNCATE,
                "MPCX_Copy: the source has more bytes than the target");
  *out = builder_.copy(ref_of(from), ref_of(to));
  return kSuccess;
}

Err UserBuilder::reduce(const Region& in, const Region& inout, Op& op,
                        MPI_Datatype handle, nbc::NodeId* out) {
  const nbc::BufferRef first = ref_of(in), second = ref_of(inout);
  if (result_->reduces_with_ == nullptr) {
    MPC_MPI_TRY(result_->op_.bind(op, *inout.type, handle));
    result_->reduces_with_ = &op;
    reduced_type_ = inout.type;
  } else if (result_->reduces_with_ != &op || reduced_type_ != inout.type) {
    return fail(MPI_ERR_OP,
                "MPCX_Reduce: all reductions of a schedule must have the same "
                "operation and datatype");
  }
  *out = builder_.reduce(first, second);
  return kSuccess;
}

Err UserBuilder::connect(int before, int after) {
  const auto count = static_cast<int>(builder_.node_count());
  for (const int node : {before, after})
    if (node < -1 || node >= count)
      return fail(MPI_ERR_ARG, fmt::format("MPCX_Connect: {} is no node; there are {}",
                                           node, count));
  if (before >= 0 && after >= 0)
    builder_.connect(static_cast<nbc::NodeId>(before), static_cast<nbc::NodeId>(after));
  return kSuccess;
}

// Buffers become slots, one for each stretch of memory without holes, so that a dump shows
// meaningful offsets.
void UserBuilder::rebase() {
  std::vector<nbc::BufferRef*> refs;
  for (nbc::NodeId id = 0; id < builder_.node_count(); ++id) {
    nbc::Node& node = builder_.node(id);
    for (nbc::BufferRef* p : {&node.from, &node.to})
      if (p->count > 0) refs.push_back(p);
  }
  const auto range = [&](const nbc::BufferRef* p) {
    return range_of(*p, *result_->types_[p->type]);
  };
  std::sort(refs.begin(), refs.end(),
            [&](const nbc::BufferRef* a, const nbc::BufferRef* b) {
              return range(a).low < range(b).low;
            });
  result_->buffers_.assign(kFirstSlot, nullptr);
  result_->slot_bytes_.assign(kFirstSlot, 0);
  int64_t end = 0, base = 0;
  size_t slots = 0;
  for (nbc::BufferRef* p : refs) {
    const Range r = range(p);
    if (slots == 0 || (r.low > end && slots < kMaxSlots)) {
      ++slots;
      base = r.low;
      end = r.high;
      result_->buffers_.push_back(
          reinterpret_cast<void*>(static_cast<uintptr_t>(base)));
      result_->slot_bytes_.push_back(0);
    }
    end = std::max(end, r.high);
    result_->slot_bytes_.back() = end - base;
    p->slot = static_cast<uint16_t>(kFirstSlot + slots - 1);
    p->offset -= base;
  }
  if (slots == 0) {
    result_->buffers_.push_back(nullptr);
    result_->slot_bytes_.push_back(0);
  }
}

Err UserBuilder::commit(UserSchedule** out) {
  if (is_spent_)
    return fail(MPI_ERR_ARG,
                "MPCX_Commit: this builder's graph was found wrong before");
  is_spent_ = true;
  rebase();
  auto schedule = builder_.finish();
  if (!schedule)
    return fail(MPI_ERR_ARG, fmt::format("MPCX_Commit: {}", schedule.error().message));
  result_->schedule_ = std::move(*schedule);
  *out = std::exchange(result_, nullptr);
  return kSuccess;
}

Err lookup_own(void* handle, UserBuilder** out) {
  Object* object = nullptr;
  MPC_MPI_TRY(check_object(handle, Kind::kUserBuilder, "schedule builder", &object));
  *out = static_cast<UserBuilder*>(object);
  return kSuccess;
}

Err lookup_own(void* handle, UserSchedule** out) {
  Object* object = nullptr;
  MPC_MPI_TRY(check_object(handle, Kind::kUserSchedule, "schedule", &object));
  *out = static_cast<UserSchedule*>(object);
  return kSuccess;
}

}  // namespace mpc::mpi
