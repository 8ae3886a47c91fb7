#include "runtime/job/losses.h"

#include <memory>

#include <array>

#include "base/check.h"
#include "runtime/job/neighbours.h"

namespace mpc::job::losses {

constinit std::atomic<int> g_count{0};

namespace {

// Set by survive(); these exist until the end of the process.
constinit int g_processes = 0;
constinit std::unique_ptr<std::atomic<bool>[]> g_is_lost;  // by process
constinit std::unique_ptr<int[]> g_order;
constinit Handler g_handler = nullptr;
// By slot. The last place stands for all ranks whose process has ended (neighbours::remove()).
constinit std::array<std::atomic<bool>, neighbours::kGoneSlot + 1> g_has_gone{};
constinit std::atomic<bool> g_outlives_neighbours{false};

std::atomic<bool>& gone_at(int process) noexcept {
  return g_has_gone[static_cast<size_t>(neighbours::index_of_process(process))];
}

// Release pairs with any(): what the caller has noted before.
void count_one() noexcept { g_count.fetch_add(1, std::memory_order_release); }

void note_neighbour(int process) noexcept {
  gone_at(process).store(true, std::memory_order_relaxed);
  gone_at(neighbours::far_process(neighbours::kGoneSlot))
      .store(true, std::memory_order_relaxed);
  count_one();
}

}  // namespace

void survive(int processes) {
  g_is_lost = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(processes));
  g_order = std::make_unique<int[]>(static_cast<size_t>(processes));
  g_processes = processes;
}

bool are_survived() noexcept { return g_processes != 0; }

void survive_neighbours() noexcept {
  g_outlives_neighbours.store(true, std::memory_order_relaxed);
}

// relaxed: set before there is a neighbour, whose creation publishes it.
bool are_neighbours_survived() noexcept {
  return g_outlives_neighbours.load(std::memory_order_relaxed);
}

bool is_lost(int process) noexcept {
  if (neighbours::is_far_process(process)) [[unlikely]]
    return any() && gone_at(process).load(std::memory_order_relaxed);
  return any() && process >= 0 && process < g_processes &&
         g_is_lost[static_cast<size_t>(process)].load(std::memory_order_relaxed);
}

std::vector<int> all() {
  if (!are_survived()) return {};
  const int count = g_count.load(std::memory_order_acquire);  // pairs with note()
  return {g_order.get(), g_order.get() + count};
}

void note(int process) noexcept {
  if (neighbours::is_far_process(process)) return note_neighbour(process);
  CHECK(process >= 0 && process < g_processes, "the launcher names no such process");
  if (g_is_lost[static_cast<size_t>(process)].exchange(true, std::memory_order_relaxed))
    return;
  const int count = g_count.load(std::memory_order_relaxed);  // one writer
  g_order[static_cast<size_t>(count)] = process;
  count_one();
}

void forget_neighbour(int process) noexcept {
  gone_at(process).store(false, std::memory_order_relaxed);
}

void on_loss(Handler handler) noexcept { g_handler = handler; }

void announce(int process) {
  if (g_handler != nullptr) g_handler(process);
}

}  // namespace mpc::job::losses
