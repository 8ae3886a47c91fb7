#include "mpi/objects/buffered.h"

#include <fmt/format.h>

#include <atomic>
#include <new>
#include <utility>

namespace mpc::mpi {

// A message on its way; the packed data follow it in memory.
struct BufferedMessage::Entry {
  msg::Request request;
  Entry* next = nullptr;
  int64_t cost = 0;
  std::atomic<int> holders{1};
  char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  void drop() noexcept {
    // Both sides are executions of one rank. Release and acquire, because the last holder frees the
    // message.
    if (holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->~Entry();
    ::operator delete(this);
  }
};

BufferedMessage::~BufferedMessage() {
  if (entry_ != nullptr) entry_->drop();
}

msg::Request& BufferedMessage::request() const noexcept { return entry_->request; }

bool BufferedMessage::cancel(job::Rank& self) {
  if (entry_ == nullptr) return false;
  msg::cancel(self, entry_->request);
  return entry_->request.is_complete() && entry_->request.status().cancelled;
}

namespace {

class FlushReason final : public sched::WaitReason {
 public:
  explicit FlushReason(const char* call) noexcept : call_(call) {}
  std::string text() const override {
    return fmt::format("{}: until the buffered messages are delivered", call_);
  }

 private:
  const char* call_;
};

}  // namespace

SendBuffer::~SendBuffer() {
  // Detached buffers are empty. When a rank ends, its undelivered messages are lost.
  std::lock_guard lock(mutex_);
  reap();
}

void SendBuffer::reap() {
  for (Entry** link = &entries_; *link != nullptr;) {
    Entry* entry = *link;
    if (!entry->request.is_complete()) {
      link = &entry->next;
      continue;
    }
    *link = entry->next;
    used_ -= entry->cost;
    entry->drop();
  }
}

std::vector<BufferedMessage> SendBuffer::pending() {
  std::vector<BufferedMessage> messages;
  std::lock_guard lock(mutex_);
  reap();
  for (Entry* e = entries_; e != nullptr; e = e->next) {
    e->holders.fetch_add(1, std::memory_order_relaxed);  // the list holds one already
    messages.emplace_back().entry_ = e;
  }
  return messages;
}

bool SendBuffer::is_empty() {
  std::lock_guard lock(mutex_);
  reap();
  return entries_ == nullptr;
}

Err SendBuffer::send(job::Rank& self, const msg::SendArgs& args,
                     BufferedMessage* message) {
  const int64_t packed = args.type->size() * args.count;
  const int64_t cost = packed + MPI_BSEND_OVERHEAD;
  Entry* entry = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (used_ + cost > bytes_) reap();
    if (base_ != MPI_BUFFER_AUTOMATIC && used_ + cost > bytes_) {
      return fail(
          MPI_ERR_BUFFER,
          fmt::format("a buffered message of {} bytes and {} bytes of overhead does "
                      "not fit: {} of the attached {} bytes are in use; attach a "
                      "larger buffer",
                      packed, static_cast<int>(MPI_BSEND_OVERHEAD), used_, bytes_));
    }
    void* memory =
        ::operator new(sizeof(Entry) + static_cast<size_t>(packed), std::nothrow);
    if (memory == nullptr) {
      return fail(MPI_ERR_NO_MEM, fmt::format("no memory to buffer {} bytes", packed));
    }
    entry = new (memory) Entry;
    entry->cost = cost;
    used_ += cost;
  }
  dt::pack(args.buffer, *args.type, args.count, 0, entry->data(),
           static_cast<size_t>(packed));
  msg::SendArgs as_bytes = args;
  as_bytes.buffer = entry->data();
  as_bytes.count = packed;
  as_bytes.type = dt::predefined(dt::abi::kByte);
  msg::start_send(self, entry->request, as_bytes);
  if (message != nullptr) {
    entry->holders.fetch_add(1, std::memory_order_relaxed);  // no other holder yet
    *message = BufferedMessage();
    message->entry_ = entry;
  }
  std::lock_guard lock(mutex_);
  entry->next = entries_;
  entries_ = entry;
  return kSuccess;
}

void SendBuffer::flush(job::Rank& self, const char* call) {
  if (is_empty()) return;
  const FlushReason reason(call);
  for (;;) {
    Entry* oldest = nullptr;
    {
      std::lock_guard lock(mutex_);
      reap();
      for (Entry* e = entries_; e != nullptr; e = e->next) oldest = e;
    }
    if (oldest == nullptr) return;
    msg::wait(self, oldest->request, reason);
  }
}

}  // namespace mpc::mpi
