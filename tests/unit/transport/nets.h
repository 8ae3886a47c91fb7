#pragma once
// Nets: several ends of one network in one process, and receivers for them: what tests of the contract
// in runtime/transport/net.h run on, whatever carries the messages.
//
// Role:      makes loopback's ends and UCX's alike; a receiver that keeps what it takes, or does not
//            take it now and then; threads that sleep until there is news.
// Users:     tests/unit/transport.
// Threads:   see each.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "runtime/transport/net.h"
#include "runtime/transport/net_module.h"

namespace mpc::transport::test {

// In the place of UCX's networks: runtime/transport/bridge.
inline constexpr char kSockets[] = "sockets";
inline constexpr char kStreams[] = "streams";  // the same, as between hosts

struct Kind {
  const char* name;
  const char*
      ucx_networks;  // UCX_TLS; "": UCX's own choice; null: loopback; kSockets, kStreams
  uint64_t seed;     // of loopback; of receivers
  bool is_same_host;
  bool shares_memory = false;  // runtime/transport/host
  bool is_alone = false;       // each process knows that it is the only one of its host
};
inline std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.name;
}

class Nets {
 public:
  // "": all is well.
  static std::string make(const Kind& kind, int processes, std::unique_ptr<Nets>& made);
  virtual ~Nets() = default;
  virtual std::string start(std::vector<Receiver*> receivers) = 0;
  virtual Net& net(int process) = 0;
  // Null: it delivers by itself.
  virtual sched::EventSource* events(int process) = 0;
  virtual std::vector<std::string> problems() { return {}; }
};

// The byte at each place of a message.
inline char pattern(size_t at, int seed) {
  return static_cast<char>(at * 7 + (at >> 9) + static_cast<size_t>(seed) * 13 + 1);
}
std::vector<char> message(size_t bytes, int seed);

struct Arrival {
  int from;
  Envelope envelope;
  std::vector<char> data;
  Bulk bulk;
};

// Keeps what comes. take() and finish(): the net. The rest: any.
class Inbox final : public Receiver {
 public:
  // One of so many arrivals is not taken at first, one of so many finish() is not the last. 0: none.
  void refuse_one_of(unsigned takes, uint64_t seed);
  // Called in finish() for each arrival instead of keeping it.
  void on_arrival(std::function<void(Arrival&)> handler) {
    handler_ = std::move(handler);
  }
  bool take(int from, const Envelope& envelope, const void* data, size_t bytes,
            Bulk bulk) noexcept override;
  bool finish() noexcept override;

  size_t count();
  std::vector<Arrival> all();  // and forgets them
  bool was_entered_twice() const { return was_entered_twice_.load(); }

 private:
  bool is_refused();
  std::atomic<int> inside_{0};
  std::atomic<bool> was_entered_twice_{false};
  unsigned one_of_ = 0;
  std::mt19937_64 random_;
  std::vector<Arrival> fresh_;
  std::function<void(Arrival&)> handler_;
  Mutex lock_;
  std::vector<Arrival> kept_ MPC_GUARDED_BY(lock_);
};

struct Counted : Completion {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): `done` is set
  Counted() : Completion{&count} {}
  static void count(Completion& self, Outcome outcome) noexcept {
    auto& c = static_cast<Counted&>(self);
    c.outcome = outcome;
    c.times.fetch_add(1, std::memory_order_release);  // pairs with is_done()
  }
  bool is_done() const { return times.load(std::memory_order_acquire) != 0; }
  std::atomic<int> times{0};
  Outcome outcome{};
};

// One thread for each process, that polls while there is news and sleeps on the descriptor otherwise.
class Sleepers {
 public:
  Sleepers(Nets& nets, int processes);
  ~Sleepers();
  // So often nothing has come for seconds although somebody waited.
  int vain_sleeps() const { return vain_.load(); }

 private:
  void run(sched::EventSource& events) noexcept;
  int stop_[2];
  std::atomic<bool> is_over_{false};
  std::atomic<int> vain_{0};
  std::vector<std::thread> threads_;
};

// Polls all ends until the condition holds. False: not for a long time.
bool eventually(Nets& nets, int processes, const std::function<bool()>& condition);

}  // namespace mpc::transport::test
