#include "mpi/objects/made.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace mpc::mpi {
namespace {

struct OfRank {
  std::mutex mutex;
  std::unordered_map<const Object*, Made> made;
};
// Set once, in the first MPI_Init, before g_notes_objects. Never destroyed: objects may end after
// main().
OfRank* g_ranks = nullptr;

// Release: the thread that sets it; acquire: a thread that has ended a request.
constinit std::atomic<RequestHook> g_request_hook{nullptr};

OfRank& of_rank(const Object& object) noexcept { return g_ranks[object.owner()]; }

}  // namespace

void note_objects(int ranks) {
  static std::once_flag once;
  std::call_once(once, [ranks] {
    g_ranks = new OfRank[static_cast<size_t>(ranks)];
    g_notes_objects.store(true, std::memory_order_release);  // pairs with Object()
  });
}

std::vector<Made> objects_of(int world_rank) {
  std::vector<Made> out;
  if (g_ranks == nullptr) return out;
  OfRank& rank = g_ranks[world_rank];
  const std::lock_guard lock(rank.mutex);
  out.reserve(rank.made.size());
  for (const auto& [object, made] : rank.made) out.push_back(made);
  return out;
}

void at_end_of_requests(RequestHook hook) {
  g_request_hook.store(hook, std::memory_order_release);
}

namespace detail {

void note_made(const Object& object) {
  OfRank& rank = of_rank(object);
  const std::lock_guard lock(rank.mutex);
  rank.made[&object] = {object.kind(), this_call(), &object};
}

void note_gone(const Object& object) {
  if (object.kind() == Kind::kRequest) {
    const RequestHook hook = g_request_hook.load(std::memory_order_acquire);
    if (hook != nullptr) hook(object);
  }
  OfRank& rank = of_rank(object);
  const std::lock_guard lock(rank.mutex);
  rank.made.erase(&object);
}

}  // namespace detail
}  // namespace mpc::mpi
