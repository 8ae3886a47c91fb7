// MPI_Cancel of a send to another process. The process is asked, never the rank, so the call does
// not depend on what that rank does.
#include "runtime/job/losses.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/remote.h"

namespace mpc::msg::remote {
namespace {

struct AnswerOfProcess final : sched::WaitReason {
  std::string text() const override {
    return "MPI_Cancel, for the answer of another process";
  }
};

bool is_answered(void* question) {
  // seq_cst: see wait_for().
  return static_cast<Question*>(question)->answer.load(std::memory_order_seq_cst) !=
         Question::kNone;
}
void arm(void* question, sched::Execution& waiter) {
  static_cast<Question*>(question)->waiter.store(&waiter, std::memory_order_seq_cst);
}
void disarm(void*) {}

void post_withdraw(Endpoint& mine, const Operation& op, uint64_t id) {
  transport::Envelope envelope;
  envelope.kind = transport::PacketKind::kWithdraw;
  envelope.dest_world = static_cast<uint32_t>(op.remote.dest_world);
  envelope.from_world = static_cast<uint32_t>(op.origin->world_rank);
  envelope.id = id;
  mine.post(op.remote.peer, envelope, {});
}

// True: no receive will match the message. Caller: the message has been sent.
bool withdraw(job::Rank& self, Endpoint& mine, const Operation& op, uint64_t id) {
  Question question;
  const int peer = op.remote.peer;
  mine.ask(id, peer, question);
  // A process that has died meanwhile answers nothing; if it
  // is marked after this, it has the question.
  if (job::losses::is_lost(peer)) [[unlikely]]
    mine.lose(peer);
  post_withdraw(mine, op, id);
  wait_for(self, {&is_answered, &arm, &disarm, &question}, AnswerOfProcess());
  mine.end_question();
  return question.answer.load(std::memory_order_relaxed) == Question::kWithdrawn;
}

}  // namespace

void cancel(job::Rank& self, Operation& send) {
  Endpoint& mine = endpoint_towards(send.remote.peer, self.world_rank);
  // Acquire pairs with complete().
  if (send.state.load(std::memory_order_acquire) == kComplete) {
    // Its data may have left without a receive. 0: they have not, or it was already asked for.
    if (const uint64_t id = std::exchange(send.order, 0))
      send.status.cancelled = withdraw(self, mine, send, id);
    return;
  }
  const uint64_t id = send.remote.id;
  // Matched: it completes normally. Withdrawn: as soon as its buffer is free again.
  if (mine.begin_withdraw(id) && withdraw(self, mine, send, id))
    wait(self, request_of(send), AnswerOfProcess());
}

}  // namespace mpc::msg::remote
