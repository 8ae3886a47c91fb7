#include "runtime/message/lost_members.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/job/losses.h"
#include "runtime/message/routes.h"

namespace mpc::msg {
namespace {

namespace losses = job::losses;

struct Members {
  std::span<const int> senders, others;
  // The senders whose deaths have been reported to receives from any source.
  std::vector<int> told;

  bool is_told(int source) const {
    return std::find(told.begin(), told.end(), source) != told.end();
  }
  void tell(int source) {
    if (!is_told(source)) told.push_back(source);
  }
};

std::mutex g_members_lock;
// Guarded by g_members_lock. Never destroyed: the thread may read it while main()'s statics are destroyed.
std::map<std::pair<int, ContextId>, Members>& all_members() {
  static auto* const all = new std::map<std::pair<int, ContextId>, Members>;
  return *all;
}
Members* find_members(int rank, ContextId context) {
  const auto found = all_members().find({rank, context});
  return found != all_members().end() ? &found->second : nullptr;
}

bool is_lost(int world_rank) noexcept {
  return losses::is_lost(process_of(world_rank));
}

bool has_lost(const Members& m) noexcept {
  return std::any_of(m.senders.begin(), m.senders.end(), is_lost) ||
         std::any_of(m.others.begin(), m.others.end(), is_lost);
}

// The same among jobs that are connected: one that ends regularly concerns only receives that no
// other one can fill.
Loss last_death(const Members& m, int own_rank) {
  Loss loss;
  for (size_t i = 0; i < m.senders.size(); ++i) {
    const bool is_dead = is_lost(m.senders[i]);
    if (!is_dead && m.senders[i] != own_rank) return {};
    if (is_dead) loss = {true, static_cast<int>(i)};
  }
  return loss;
}

// For a receive from any source: the first death that was not reported to it; once no other rank can send, the last death.
Loss next_death(const Members& m, int own_rank) {
  std::vector<int> dead;
  for (const int process : losses::all())
    for (size_t i = 0; i < m.senders.size(); ++i)
      if (process_of(m.senders[i]) == process) dead.push_back(static_cast<int>(i));
  if (!losses::are_survived()) return last_death(m, own_rank);
  const bool is_alone = std::all_of(
      m.senders.begin(), m.senders.end(),
      [&](int world_rank) { return is_lost(world_rank) || world_rank == own_rank; });
  for (const int source : dead)
    if (!m.is_told(source)) return {true, source};
  return {is_alone && !dead.empty(), dead.empty() ? kAnySource : dead.back()};
}

Loss find_loss(const Members& m, ContextId context, int source, int own_rank) {
  if (is_collective(context)) return {has_lost(m), source};
  if (source == kAnySource) return next_death(m, own_rank);
  return {is_lost(m.senders[static_cast<size_t>(source)]), source};
}

}  // namespace

void add_members(int rank, ContextId context, std::span<const int> senders,
                 std::span<const int> others) {
  const std::lock_guard lock(g_members_lock);
  all_members()[{rank, context}] = {senders, others, {}};
}

void remove_members(int rank, ContextId context) noexcept {
  const std::lock_guard lock(g_members_lock);
  all_members().erase({rank, context});
}

Loss take_loss(int rank, ContextId context, int source) {
  const std::lock_guard lock(g_members_lock);
  Members* const members = find_members(rank, context);
  if (members == nullptr) return {};
  const Loss loss = find_loss(*members, context, source, rank);
  if (loss.is_there && source == kAnySource) members->tell(loss.source);
  return loss;
}

bool has_lost_member(int rank, ContextId context) {
  const std::lock_guard lock(g_members_lock);
  const Members* const members = find_members(rank, context);
  return members != nullptr && has_lost(*members);
}

Loss see_loss(int rank, ContextId context, int source) {
  const std::lock_guard lock(g_members_lock);
  const Members* const members = find_members(rank, context);
  return members != nullptr ? find_loss(*members, context, source, rank) : Loss{};
}

void note_told(int rank, ContextId context, int source) {
  const std::lock_guard lock(g_members_lock);
  if (Members* const members = find_members(rank, context)) members->tell(source);
}

}  // namespace mpc::msg
