#include "runtime/io/ring_transfers.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "scheduler/as_nobody.h"
#include "scheduler/outside_work.h"
#include "scheduler/poll/poller.h"

namespace mpc::io {
namespace {

enum Async { kAuto, kUring, kThreads };
const char* const kAsync[] = {"auto", "uring", "threads"};
EnumSetting async_setting{
    "io.async", kAuto, kAsync, 3,
    "Who does non-blocking accesses to files: threads (of this process, see "
    "io.threads), "
    "uring (the kernel, by io_uring; with a warning if it may not be used), or auto: "
    "io_uring, where it may be used, reads what is not in the system's cache, and "
    "threads do the rest, as far as the rank does not do it itself when it waits "
    "(io.grace_us)"};

Counter access_counter{"io.uring_accesses",
                       "Non-blocking accesses to files that io_uring has done"};
Counter piece_counter{"io.uring_pieces", "What these have given to the kernel"};

// Several kernel threads read the pieces of a long access at once; each piece is some 100 us of
// copying.
constexpr Count kPieceBytes = Count{4} << 20;
// For shorter runs of the file the ring costs more than the transfer itself.
constexpr Count kLeastRun = Count{32} << 10;
constexpr int kMostOfOne = 16;
// For a piece of which nothing was transferred, for example because the thread that submitted it
// ended.
constexpr int kMostTries = 16;
constexpr Count kNowhere = std::numeric_limits<Count>::max();

}  // namespace

struct RingTransfers::Transfer {
  Transfer(const Target& target, const View& view, Count begin, const Buffer& buffer,
           bool writes, Done its_done)
      : fd(target.file.number()),
        is_write(writes),
        data(buffer.data()),
        lock(writes ? target.lock : nullptr),
        done(std::move(its_done)),
        total(buffer.bytes()),
        runs(view, begin, begin + total) {
    for (Slot& slot : slots) slot.transfer = this;
  }
  bool has_ended() const noexcept { return stopped_at != kNowhere || issued == total; }
  void stop(Count at, int its_error) noexcept {
    if (at >= stopped_at) return;
    stopped_at = at;
    error = its_error;
  }
  // The next piece, in a free slot.
  Slot& next_piece() noexcept {
    if (run.bytes == 0) (void)runs.next(&run);
    Slot& slot = *std::find_if(std::begin(slots), std::end(slots),
                               [](const Slot& s) { return s.bytes == 0; });
    const Count bytes = std::min(run.bytes, kPieceBytes);
    slot.first = issued;
    slot.bytes = bytes;
    slot.offset = run.offset;
    slot.tries = 0;
    issued += bytes;
    run.offset += bytes;
    run.bytes -= bytes;
    return slot;
  }

