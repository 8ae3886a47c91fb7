#include "tests/unit/transport/nets.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/settings.h"
#include "runtime/transport/bridge/bridge.h"
#include "runtime/transport/load_net.h"
#include "runtime/transport/loopback/loopback.h"

namespace mpc::transport::test {
namespace {

constexpr auto kLong = std::chrono::seconds(40);
constexpr int kSleepMs = 5000;

class LoopbackNets final : public Nets {
 public:
  LoopbackNets(int processes, uint64_t seed) {
    LoopbackConfig config;
    config.seed = seed;
    config.delay_ns = 100'000;
    config.eager_bytes = 8192;
    loopback_ = Loopback::make(processes, config);
  }
  std::string start(std::vector<Receiver*> receivers) override {
    const auto started = loopback_->start(std::move(receivers), nullptr);
    return started.ok() ? "" : started.error().message;
  }
  Net& net(int process) override { return loopback_->end_of(process); }
  sched::EventSource* events(int) override { return nullptr; }

 private:
  std::unique_ptr<Loopback> loopback_;
};

// Each end is connected with each other one by a pair of sockets.
class BridgeNets final : public Nets {
 public:
  // All at once: the end of one is news for the others, whose receivers may be gone.
  ~BridgeNets() override {
    for (const auto& bridge : bridges_) bridge->leave(0);
  }
  BridgeNets(int processes, int type) : type_(type) {
    BridgeConfig config;
    config.peers = processes;
    config.eager_bytes = 8192;
    for (int p = 0; p < processes; ++p) bridges_.push_back(Bridge::make(config));
  }
  std::string start(std::vector<Receiver*> receivers) override {
    for (size_t p = 0; p < bridges_.size(); ++p) {
      const auto started = bridges_[p]->start(*receivers[p], nobody_, -1);
      if (!started.ok()) return started.error().message;
    }
    for (size_t p = 0; p < bridges_.size(); ++p)
      for (size_t q = 0; q < p; ++q)
        if (std::string problem = join(p, q); !problem.empty()) return problem;
    return "";
  }
  Net& net(int process) override {
    return bridges_[static_cast<size_t>(process)]->net();
  }
  sched::EventSource* events(int) override { return nullptr; }

 private:
  struct Nobody final : BridgeEvents {
    int greet(int, std::span<const std::byte>) noexcept override { return -1; }
    void gone(int, bool) noexcept override {}
  };
  std::string join(size_t p, size_t q) {
    int ends[2];
    if (::socketpair(AF_UNIX, type_ | SOCK_CLOEXEC, 0, ends) != 0) return "no sockets";
    const auto one = bridges_[p]->connect(static_cast<int>(q), ends[0]);
    const auto other = bridges_[q]->connect(static_cast<int>(p), ends[1]);
    return one.ok() && other.ok() ? "" : "not connected";
  }
  const int type_;  // of the sockets: packets, or a stream as between hosts
  Nobody nobody_;
  std::vector<std::unique_ptr<Bridge>> bridges_;
};

class UcxNets final : public Nets {
 public:
  std::string open(const Kind& kind, int processes) {
    is_same_host_ = kind.is_same_host;
    shares_memory_ = kind.shares_memory;
    ::setenv("UCX_TLS", *kind.ucx_networks != '\0' ? kind.ucx_networks : "all", 1);
    for (int p = 0; p < processes; ++p) {
      NetConfig config{p, processes, 0, &note_problem, this, "", kind.is_alone ? 1 : 0};
      auto module = load_net(config);
      if (!module.ok()) return module.error().message;
      modules_.push_back(std::move(*module));
    }
    return "";
  }
  std::string start(std::vector<Receiver*> receivers) override {
    std::vector<NetPeer> peers;
    for (auto& module : modules_)
      peers.push_back({module->address(), is_same_host_, shares_memory_});
    for (size_t p = 0; p < modules_.size(); ++p) {
      const auto connected = modules_[p]->connect(peers, *receivers[p]);
      if (!connected.ok()) return connected.error().message;
    }
    return "";
  }
  Net& net(int process) override {
    return modules_[static_cast<size_t>(process)]->net();
  }
  sched::EventSource* events(int process) override {
    return &modules_[static_cast<size_t>(process)]->events();
  }
  std::vector<std::string> problems() override {
    const Locked locked(lock_);
    return problems_;
  }

