#include "mpi/p2p/partitioned.h"

#include <fmt/format.h>

#include "mpi/objects/rank_state.h"
#include "runtime/datatype/cursor.h"
#include "runtime/message/background.h"

namespace mpc::mpi {
namespace {

// An announcement on its way to the receiver. It destroys itself, because its request may be freed
// before the receiver comes.
struct Telegram {
  msg::Request request;
  PartitionAnnouncement content;

  static void delivered(msg::Request*, void* self) noexcept {
    delete static_cast<Telegram*>(self);
  }
};

}  // namespace

void Partitioned::end_one() noexcept {
  job::Rank& self = self_;
  // release pairs with is_over(), acquire with the other ends: the thread that frees has seen all
  // of them.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) msg::notify(self);
}

PartitionedSend::PartitionedSend(Comm& comm, const PartitionedBuffer& buffer)
    : Partitioned(comm, buffer),
      parts_(std::make_unique<Part[]>(static_cast<size_t>(buffer.partitions))) {
  if (is_with_nobody()) return;
  first_number_ = comm.take_partition_numbers(buffer.partitions);
  for (int i = 0; i < buffer.partitions; ++i) {
    parts_[static_cast<size_t>(i)].message.set_on_complete(
        [](msg::Request*, void* self) {
          static_cast<PartitionedSend*>(self)->end_one();
        },
        this);
  }
  auto* const telegram = new Telegram;
  telegram->content = {buffer.bytes(), buffer.partitions, first_number_};
  telegram->request.set_on_complete(&Telegram::delivered, telegram);
  msg::start_send(
      self_, telegram->request,
      {&telegram->content, sizeof telegram->content, dt::predefined(dt::abi::kByte),
       comm.peer_world_rank(buffer.peer), comm.partitioned_context(), buffer.tag,
       comm.rank(), msg::Mode::kStandard});
}

// MPI orders it before all ready() of the round, and after those of the round before.
void PartitionedSend::start() {
  for (int i = 0; i < buffer_.partitions; ++i)
    parts_[static_cast<size_t>(i)].is_ready.store(false, std::memory_order_relaxed);
  left_.store(is_with_nobody() ? 0 : buffer_.partitions, std::memory_order_relaxed);
}

Err PartitionedSend::ready(int low, int high) {
  for (const int partition : {low, high}) {
    if (!has_partition(partition))
      return fail(MPI_ERR_ARG, fmt::format("partition {} is not in 0..{}", partition,
                                           buffer_.partitions - 1));
  }
  const dt::Count stride = buffer_.count * buffer_.type->extent();
  const msg::ShortCall short_call;
  for (int i = low; i <= high; ++i) {
    Part& part = parts_[static_cast<size_t>(i)];
    // Relaxed: it only finds mistakes, the data are the caller's own.
    if (part.is_ready.exchange(true, std::memory_order_relaxed))
      return fail(MPI_ERR_ARG,
                  fmt::format("partition {} has been marked ready already", i));
    if (is_with_nobody()) continue;
    // After the last one the round may be over, and this object freed.
    msg::start_send(
        self_, part.message,
        {dt::address(buffer_.address, i * stride), buffer_.count, buffer_.type,
         comm_.peer_world_rank(buffer_.peer), comm_.partitioned_context(),
         partition_tag(first_number_, i), comm_.rank(), msg::Mode::kStandard});
  }
  return kSuccess;
}

Err PartitionedSend::arrived(int, bool*) const {
  return fail(MPI_ERR_REQUEST,
              "it is the request of a send; its partitions do not arrive");
}

int PartitionedSend::count_ready() const noexcept {
  int ready = 0;
  for (int i = 0; i < buffer_.partitions; ++i)
    ready += parts_[static_cast<size_t>(i)].is_ready.load(std::memory_order_relaxed);
  return ready;
}

std::string PartitionedSend::text() const {
  return fmt::format(
      "partitioned send of {} x {} elements to rank {}, tag {}, {}; {} of {} "
      "partitions "
      "are ready",
      buffer_.partitions, buffer_.count, buffer_.peer, buffer_.tag,
      comm_.display_name(), count_ready(), buffer_.partitions);
}

bool PartitionedSend::can_end_by_itself() const {
  return self_.mpi->thread_level == MPI_THREAD_MULTIPLE &&
         count_ready() < buffer_.partitions;
}

}  // namespace mpc::mpi
