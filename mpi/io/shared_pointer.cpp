#include "mpi/io/shared_pointer.h"

#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/control.h"

namespace mpc::mpi {
namespace {

// A request to the process where the pointer lives, on the stack of the rank that waits for the
// answer.
struct Question {
  job::Rank* rank;
  Count value = 0;                   // the answer
  std::atomic<bool> is_over{false};  // release: when answered; acquire: the rank
};

// The pointers that live in this address space, by process and place. An entry is created by the
// first question, which may come before the process's own members have opened the file.
struct Pointers {
  Mutex mutex;
  std::map<std::pair<int, uint64_t>, Count> values MPC_GUARDED_BY(mutex);
};
Pointers& pointers() {
  static auto* const all = new Pointers;  // the network may outlive main()
  return *all;
}

struct Message {
  bool is_answer;
  uint64_t place;
  Count value;        // question: how far to move on; answer: the old value
  uint64_t question;  // an address in the process that asks
};

void send(int here, int to, const Message& message) {
  std::byte bytes[sizeof message];
  std::memcpy(bytes, &message, sizeof message);
  msg::send_control(here, to, msg::ControlChannel::kFile, bytes);
}

void arrive(void*, int here, int from, std::span<const std::byte> bytes) noexcept {
  Message message;
  if (bytes.size() != sizeof message) return;
  std::memcpy(&message, bytes.data(), sizeof message);
  Pointers& all = pointers();
  if (!message.is_answer) {
    {
      const Locked inside(all.mutex);
      Count& value = all.values[{here, message.place}];
      message.value = std::exchange(value, value + message.value);
    }
    message.is_answer = true;
    return send(here, from, message);
  }
  auto& question = *reinterpret_cast<Question*>(message.question);
  const Locked inside(all.mutex);  // the rank stays until this is released
  job::Rank& rank = *question.rank;
  question.value = message.value;
  question.is_over.store(true, std::memory_order_release);
  msg::notify(rank);
}

[[gnu::constructor]] void listen() {
  msg::set_control_handler(msg::ControlChannel::kFile, &arrive, nullptr);
}

class PointerReason final : public sched::WaitReason {
 public:
  std::string text() const override {
    return "asks another process for a shared file pointer";
  }
};

}  // namespace

SharedPointer::SharedPointer(Comm& comm) : is_alone_(comm.is_in_one_process()) {
  if (is_alone_) return;
  const ProcessList& list = *comm.members().processes;
  here_ = list.process_of(comm.self().job->processes(), comm.self().world_rank);
  home_ = list.first();
  is_at_home_ = here_ == home_;
  const int first = comm.group()->world_rank(0);
  place_ = place_of(comm.context(),
                    comm.spans_jobs() ? job::neighbours::name_of(first) : first);
}

SharedPointer::~SharedPointer() {
  if (is_alone_ || !is_at_home_) return;
  Pointers& all = pointers();
  const Locked inside(all.mutex);
  all.values.erase({here_, place_});
}

Count SharedPointer::move_by(job::Rank& self, Count etypes) {
  if (is_alone_) return value_.fetch_add(etypes, std::memory_order_relaxed);
  Pointers& all = pointers();
  if (is_at_home_) {
    const Locked inside(all.mutex);
    Count& value = all.values[{here_, place_}];
    return std::exchange(value, value + etypes);
  }
  Question question{&self};
  send(here_, home_, {false, place_, etypes, reinterpret_cast<uint64_t>(&question)});
  msg::wait_for_control(
      self,
      [](void* argument) {
        return static_cast<Question*>(argument)->is_over.load(
            std::memory_order_acquire);
      },
      &question, PointerReason());
  const Locked inside(all.mutex);  // the answerer may not have notified yet
  return question.value;
}

void SharedPointer::set_at_home(Count etypes) {
  if (is_alone_) return value_.store(etypes, std::memory_order_relaxed);
  if (!is_at_home_) return;
  Pointers& all = pointers();
  const Locked inside(all.mutex);
  all.values[{here_, place_}] = etypes;
}

}  // namespace mpc::mpi
