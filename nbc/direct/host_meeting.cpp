#include "nbc/direct/host_meeting.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "nbc/direct/fold.h"
#include "nbc/direct/key.h"
#include "runtime/message/control.h"
#include "scheduler/may_spin.h"

namespace mpc::nbc::direct {

namespace host = transport::host;

namespace {

constexpr size_t kLineBytes = 64;
constexpr int kTurns = 8;  // so often a waiting process only gives its core away
constexpr size_t kInlineBytes = 48;  // of a vector that is in its process's line

// The meetings of this process, by id: those whose execution may have parked.
class Meetings {
 public:
  void add(uint64_t id, msg::Sleeper& sleeper) {
    const Locked locked(lock_);
    sleepers_[id] = &sleeper;
  }
  void remove(uint64_t id) noexcept {
    const Locked locked(lock_);
    sleepers_.erase(id);
  }
  void wake(uint64_t id) noexcept {
    const Locked locked(lock_);
    // A communicator that has been freed meanwhile: its last meeting has ended for all.
    if (const auto found = sleepers_.find(id); found != sleepers_.end())
      found->second->wake();
  }

 private:
  Mutex lock_;
  std::unordered_map<uint64_t, msg::Sleeper*> sleepers_ MPC_GUARDED_BY(lock_);
};

Meetings& meetings() noexcept {
  static auto* const all = new Meetings;
  return *all;
}

[[gnu::constructor]] void listen() {
  msg::set_control_handler(
      msg::ControlChannel::kBridge,
      [](void*, int, int, std::span<const std::byte> message) noexcept {
        uint64_t id = 0;
        if (message.size() != sizeof id) return;
        std::memcpy(&id, message.data(), sizeof id);
        meetings().wake(id);
      },
      nullptr);
}

}  // namespace

// --- the memory ----------------------------------------------------------------------------------

struct HostMemory::Head {
  host::Mark mark;
  // Written by the process that ends a meeting: the first two processes whose calls differ. 0, 0: none.
  int32_t one, other;
  uint64_t one_key, other_key;
  alignas(kLineBytes) std::atomic<uint64_t> arrived;
  alignas(kLineBytes) std::atomic<uint64_t> ended;
  alignas(16) unsigned char result[kInlineBytes];
};

struct alignas(kLineBytes) HostMemory::Line {
  std::atomic<uint32_t> sleeps;
  uint64_t key;  // see nbc/direct/key.h
  alignas(16) unsigned char vector[kInlineBytes];
};

namespace {

constexpr size_t bytes_for(size_t head_bytes, size_t line_bytes, int processes) {
  const auto n = static_cast<size_t>(processes);
  const size_t lines = head_bytes + n * line_bytes;
  return lines + (n + 1) * HostMeeting::kMostBytes;
}

}  // namespace

HostMemory::Head& HostMemory::head() const noexcept {
  return *static_cast<Head*>(pages_.base());
}

HostMemory::Line& HostMemory::line(int process) const noexcept {
  return reinterpret_cast<Line*>(&head() + 1)[process];
}

unsigned char* HostMemory::vector(int process) const noexcept {
  return reinterpret_cast<unsigned char*>(&line(processes_)) +
         static_cast<size_t>(process) * HostMeeting::kMostBytes;
}

std::unique_ptr<HostMemory> HostMemory::make(int processes) {
  std::unique_ptr<HostMemory> made(new HostMemory);
  const size_t bytes = bytes_for(sizeof(Head), sizeof(Line), processes);
  made->processes_ = processes;
  made->memory_ = host::make_memory("mpc-meeting", bytes);
  const host::Mark mark = host::random_mark();
  if (!made->memory_.is_open() || mark == host::Mark{}) return nullptr;
  made->pages_ = host::map_memory(made->memory_, 0, bytes);
  if (made->pages_.base() == nullptr) return nullptr;
  made->head().mark = mark;
  return made;
}

std::unique_ptr<HostMemory> HostMemory::open(const Name& name, int processes) {
  std::unique_ptr<HostMemory> made(new HostMemory);
  const size_t bytes = bytes_for(sizeof(Head), sizeof(Line), processes);
  made->processes_ = processes;
  const host::Descriptor memory = host::open_other(name.memory);
  if (!memory.is_open() || host::length_of(memory) < bytes) return nullptr;
  made->pages_ = host::map_memory(memory, 0, bytes);
  if (made->pages_.base() == nullptr || made->head().mark != name.mark) return nullptr;
  return made;
}

HostMemory::Name HostMemory::name() const noexcept {
  return {host::name_of(memory_), head().mark};
}

// --- the meeting ---------------------------------------------------------------------------------

HostMeeting::HostMeeting(std::unique_ptr<HostMemory> memory, Place place)
    : memory_(std::move(memory)), place_(std::move(place)) {
  meetings().add(place_.id, sleeper_);
}

HostMeeting::~HostMeeting() { meetings().remove(place_.id); }

int HostMeeting::arrived() const noexcept {
  const uint64_t all = memory_->head().arrived.load(std::memory_order_relaxed);
  const auto each = static_cast<uint64_t>(processes());
  const uint64_t before = (meeting_ - 1) * each;
  return static_cast<int>(std::min(all - std::min(all, before), each));
}

unsigned char* HostMeeting::vector_of(int process, size_t bytes) const noexcept {
  return bytes <= kInlineBytes ? memory_->line(process).vector
                               : memory_->vector(process);
}

unsigned char* HostMeeting::result_of(size_t bytes) const noexcept {
  return bytes <= kInlineBytes ? memory_->head().result : memory_->vector(processes());
}

// Waits until the meeting has ended.
struct HostMeeting::Wait {
  HostMeeting& meeting;
  std::atomic<uint64_t>& ended = meeting.memory_->head().ended;
  std::atomic<uint32_t>& sleeps = meeting.memory_->line(meeting.place_.index).sleeps;

