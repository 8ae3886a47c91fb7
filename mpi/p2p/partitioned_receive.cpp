#include "mpi/p2p/partitioned.h"

#include <fmt/format.h>

#include "base/spin_lock.h"
#include "runtime/datatype/cursor.h"

namespace mpc::mpi {
namespace {

const dt::Datatype& bytes_type() noexcept { return *dt::predefined(dt::abi::kByte); }

class FreeReason final : public sched::WaitReason {
 public:
  explicit FreeReason(const Several& half) noexcept : half_(half) {}
  std::string text() const override { return "MPI_Request_free of a " + half_.text(); }

 private:
  const Several& half_;
};

}  // namespace

PartitionedReceive::PartitionedReceive(Comm& comm, const PartitionedBuffer& buffer)
    : Partitioned(comm, buffer) {
  if (is_with_nobody()) {
    outcome_ = proc_null_status();
    return;
  }
  outcome_.source = buffer.peer;
  outcome_.tag = buffer.tag;
  outcome_.bytes = buffer.bytes();
  announced_.set_on_complete(&PartitionedReceive::take_announcement, this);
  msg::start_recv(self_, announced_,
                  {&announcement_, sizeof announcement_, &bytes_type(), buffer.peer,
                   comm.partitioned_context(), buffer.tag});
}

// If the receive was freed before its sender has come, no thread may write to it any more.
PartitionedReceive::~PartitionedReceive() {
  if (is_with_nobody()) return;
  // acquire pairs with take_announcement(), here and below.
  if ((stage_.load(std::memory_order_acquire) & kKnown) != 0) return;
  msg::cancel(self_, announced_);
  msg::wait(self_, announced_, FreeReason(*this));  // it may be on its way already
  PauseThenYield wait;  // the thread that has brought it is about to call back
  while ((stage_.load(std::memory_order_acquire) & kKnown) == 0) wait.once();
}

void PartitionedReceive::take_announcement(msg::Request* request,
                                           void* argument) noexcept {
  auto& self = *static_cast<PartitionedReceive*>(argument);
  if (!request->status().cancelled) self.learn();
  // release: what was learnt; acquire: what start() has written.
  const int before = self.stage_.fetch_or(kKnown, std::memory_order_acq_rel);
  if ((before & kStarted) != 0) self.post();
}

void PartitionedReceive::learn() noexcept {
  const int partitions = announcement_.partitions;
  parts_ = std::make_unique<Part[]>(static_cast<size_t>(partitions));
  for (int i = 0; i < partitions; ++i) {
    Part& part = parts_[static_cast<size_t>(i)];
    part.owner = this;
    part.index = i;
    part.message.set_on_complete(&PartitionedReceive::take_part, &part);
  }
  choose_landing();
}

// Where the sender's partitions begin and end in the buffer: at any byte, or between elements.
void PartitionedReceive::choose_landing() noexcept {
  if (announcement_.bytes != buffer_.bytes()) {
    // The messages are received all the same, so that the sender can go on.
    landing_ = Landing::kNowhere;
    outcome_.failed = true;
    outcome_.error = Errc::kTruncate;
    return;
  }
  const dt::Count each = announcement_.partitions == 0
                             ? 0
                             : announcement_.bytes / announcement_.partitions;
  const dt::Count element = buffer_.type->size();
  if (buffer_.type->is_contiguous()) {
    landing_ = Landing::kBytes;
  } else if (element == 0 || each % element == 0) {
    landing_ = Landing::kElements;
  } else {
    landing_ = Landing::kStaged;
    staged_ = std::make_unique<char[]>(static_cast<size_t>(announcement_.bytes));
  }
}

void PartitionedReceive::start() {
  if (is_with_nobody()) return;
  // acquire pairs with take_announcement(): a first round finds new parts, and no thread has to
  // wait.
  if ((stage_.load(std::memory_order_acquire) & kKnown) != 0) {
    for (int i = 0; i < announcement_.partitions; ++i)
      parts_[static_cast<size_t>(i)].is_there.store(false, std::memory_order_relaxed);
  }
  left_.store(1, std::memory_order_relaxed);  // until all receives are posted
  // release: `left_`; acquire: what was learnt.
  const int before = stage_.fetch_or(kStarted, std::memory_order_acq_rel);
  if ((before & kKnown) != 0) post();
}

// Caller: the execution that has brought the second half of what it needs; any.
void PartitionedReceive::post() noexcept {
  const int partitions = announcement_.partitions;
  left_.fetch_add(partitions,
                  std::memory_order_relaxed);  // these are not the last: see start()
  for (int i = 0; i < partitions; ++i)
    msg::start_recv(self_, parts_[static_cast<size_t>(i)].message, args_of(i));
  end_one();
}

msg::RecvArgs PartitionedReceive::args_of(int part) noexcept {
  const dt::Count each = announcement_.bytes / announcement_.partitions;
  msg::RecvArgs args{nullptr,
                     0,
                     &bytes_type(),
                     buffer_.peer,
                     comm_.partitioned_context(),
                     partition_tag(announcement_.first_number, part)};
  switch (landing_) {
    case Landing::kBytes:
      args.buffer = dt::address(buffer_.address, part * each);
      args.count = each;
      break;
    case Landing::kElements:
      args.type = buffer_.type;
      args.count = buffer_.type->size() == 0 ? 0 : each / buffer_.type->size();
      args.buffer =
          dt::address(buffer_.address, part * args.count * buffer_.type->extent());
      break;
    case Landing::kStaged:
      args.buffer = staged_.get() + part * each;
      args.count = each;
      break;
    case Landing::kNowhere:
      break;
  }
  return args;
}

void PartitionedReceive::take_part(msg::Request*, void* argument) noexcept {
  Part& part = *static_cast<Part*>(argument);
  PartitionedReceive& self = *part.owner;
  if (self.landing_ == Landing::kStaged) {
    const auto each =
        static_cast<size_t>(self.announcement_.bytes / self.announcement_.partitions);
    const size_t offset = static_cast<size_t>(part.index) * each;
    dt::unpack(self.buffer_.address, *self.buffer_.type,
               self.buffer_.partitions * self.buffer_.count, offset,
               self.staged_.get() + offset, each);
  }
  part.is_there.store(true, std::memory_order_release);  // pairs with arrived()
  self.end_one();
}

Err PartitionedReceive::ready(int, int) {
  return fail(MPI_ERR_REQUEST,
              "it is the request of a receive; the sender marks partitions ready");
}

// Both sides divide the same bytes evenly, so partition i of R ends where i + 1 of R parts of the
// sender's partitions do.
Err PartitionedReceive::arrived(int partition, bool* out) const {
  if (!has_partition(partition))
    return fail(MPI_ERR_ARG, fmt::format("partition {} is not in 0..{}", partition,
                                         buffer_.partitions - 1));
  *out = is_with_nobody();
  // acquire pairs with take_announcement().
  if (is_with_nobody() || (stage_.load(std::memory_order_acquire) & kKnown) == 0)
    return kSuccess;
  const int64_t theirs = announcement_.partitions, ours = buffer_.partitions;
  const int64_t first = partition * theirs / ours;
  const int64_t end = ((partition + 1) * theirs + ours - 1) / ours;
  for (int64_t i = first; i < end; ++i) {
    // acquire pairs with take_part().
    if (!parts_[static_cast<size_t>(i)].is_there.load(std::memory_order_acquire))
      return kSuccess;
  }
  *out = true;
  return kSuccess;
}

Err PartitionedReceive::error() {
  return fail(
      announcement_.bytes > buffer_.bytes() ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
      fmt::format("rank {} sends {} partitions of together {} bytes with tag {}, this "
                  "rank receives {} of together {}",
                  buffer_.peer, announcement_.partitions, announcement_.bytes,
                  buffer_.tag, buffer_.partitions, buffer_.bytes()));
}

std::string PartitionedReceive::text() const {
  std::string text =
      fmt::format("partitioned receive of {} x {} elements from rank {}, tag {}, {}",
                  buffer_.partitions, buffer_.count, buffer_.peer, buffer_.tag,
                  comm_.display_name());
  if ((stage_.load(std::memory_order_acquire) & kKnown) == 0)
    return text + "; no MPI_Psend_init matches it yet";
  return text;
}

}  // namespace mpc::mpi
