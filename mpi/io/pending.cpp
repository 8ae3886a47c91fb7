#include "mpi/io/pending.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/mutex.h"
#include "mpi/objects/blame.h"
#include "mpi/objects/rank_state.h"
#include "runtime/io/pool.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

class PendingReason final : public sched::WaitReason {
 public:
  explicit PendingReason(const Pending& pending) noexcept : pending_(pending) {}
  std::string text() const override { return pending_.text(); }

 private:
  const Pending& pending_;
};

struct FileOperation final : Several {
  explicit FileOperation(PendingRef its_pending) noexcept
      : pending(std::move(its_pending)) {
    pending->file().retain();
  }
  ~FileOperation() override { pending->file().drop(); }
  bool is_over() override {
    if (!pending->is_over()) return false;
    pending->finish();
    outcome_ = pending->access.status();
    return true;
  }
  const msg::Status& outcome() const noexcept override { return outcome_; }
  Err error() override { return blame(pending->access.error(), pending->file()); }
  std::string text() const override { return pending->text(); }
  void note_wait() noexcept override { pending->note_wait(); }
  void help() override { pending->help(); }

  const PendingRef pending;

 private:
  msg::Status outcome_;
};

}  // namespace

Pending::Pending(File& file, const char* call)
    : file_(file), share_(file.share_ref()), call_(call), rank_(file.self()) {
  share_->begin_access();
}

void Pending::complete() noexcept {
  // When the rank sees this it may end, but not before it has acquired the lock.
  const std::lock_guard inside(mutex_);
  share_->end_access();
  is_over_.store(true, std::memory_order_release);
  msg::notify(rank_);
}

bool Pending::is_over() {
  if (!is_over_.load(std::memory_order_acquire)) return false;
  const PatientGuard inside(mutex_);
  return true;
}

void Pending::offer() {
  self_ = shared_from_this();
  is_offered_.store(true, std::memory_order_release);
}

PendingRef Pending::take() noexcept {
  if (!is_offered_.exchange(false, std::memory_order_acquire)) return nullptr;
  return std::move(self_);
}

void Pending::help() {
  if (!access.ends_by_itself())
    return;  // the rank must be able to do what others wait for
  const PendingRef own = take();
  if (own == nullptr) return;
  access.run();
  complete();
}

sched::Scheduler* Pending::scheduler() const noexcept { return rank_.job->scheduler(); }

void Pending::finish() {
  if (std::exchange(is_finished_, true)) return;
  access.convert();
}

void Pending::wait() {
  help();
  if (!is_over())
    msg::wait_until(
        rank_, nullptr, 0,
        [](void* argument) { return static_cast<Pending*>(argument)->is_over(); }, this,
        PendingReason(*this));
  finish();
}

std::string Pending::text() const {
  return fmt::format("{} on {}", call_, file_.display_name());
}

Request* request_of(PendingRef pending) {
  File& file = pending->file();
  Request* const request =
      Request::make(this_rank(), RequestKind::kFile, &file.comm(), pending->call());
  request->is_active = true;
  request->several = std::make_unique<FileOperation>(std::move(pending));
  return request;
}

namespace {

void move_in_thread(const PendingRef& pending) {
  io::note_thread_access();
  pending->access.run();
  pending->complete();
}

bool move_by_ring(io::RingTransfers* ring, const PendingRef& pending) {
  return ring != nullptr &&
         pending->access.start(*ring, [pending](const io::Outcome& outcome) {
           // Some file systems do not support these calls through the ring: the ordinary calls decide.
           if (outcome.error == EINVAL || outcome.error == EOPNOTSUPP)
             return io::run_soon([pending] { move_in_thread(pending); });
           pending->access.set_outcome(outcome);
           pending->complete();
         });
}

}  // namespace

void move_in_background(const PendingRef& pending, uint64_t begin_ns) {
  io::RingTransfers* const ring = pending->access.ring();
  if (!pending->access.ends_by_itself()) begin_ns = 0;
  const bool is_now = begin_ns == 0 || io::RingTransfers::is_forced();
  if (is_now && move_by_ring(ring, pending)) return;
  pending->offer();
  // Not a reference that would keep what has long been done, and destroy it on a thread of the pool.
  io::run_soon(
      [offered = std::weak_ptr<Pending>(pending), scheduler = pending->scheduler(),
       ring, has_grace = begin_ns != 0] {
        const PendingRef known = offered.lock();
        // A copy that its rank is coming to, on a core that it has for itself. Without a grace the rank may have
        // looked before the offer (a collective access is offered by its last member), and look no more.
        if (known == nullptr || (has_grace && known->is_waited_for() &&
                                 ring == nullptr && io::time_to_begin(scheduler) != 0))
          return;
        const PendingRef taken = known->take();
        if (taken == nullptr) return;
        if (taken->is_waited_for() || !move_by_ring(ring, taken)) move_in_thread(taken);
      },
      begin_ns);
}

}  // namespace mpc::mpi
