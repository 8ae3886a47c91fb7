#include "runtime/transport/host/segment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/futex.h"

namespace mpc::transport::host {
namespace {

constexpr size_t kHeadBytes = kPageBytes;
static_assert(sizeof(SegmentHead) <= kHeadBytes);

// Each process has this much for all senders of its host; touched as far as it is used.
constexpr size_t kAllRingsBytes = 4 << 20;
// At least some messages of the usual eager limit, 8 KiB.
constexpr uint32_t kLeastDataBytes = 32 << 10, kMostDataBytes = 256 << 10;
constexpr uint32_t kDataBytesOfCell = 512;

RingShape shape_for(int neighbours) {
  const size_t share = kAllRingsBytes / static_cast<size_t>(std::max(neighbours, 1));
  const auto data = static_cast<uint32_t>(
      std::clamp<size_t>(std::bit_floor(share), kLeastDataBytes, kMostDataBytes));
  return {data / kDataBytesOfCell, data};
}

size_t ring_pages_bytes(const RingShape& shape) {
  return (shape.bytes() + kPageBytes - 1) / kPageBytes * kPageBytes;
}

size_t place_of(const RingShape& shape, int process) {
  return kHeadBytes + ring_pages_bytes(shape) * static_cast<size_t>(process);
}

}  // namespace

// --- the own segment ---------------------------------------------------------------------------

std::unique_ptr<Inbox> Inbox::make(int processes, int neighbours) {
  std::unique_ptr<Inbox> made(new Inbox);
  made->shape_ = shape_for(neighbours);
  made->processes_ = processes;
  const size_t bytes = place_of(made->shape_, processes);
  made->memory_ = make_memory("mpc-host", bytes);
  int bell[2];
  if (!made->memory_.is_open() || ::pipe2(bell, O_CLOEXEC | O_NONBLOCK) != 0)
    return nullptr;
  made->bell_ = Descriptor(bell[0]);
  made->bell_in_ = Descriptor(bell[1]);
  made->pages_ = map_memory(made->memory_, 0, bytes);
  const Mark mark = random_mark();
  if (made->pages_.base() == nullptr || mark == Mark{}) return nullptr;
  made->head().mark = mark;
  made->head().shape = made->shape_;
  made->head().mark_address = reinterpret_cast<uint64_t>(&made->head().mark);
  return made;
}

SegmentName Inbox::name() const noexcept {
  return {head().mark, name_of(memory_), name_of(bell_in_),
          static_cast<uint64_t>(processes_)};
}

RingReader Inbox::reader_of(int process) noexcept {
  return {static_cast<char*>(pages_.base()) + place_of(shape_, process), shape_};
}

void Inbox::begin_sleep() noexcept {
  const uint32_t state =
      (sleep_.load(std::memory_order_relaxed) / kSleepStates + 1) * kSleepStates +
      kAsleep;
  sleep_.store(state, std::memory_order_relaxed);
  head().sleep.exchange(state, std::memory_order_seq_cst);
}

// What rings late makes the next sleep shorter, no more: its number is another one.
void Inbox::wake_up() noexcept {
  const uint32_t state =
      sleep_.load(std::memory_order_relaxed) / kSleepStates * kSleepStates + kAwake;
  sleep_.store(state, std::memory_order_relaxed);
  head().sleep.store(state, std::memory_order_relaxed);
  char rings[64];
  raw_syscall(SYS_read, bell_.number(), reinterpret_cast<long>(rings), sizeof rings);
}

void Inbox::ring_own() noexcept {
  if (head().sleep.load(std::memory_order_seq_cst) % kSleepStates == kAsleep)
    ring_bell(head(), bell_in_);
}

// First the bell, then the mark that it has been rung: a sender that dies in between has woken the
// receiver all the same. The mark is for this sleep only, because its number is in it.
bool ring_bell(SegmentHead& head, const Descriptor& bell) noexcept {
  uint32_t state = head.sleep.load(std::memory_order_relaxed);
  if (state % kSleepStates != kAsleep) return true;
  const char ring = 'r';
  const long done =
      raw_syscall(SYS_write, bell.number(), reinterpret_cast<long>(&ring), 1);
  if (done != 1 && done != -EAGAIN) return false;  // EAGAIN: it is full of rings
  head.sleep.compare_exchange_strong(state, state + kRung - kAsleep,
                                     std::memory_order_relaxed);
  return true;
}

// --- another process's segment -----------------------------------------------------------------

std::unique_ptr<Outbox> Outbox::open(const SegmentName& name, int own) {
  if (own < 0 || static_cast<uint64_t>(own) >= name.senders) return nullptr;
  const Descriptor memory = open_other(name.memory);
  if (!memory.is_open()) return nullptr;
  std::unique_ptr<Outbox> made(new Outbox);
  made->head_pages_ = map_memory(memory, 0, kHeadBytes);
  if (made->head_pages_.base() == nullptr) return nullptr;
  made->head_ = static_cast<SegmentHead*>(made->head_pages_.base());
  made->shape_ = made->head_->shape;
  if (made->head_->mark != name.mark || !made->shape_.is_valid() ||
      length_of(memory) < place_of(made->shape_, own + 1))
    return nullptr;
  made->memory_ =
      OtherMemory(name.memory.process_id, made->head_->mark_address, name.mark);
  made->bell_ = open_other(name.bell);
  made->ring_ =
      map_memory(memory, place_of(made->shape_, own), ring_pages_bytes(made->shape_));
  if (!made->bell_.is_open() || made->ring_.base() == nullptr) return nullptr;
  return made;
}

bool Outbox::ring() noexcept { return ring_bell(*head_, bell_); }

}  // namespace mpc::transport::host
