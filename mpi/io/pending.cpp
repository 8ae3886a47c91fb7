#include "mpi/io/pending.h"

#include <fmt/format.h>

#include <cerrno>

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
  const std::lock_guard inside(mutex_);
  return true;
}

void Pending::finish() {
  if (std::exchange(is_finished_, true)) return;
  access.convert();
}

void Pending::wait() {
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

void move_by_threads(const PendingRef& pending) {
  io::run_soon([pending] {
    pending->access.run();
    pending->complete();
  });
}

bool move_by_ring(const PendingRef& pending) {
  return pending->access.start([pending](const io::Outcome& outcome) {
    // Some file systems do not support these calls through the ring: the ordinary calls decide.
    if (outcome.error == EINVAL || outcome.error == EOPNOTSUPP)
      return move_by_threads(pending);
    pending->access.set_outcome(outcome);
    pending->complete();
  });
}

}  // namespace

void move_in_background(const PendingRef& pending) {
  if (!move_by_ring(pending)) move_by_threads(pending);
}

}  // namespace mpc::mpi
