#pragma once
// Fabric: the queue between virtual processes, and the thread that delivers.
//
// Role:      holds packets until their time has come, and resolves the handles of offers and
//            fetches: the only place that knows memory of two processes.
// Users:     runtime/transport/loopback.
// Threads:   send(), note_*(), forget() any; the others its own thread.
// See also:  runtime/transport/loopback/loopback.h.

#include <pthread.h>

#include <atomic>
#include <memory>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/futex.h"
#include "base/mutex.h"
#include "runtime/transport/loopback/loopback.h"

namespace mpc::transport::loopback {

enum class Wire : uint8_t {
  kMessage,  // envelope, data
  kOffer,    // envelope; `handle` names the data
  kFetch,    // `handle` of the offer, `fetch` of the receiver
  kData,     // `fetch`, data
  kNoData,   // `fetch`: the offer no longer exists
  kRefuse,   // `handle`
};

// A message on its way: bytes, and numbers that only the process understands that issued them.
struct Packet {
  uint64_t due_ns = 0;
  uint64_t order = 0;
  int from = 0, to = 0;
  Wire wire{};
  uint64_t handle = 0;
  uint64_t fetch = 0;
  std::vector<char> bytes;
};

struct Later {
  bool operator()(const Packet& a, const Packet& b) const noexcept {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.order > b.order;
  }
};

// The packed message, after `room` free bytes.
std::vector<char> pack(const Source& source, size_t room);

class Fabric;

class End final : public Net {
 public:
  End(Fabric& fabric, int process) : fabric_(fabric), process_(process) {}
  Limits limits(int) const noexcept override;
  void post(int peer, const Envelope& envelope, const Source& source) noexcept override;
  void offer(int peer, const Envelope& envelope, const Source& source,
             Completion& completion) noexcept override;
  void fetch(int peer, Bulk bulk, const Target& target,
             Completion& completion) noexcept override;
  void refuse(int peer, Bulk bulk) noexcept override;
  void forget(Completion& completion) noexcept override;

 private:
  Fabric& fabric_;
  int process_;
};

class Fabric final : public Loopback {
 public:
  Fabric(int processes, const LoopbackConfig& config)
      : config_(config), random_(config.seed) {
    for (int p = 0; p < processes; ++p)
      ends_.push_back(std::make_unique<End>(*this, p));
  }
  ~Fabric() override { stop(); }
  Net& end_of(int process) noexcept override {
    return *ends_[static_cast<size_t>(process)];
  }
  Result<> start(std::vector<Receiver*> receivers, void (*prepare)()) override;

  const LoopbackConfig& config() const noexcept { return config_; }
  void send(Packet packet) noexcept;
  uint64_t note_offer(const Source& source, Completion& completion);
  uint64_t note_fetch(const Target& target, Completion& completion);
  void forget(Completion& completion) noexcept;

 private:
  struct Offer {
    Source source;
    Completion* completion;
  };
  struct Fetch {
    Target target;
    Completion* completion;
  };

  static void* thread_main(void* self);
  void run() noexcept;
  void stop() noexcept;
  void wake() noexcept;
  void end_packets(size_t packets) noexcept;
  bool next(Packet& packet) noexcept;
  void sleep(uint32_t seen) noexcept;
  bool deliver(Packet& packet) noexcept;
  bool give(const Packet& packet) noexcept;
  void answer(const Packet& packet) noexcept;
  void refused(const Packet& packet) noexcept;
  void fill(const Packet& packet) noexcept;
  void retry() noexcept;
  template <class Table>
  bool begin_use(Table Fabric::*which, uint64_t number,
                 typename Table::mapped_type& found);
  void end_use() noexcept;

  const LoopbackConfig config_;
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<Receiver*> receivers_;
  void (*prepare_)() = nullptr;
  pthread_t thread_{};
  bool is_started_ = false;
  std::atomic<bool> stop_{false};
  FutexWord sent_{0};  // changes with each packet
  std::atomic<bool> is_asleep_{false};

  Mutex lock_;
  std::priority_queue<Packet, std::vector<Packet>, Later> queue_ MPC_GUARDED_BY(lock_);
  std::mt19937_64 random_ MPC_GUARDED_BY(lock_);
  uint64_t last_number_ MPC_GUARDED_BY(lock_) = 0;
  std::unordered_map<uint64_t, Offer> offers_ MPC_GUARDED_BY(lock_);
  std::unordered_map<uint64_t, Fetch> fetches_ MPC_GUARDED_BY(lock_);
  // The operation whose memory the thread reads or writes now: forget() waits for it.
  Completion* in_use_ MPC_GUARDED_BY(lock_) = nullptr;

  // Only for the thread.
  std::vector<Packet> kept_;      // not accepted yet
  std::vector<char> unfinished_;  // receivers that asked for another finish()
};

}  // namespace mpc::transport::loopback