  // seq_cst: either the process that ends the meeting sees that this one sleeps, or this one sees, when
  // it checks again after arm(), that the meeting has ended. Acquire for the result.
  bool holds() const noexcept {
    return ended.load(std::memory_order_seq_cst) >= meeting.meeting_;
  }
  void arm(sched::Execution& waiter) noexcept {
    meeting.sleeper_.arm(waiter);
    sleeps.store(1, std::memory_order_seq_cst);
  }
  void disarm() noexcept {
    sleeps.store(0, std::memory_order_relaxed);
    meeting.sleeper_.disarm();
  }
  void run(job::Rank& self, const sched::WaitReason& why) {
    // Where processes share cores each needs a core once, and nothing else: not even to look at the
    // network, whose code is not in this core's cache any more.
    for (int turn = 0; turn < kTurns; ++turn) {
      if (holds()) return;
      if (!sched::yield_to_processes()) break;
    }
    if (holds()) return;
    msg::wait_for(
        self,
        {[](void* w) { return static_cast<Wait*>(w)->holds(); },
         [](void* w, sched::Execution& waiter) { static_cast<Wait*>(w)->arm(waiter); },
         [](void* w) { static_cast<Wait*>(w)->disarm(); }, this},
        why);
  }
};

void HostMeeting::bring(const Call& call) noexcept {
  memory_->line(place_.index).key = make_key(call.coll, call.op_code, call.bytes());
  if (const size_t bytes = call.bytes(); bytes != 0)
    std::memcpy(vector_of(place_.index, bytes), call.send, bytes);
}

bool HostMeeting::is_one_call() noexcept {
  HostMemory::Head& head = memory_->head();
  head.one = head.other = 0;
  const uint64_t key = memory_->line(0).key;
  for (int p = 1; p < processes(); ++p) {
    if (memory_->line(p).key == key) continue;
    head.other = p;
    head.one_key = key;
    head.other_key = memory_->line(p).key;
    return false;
  }
  return true;
}

void HostMeeting::conclude(const Call& call) noexcept {
  const size_t bytes = call.bytes();
  if (is_one_call() && bytes != 0) {
    fold(
        call.op, processes(), [&](int p) { return vector_of(p, bytes); },
        result_of(bytes), call.count, call.element_bytes);
  }
  memory_->head().ended.store(meeting_, std::memory_order_seq_cst);
  for (int p = 0; p < processes(); ++p) {
    if (memory_->line(p).sleeps.load(std::memory_order_seq_cst) == 0) continue;
    const uint64_t id = place_.id;
    msg::send_control(place_.processes[static_cast<size_t>(place_.index)],
                      place_.processes[static_cast<size_t>(p)],
                      msg::ControlChannel::kBridge, std::as_bytes(std::span(&id, 1)));
  }
}

Outcome HostMeeting::meet(job::Rank& self, const Call& call,
                          const sched::WaitReason& why) {
  HostMemory::Head& head = memory_->head();
  ++meeting_;
  bring(call);
  // acq_rel: the last one sees what the others have brought.
  const uint64_t arrivals = head.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrivals == meeting_ * static_cast<uint64_t>(processes())) {
    conclude(call);
  } else {
    Wait{*this}.run(self, why);
  }
  Outcome outcome;
  if (head.other != 0) [[unlikely]] {
    const auto rank_of = [&](int p) { return place_.ranks[static_cast<size_t>(p)]; };
    complaint_ = difference(rank_of(head.one), head.one_key, rank_of(head.other),
                            head.other_key);
    outcome.mismatch = &complaint_;
    outcome.calls_differ = !is_same_call(head.one_key, head.other_key);
  } else if (const size_t bytes = call.bytes(); bytes != 0) {
    std::memcpy(call.recv, result_of(bytes), bytes);
  }
  return outcome;
}

}  // namespace mpc::nbc::direct
