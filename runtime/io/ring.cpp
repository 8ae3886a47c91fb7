#include "runtime/io/ring.h"

#include <liburing.h>

#include <cstring>
#include <string>

namespace mpc::io {
namespace {

class Uring final : public Ring {
 public:
  ~Uring() override {
    if (is_open_) io_uring_queue_exit(&ring_);
  }

  Result<> open(int most_pieces) {
    io_uring_params wanted{};
    const int error =
        io_uring_queue_init_params(static_cast<unsigned>(most_pieces), &ring_, &wanted);
    if (error != 0)
      return {Errc::kUnsupported, std::string("io_uring_setup: ") + strerror(-error)};
    is_open_ = true;
    // Since Linux 5.12 the ring's threads belong to the process, so that they use its memory and
    // files as our threads do, and the ring's memory does not count against RLIMIT_MEMLOCK.
    constexpr unsigned kNeeded = IORING_FEAT_NODROP | IORING_FEAT_NATIVE_WORKERS;
    if ((wanted.features & kNeeded) != kNeeded)
      return {Errc::kUnsupported, "io_uring of a kernel before Linux 5.12"};
    io_uring_ring_dontfork(&ring_);  // a child would reap its parent's accesses
    return {};
  }

  int descriptor() const noexcept override { return ring_.ring_fd; }
  // Not io_uring_cq_ready(), which reads the head as its only writer may.
  bool has_news() const noexcept override {
    return __atomic_load_n(ring_.cq.ktail, __ATOMIC_RELAXED) !=
           __atomic_load_n(ring_.cq.khead, __ATOMIC_RELAXED);
  }

  void push(const Piece& piece) noexcept override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    CHECK(entry != nullptr, "more pieces than the ring has room for");
    const auto bytes = static_cast<unsigned>(piece.bytes);
    const auto offset = static_cast<uint64_t>(piece.offset);
    if (piece.is_write)
      io_uring_prep_write(entry, piece.fd, piece.data, bytes, offset);
    else
      io_uring_prep_read(entry, piece.fd, piece.data, bytes, offset);
    // Otherwise the kernel would first try the access in the calling thread. That thread, and all
    // that use the ring, would wait for the copy from the cache; and what cannot be finished there
    // would interrupt it later.
    io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
    io_uring_sqe_set_data(entry, piece.tag);
  }

  int submit() noexcept override {
    for (;;) {
      const int taken = io_uring_submit(&ring_);
      if (taken < 0 && taken != -EINTR) return -taken;
      if (taken >= 0 && io_uring_sq_ready(&ring_) == 0) return 0;
      if (taken == 0) return EAGAIN;
    }
  }

  int reap(std::span<End> ends) noexcept override {
    int count = 0;
    io_uring_cqe* entry = nullptr;
    while (count < static_cast<int>(ends.size()) &&
           io_uring_peek_cqe(&ring_, &entry) == 0) {
      ends[static_cast<size_t>(count++)] = {io_uring_cqe_get_data(entry), entry->res};
      io_uring_cqe_seen(&ring_, entry);
    }
    return count;
  }

 private:
  io_uring ring_{};
  bool is_open_ = false;
};

}  // namespace

Result<std::unique_ptr<Ring>> Ring::open(int most_pieces) {
  auto ring = std::make_unique<Uring>();
  MPC_TRY(ring->open(most_pieces));
  return std::unique_ptr<Ring>(std::move(ring));
}

}  // namespace mpc::io
