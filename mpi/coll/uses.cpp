#include "mpi/coll/uses.h"

#include <numeric>
#include <vector>

#include "mpi/objects/watch.h"
#include "nbc/schedule/coll.h"

namespace mpc::mpi::impl {
namespace {

using nbc::Layout;

enum Side { kSend = 0, kRecv = 1 };

// Collects the buffers that one call uses.
class Uses {
 public:
  explicit Uses(const Call& call) : call_(call), shape_(call.shape) {
    const nbc::CollTraits& traits = nbc::traits_of(shape_.coll);
    if (call.comm.is_inter()) return;  // not checked
    add(kSend, traits.send);
    const bool is_idle_side = traits.is_reduction && traits.is_rooted() && !is_root();
    if (!is_idle_side) add(kRecv, traits.recv);
  }
  std::vector<BufferUse> take() { return std::move(list_); }

 private:
  bool is_root() const noexcept { return shape_.rank == shape_.root; }
  size_t blocks(Side side) const noexcept {
    if (!nbc::traits_of(shape_.coll).is_neighborhood)
      return static_cast<size_t>(shape_.size);
    return (side == kSend ? shape_.destinations : shape_.sources).size();
  }
  std::span<const Count> counts(Side side) const noexcept {
    return side == kSend ? shape_.send_counts : shape_.recv_counts;
  }
  // The one buffer of a broadcast is the data that the root sends.
  bool writes(Side side) const noexcept {
    return side == kRecv && !(shape_.coll == Coll::kBcast && is_root());
  }
  // Number of elements of a buffer that is one block: a scattered vector is as long as all its
  // parts.
  Count whole(Side side) const {
    const bool is_all = side == kSend || shape_.is_in_place;
    if (shape_.coll == Coll::kReduceScatterBlock)
      return shape_.recv_count * (is_all ? shape_.size : 1);
    if (shape_.coll == Coll::kReduceScatter)
      return is_all ? std::accumulate(shape_.recv_counts.begin(),
                                      shape_.recv_counts.end(), Count{0})
                    : shape_.recv_counts[static_cast<size_t>(shape_.rank)];
    return side == kSend ? shape_.send_count : shape_.recv_count;
  }

  void add(Side side, Layout layout) {
    if (side == kSend && shape_.is_in_place && call_.buffers[kSend] == nullptr) return;
    if (layout == Layout::kNone) return;
    if (layout == Layout::kTyped) return add_typed(side);
    if (call_.pair[side] == nullptr) return;
    const dt::Datatype& type = *call_.pair[side];
    if (layout == Layout::kWhole) return add_block(side, 0, whole(side), type);
    if (layout == Layout::kBlocks) {
      const Count count = side == kSend ? shape_.send_count : shape_.recv_count;
      return add_block(side, 0, count * static_cast<Count>(blocks(side)), type);
    }
    const auto displs = side == kSend ? shape_.send_displs : shape_.recv_displs;
    for (size_t i = 0; i < counts(side).size(); ++i)
      add_block(side, displs[i] * type.extent(), counts(side)[i], type);
  }
  void add_typed(Side side) {
    const auto displs = side == kSend ? shape_.send_displs : shape_.recv_displs;
    const size_t first = side == kSend ? 0 : blocks(kSend);
    for (size_t i = 0; i < counts(side).size(); ++i)
      add_block(side, displs[i], counts(side)[i], *call_.many_types[first + i]);
  }
  void add_block(Side side, Count offset_bytes, Count count, const dt::Datatype& type) {
    if (count == 0 || type.size() == 0) return;
    const auto base = reinterpret_cast<uintptr_t>(call_.buffers[side]) +
                      static_cast<uintptr_t>(offset_bytes);
    list_.emplace_back(reinterpret_cast<const void*>(base), count, type, writes(side),
                       this_call());
  }

  const Call& call_;
  const nbc::Shape& shape_;
  std::vector<BufferUse> list_;
};

}  // namespace

void look_at_buffers(const Call& call) {
  Watch::here().buffers.look(Uses(call).take());
}

void watch_buffers(Request& request, const Call& call, bool is_persistent) {
  auto watched = std::make_shared<Watched>();
  watched->site = this_call();
  watched->is_persistent = is_persistent;
  watched->uses = Uses(call).take();
  Watch& watch = Watch::here();
  if (!is_persistent) watch.buffers.begin(watched.get(), watched->uses);
  const std::lock_guard lock(watch.mutex);
  watch.requests[&request] = std::move(watched);
}

}  // namespace mpc::mpi::impl