 private:
  static void note_problem(void* self, int peer, const char* problem) noexcept {
    auto& nets = *static_cast<UcxNets*>(self);
    const Locked locked(nets.lock_);
    nets.problems_.push_back(std::to_string(peer) + ": " + problem);
  }
  std::vector<std::unique_ptr<NetModule>> modules_;
  bool is_same_host_ = true, shares_memory_ = false;
  Mutex lock_;
  std::vector<std::string> problems_ MPC_GUARDED_BY(lock_);
};

}  // namespace

std::string Nets::make(const Kind& kind, int processes, std::unique_ptr<Nets>& made) {
  if (kind.ucx_networks == nullptr) {
    made = std::make_unique<LoopbackNets>(processes, kind.seed);
    return "";
  }
  if (std::strcmp(kind.ucx_networks, kSockets) == 0) {
    made = std::make_unique<BridgeNets>(processes, SOCK_SEQPACKET);
    return "";
  }
  if (std::strcmp(kind.ucx_networks, kStreams) == 0) {
    made = std::make_unique<BridgeNets>(processes, SOCK_STREAM);
    return "";
  }
  auto nets = std::make_unique<UcxNets>();
  std::string problem = nets->open(kind, processes);
  made = std::move(nets);
  return problem;
}

std::vector<char> message(size_t bytes, int seed) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = pattern(i, seed);
  return data;
}

// --- Inbox -------------------------------------------------------------------------------------

void Inbox::refuse_one_of(unsigned takes, uint64_t seed) {
  one_of_ = takes;
  random_.seed(seed);
}

bool Inbox::is_refused() { return one_of_ != 0 && random_() % one_of_ == 0; }

bool Inbox::take(int from, const Envelope& envelope, const void* data, size_t bytes,
                 Bulk bulk) noexcept {
  if (inside_.fetch_add(1) != 0) was_entered_twice_ = true;
  const bool is_taken = !is_refused();
  if (is_taken) {
    const char* const first = static_cast<const char*>(data);
    fresh_.push_back({from, envelope, {first, first + bytes}, bulk});
  }
  inside_.fetch_sub(1);
  return is_taken;
}

bool Inbox::finish() noexcept {
  if (inside_.fetch_add(1) != 0) was_entered_twice_ = true;
  const bool is_last = !is_refused();
  if (is_last) {
    std::vector<Arrival> arrivals;
    arrivals.swap(fresh_);
    for (Arrival& arrival : arrivals) {
      if (handler_) {
        handler_(arrival);
      } else {
        const Locked locked(lock_);
        kept_.push_back(std::move(arrival));
      }
    }
  }
  inside_.fetch_sub(1);
  return is_last;
}

size_t Inbox::count() {
  const Locked locked(lock_);
  return kept_.size();
}

std::vector<Arrival> Inbox::all() {
  const Locked locked(lock_);
  return std::exchange(kept_, {});
}

// --- Sleepers ----------------------------------------------------------------------------------

Sleepers::Sleepers(Nets& nets, int processes) {
  if (::pipe(stop_) != 0) std::abort();
  for (int p = 0; p < processes; ++p)
    if (sched::EventSource* events = nets.events(p))
      threads_.emplace_back([this, events] { run(*events); });
}

Sleepers::~Sleepers() {
  is_over_ = true;
  ::close(stop_[1]);
  for (std::thread& thread : threads_) thread.join();
  ::close(stop_[0]);
}

void Sleepers::run(sched::EventSource& events) noexcept {
  while (!is_over_) {
    if (events.poll() || !events.arm()) continue;
    pollfd both[2] = {{events.descriptor(), POLLIN, 0}, {stop_[0], POLLIN, 0}};
    if (::poll(both, 2, kSleepMs) == 0) ++vain_;
  }
}

bool eventually(Nets& nets, int processes, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    bool has_news = false;
    for (int p = 0; p < processes; ++p) {
      sched::EventSource* const events = nets.events(p);
      has_news = (events != nullptr && events->poll()) || has_news;
    }
    if (!has_news) std::this_thread::yield();
  }
  return true;
}

}  // namespace mpc::transport::test