  const int fd;
  const bool is_write;
  char* const data;
  FileLock* const lock;
  const Done done;
  const Count total;
  FileRuns runs;
  FileRuns::Run run{0, 0};
  Slot slots[kMostOfOne];  // bytes == 0: free
  int under_way = 0;
  Count issued = 0;             // bytes of the access that are or were in pieces
  Count stopped_at = kNowhere;  // the lowest byte that is known not to be transferred
  int error = 0;                // the reason; 0: the file ends there
};

RingTransfers::RingTransfers(std::unique_ptr<Ring> ring, sched::Demand& demand) noexcept
    : ring_(std::move(ring)), demand_(demand) {}

RingTransfers::~RingTransfers() = default;

bool RingTransfers::suits(const Target& target, const View& view, const Buffer& buffer,
                          bool is_write) noexcept {
  if (!target.file.is_plain() || !buffer.is_contiguous() || buffer.bytes() == 0)
    return false;
  const Switch sieving =
      is_write ? target.tuning.sieve_writes : target.tuning.sieve_reads;
  return view.is_contiguous() ||
         (view.mean_run() >= kLeastRun && sieving != Switch::kEnable);
}

bool RingTransfers::start(const Target& target, const View& view, Count begin,
                          const Buffer& buffer, bool is_write, Done done) {
  if (is_write && target.lock != nullptr && !target.lock->try_lock(true)) return false;
  auto transfer = std::make_unique<Transfer>(target, view, begin, buffer, is_write,
                                             std::move(done));
  access_counter.add();
  sched::begin_outside_work();
  demand_.raise();  // before the access can end; without the mutex, since this may poll
  const Locked inside(mutex_);
  (void)advance(*transfer.release());  // it has bytes, so it cannot be over
  submit();
  return true;
}

void RingTransfers::push(Slot& slot) {
  Transfer& transfer = *slot.transfer;
  ++pieces_;
  ++transfer.under_way;
  piece_counter.add();
  ring_->push({transfer.fd, transfer.is_write, transfer.data + slot.first, slot.bytes,
               slot.offset, &slot});
}

bool RingTransfers::advance(Transfer& transfer) {
  while (!transfer.has_ended() && transfer.under_way < kMostOfOne &&
         pieces_ < kMostPieces)
    push(transfer.next_piece());
  if (transfer.under_way > 0) return false;
  if (transfer.has_ended()) return true;
  waiting_.push_back(&transfer);
  return false;
}

void RingTransfers::advance_waiting() {
  while (!waiting_.empty() && pieces_ < kMostPieces) {
    Transfer& first = *waiting_.front();
    waiting_.pop_front();
    (void)advance(first);  // it has bytes left, so it cannot be over
  }
}

void RingTransfers::submit() {
  is_behind_.store(ring_->submit() != 0, std::memory_order_relaxed);
}

void RingTransfers::take_end(const Ring::End& end) {
  Slot& slot = *static_cast<Slot*>(end.tag);
  Transfer& transfer = *slot.transfer;
  --pieces_;
  --transfer.under_way;
  if (end.result > 0) {
    slot.first += end.result;
    slot.offset += end.result;
    slot.bytes -= end.result;
    slot.tries = 0;
    if (slot.bytes > 0) return push(slot);
  } else {
    const int error = -end.result;
    const bool may_try_again = error == EINTR || error == EAGAIN || error == ECANCELED;
    if (may_try_again && ++slot.tries < kMostTries) return push(slot);
    // No file system writes 0 bytes without an error; this prevents an endless loop.
    transfer.stop(slot.first, error == 0 && transfer.is_write ? ENOSPC : error);
    slot.bytes = 0;
  }
  if (advance(transfer)) finished_.emplace_back(&transfer);
}

bool RingTransfers::poll() noexcept {
  if (!ring_->has_news() && !is_behind_.load(std::memory_order_relaxed)) return false;
  // Another thread polls or starts an access; the holder of the mutex does not park.
  if (!mutex_.try_lock()) return false;
  bool has_found = false;
  Ring::End ends[32];
  while (const int count = ring_->reap(ends)) {
    for (int i = 0; i < count; ++i) take_end(ends[i]);
    has_found = true;
  }
  advance_waiting();
  submit();
  std::vector<std::unique_ptr<Transfer>> over;
  over.swap(finished_);
  mutex_.unlock();
  for (auto& transfer : over) finish(std::move(transfer));
  return has_found;
}

void RingTransfers::finish(std::unique_ptr<Transfer> transfer) noexcept {
  if (transfer->lock != nullptr) transfer->lock->unlock();
  transfer->done({std::min(transfer->stopped_at, transfer->total), transfer->error});
  transfer.reset();  // destroy what it holds before everything counts as being at rest
  demand_.lower();
  sched::end_outside_work();
}

// ---- the ring of the process ---------------------------------------------------------------

namespace {

// Constant once `g_is_decided`: released by the thread that decides, acquired by the others.
constinit std::atomic<bool> g_is_decided{false};
constinit RingTransfers* g_of_process = nullptr;
constinit Mutex g_deciding;

// Never destroyed: it may be polled until the process ends.
Result<RingTransfers*> open_for(sched::Scheduler& scheduler) {
  const sched::AsNobody nobody;
  auto ring = Ring::open(RingTransfers::kMostPieces);
  MPC_TRY(ring);
  auto made =
      std::make_unique<RingTransfers>(std::move(*ring), scheduler.poller().demand());
  MPC_TRY(scheduler.poller().add(*made, sched::EventReach::kThisProcess));
  return made.release();
}

RingTransfers* decide(sched::Scheduler* scheduler) {
  if (async_setting.get() == kThreads) return nullptr;
  auto opened = scheduler != nullptr
                    ? open_for(*scheduler)
                    : Error{Errc::kUnsupported, "a program without mpcrun"};
  if (opened) {
    log::debug("non-blocking accesses to files are done by io_uring");
    return *opened;
  }
  if (async_setting.get() == kUring)
    log::warn("non-blocking accesses to files are done by threads ({})",
              opened.error().message);
  else
    log::debug("non-blocking accesses to files are done by threads ({})",
               opened.error().message);
  return nullptr;
}

}  // namespace

// What only has to be copied, because the system's cache has it, as all writes: for each piece the
// kernel wakes a thread of its own, and it writes the pieces of a file one after the other. Our
// threads are up to four times as fast (0045, "Measured").
bool RingTransfers::is_preferred(const Target& target, const View& view, Count begin,
                                 Count bytes, bool is_write) noexcept {
  if (async_setting.get() != kAuto) return async_setting.get() == kUring;
  return !is_write && !target.file.is_cached(view.offset_of(begin),
                                             view.offset_of(begin + bytes - 1) + 1);
}

bool RingTransfers::is_forced() noexcept { return async_setting.get() == kUring; }

RingTransfers* RingTransfers::of(sched::Scheduler* scheduler) {
  if (!g_is_decided.load(std::memory_order_acquire)) {
    const Locked inside(g_deciding);
    if (!g_is_decided.load(std::memory_order_relaxed)) {
      g_of_process = decide(scheduler);
      g_is_decided.store(true, std::memory_order_release);
    }
  }
  return g_of_process;
}

}  // namespace mpc::io
