#include "runtime/job/losses.h"

#include <memory>

#include "base/check.h"

namespace mpc::job::losses {

constinit std::atomic<int> g_count{0};

namespace {

// Set by survive(); these exist until the end of the process.
constinit int g_processes = 0;
constinit std::unique_ptr<std::atomic<bool>[]> g_is_lost;  // by process
constinit std::unique_ptr<int[]> g_order;
constinit Handler g_handler = nullptr;

}  // namespace

void survive(int processes) {
  g_is_lost = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(processes));
  g_order = std::make_unique<int[]>(static_cast<size_t>(processes));
  g_processes = processes;
}

bool are_survived() noexcept { return g_processes != 0; }

bool is_lost(int process) noexcept {
  return any() && process >= 0 && process < g_processes &&
         g_is_lost[static_cast<size_t>(process)].load(std::memory_order_relaxed);
}

std::vector<int> all() {
  const int count = g_count.load(std::memory_order_acquire);  // pairs with note()
  return {g_order.get(), g_order.get() + count};
}

void note(int process) noexcept {
  CHECK(process >= 0 && process < g_processes, "the launcher names no such process");
  if (g_is_lost[static_cast<size_t>(process)].exchange(true, std::memory_order_relaxed))
    return;
  const int count = g_count.load(std::memory_order_relaxed);  // one writer
  g_order[static_cast<size_t>(count)] = process;
  // Release pairs with any(): the two lines above.
  g_count.store(count + 1, std::memory_order_release);
}

void on_loss(Handler handler) noexcept { g_handler = handler; }

void announce(int process) {
  if (g_handler != nullptr) g_handler(process);
}

}  // namespace mpc::job::losses
