#include <atomic>
#include <mutex>
#include <utility>

#include "base/traffic.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/network.h"
#include "runtime/message/remote.h"
#include "runtime/message/routes.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

std::mutex g_lifetime;  // protects the numbers below
int g_created = 0;      // ranks that called create_mailbox()
int g_ended = 0;        // those of them that were destroyed

enum class Discard { kOfEndedRank, kAll };

// Messages that wait for an answer stay: their sender may ask for them,
// and a deadlock report names it. Returns messages of other processes,
// chained by next_free: they are returned without the lock.
[[nodiscard]] Block* discard_unexpected(Mailbox& mailbox, Discard what) {
  Block* parcels = nullptr;
  Entry* next;
  for (Entry* entry = mailbox.unexpected.first(); entry != nullptr; entry = next) {
    next = entry->next[0];
    const bool is_parcel = entry->kind == Entry::kParcel;
    if (is_parcel && what == Discard::kOfEndedRank &&
        static_cast<Block*>(entry)->head.expects_answer())
      continue;
    mailbox.unexpected.remove(*entry);
    if (is_parcel) {
      static_cast<Block*>(entry)->next_free = parcels;
      parcels = static_cast<Block*>(entry);
    } else if (entry->kind == Entry::kBlock) {
      EagerPool::give_back(static_cast<Block*>(entry));
    } else {
      static_cast<Operation*>(entry)->is_orphan = true;
    }
  }
  return parcels;
}

// Waits until no thread is between taking a receive out of its queue and completing it.
// Gives up after some time: in a busy mailbox the count may never be seen at zero, and only
// a rank that ends with operations under way (an error of the program) depends on it.
void wait_for_copies(Mailbox& mailbox) noexcept {
  constexpr int kTurns = 20000;  // some ms
  ShortWait wait;
  // Acquire pairs with the release in Work::run_all().
  for (int i = 0; i < kTurns && mailbox.copies.load(std::memory_order_acquire) != 0;
       ++i) {
    wait.once();
  }
}

// Afterwards no other process uses memory of the rank. Receives whose data are being requested at
// this moment are counted in `copies`, and known to remote::forget() soon.
void forget_remote(Mailbox& mine) {
  if (!has_network()) return;
  ShortWait wait;
  remote::forget(mine);
  // Acquire pairs with the release in Work::run_all().
  while (mine.copies.load(std::memory_order_acquire) != 0) {
    wait.once();
    remote::forget(mine);
  }
}

// Withdraws the sends of an ending rank that were not received: no pointer to them may be left.
// Slow, but a rank that has called MPI_Finalize has none.
void withdraw_sends(Mailbox& mine) {
  const auto withdraw = [](Mailbox& other, void* from) {
    Work work;
    other.lock_now();
    other.drain(work);
    Entry* next;
    for (Entry* e = other.unexpected.first(); e != nullptr; e = next) {
      next = e->next[0];
      if (e->kind != Entry::kRendezvous) continue;
      if (static_cast<Operation*>(e)->origin == from) other.unexpected.remove(*e);
    }
    other.unlock();
    work.run();
    wait_for_copies(other);
  };
  for_each_mailbox(mine.world_rank, withdraw, &mine);
}

}  // namespace

bool have_all_ended() noexcept {
  const std::lock_guard guard(g_lifetime);
  return g_ended == g_created;
}

void free_all_mailboxes() {
  const auto discard = [](Mailbox& mailbox, void*) {
    Block* parcel = discard_unexpected(mailbox, Discard::kAll);
    while (parcel != nullptr)
      EagerPool::give_back(std::exchange(parcel, parcel->next_free));
  };
  for_each_mailbox(discard, nullptr);
  free_mailboxes();  // by now blocks have been returned to their pools
  g_created = g_ended = 0;
}

void create_mailbox(job::Rank& rank) {
  Mailbox& mailbox = own_mailbox(rank.world_rank);
  mailbox.owner.store(&rank, std::memory_order_relaxed);  // read by itself, or compared
  // Forever, so that recv_small() is not used, which reports no matches.
  if (traffic::is_watched()) mailbox.wanted.fetch_add(1, std::memory_order_relaxed);
  std::atomic_ref(rank.mailbox)
      .store(&mailbox, std::memory_order_relaxed);  // see notify()
  std::lock_guard guard(g_lifetime);
  ++g_created;
}

void destroy_mailbox(job::Rank& rank) {
  Mailbox& mine = mailbox_of(rank);
  mine.delegate();
  Work work;
  mine.lock_now();
  mine.drain(work);
  // Release pairs with the acquire of senders that read it without the lock.
  mine.closed.store(true, std::memory_order_release);
  while (Entry* entry = mine.posted.first()) {
    mine.posted.remove(static_cast<Operation&>(*entry));
  }
  Block* const parcels = discard_unexpected(mine, Discard::kOfEndedRank);
  mine.unlock();
  work.run();
  remote::release(parcels, mine.world_rank);
  forget_remote(mine);
  wait_for_copies(mine);
  mine.outside.note_rank_end();
  if (mine.has_sent_pointers.load(std::memory_order_relaxed) &&
      rank.phase.load(std::memory_order_relaxed) != job::kAfterFinalize) {
    withdraw_sends(mine);
  }
  std::atomic_ref(rank.mailbox)
      .store(nullptr, std::memory_order_relaxed);  // see notify()
  std::lock_guard guard(g_lifetime);
  // A network may still hold messages for them: then close_network() frees them.
  if (++g_ended == g_created && g_ended >= rank.world_size && !has_network())
    free_all_mailboxes();
}

int64_t operations_in_flight() noexcept {
  int64_t total = 0;
  const auto count = [](Mailbox& mailbox, void* sum) {
    mailbox.lock_now();
    auto operations = static_cast<int64_t>(mailbox.posted.size());
    for (Entry* e = mailbox.unexpected.first(); e != nullptr; e = e->next[0]) {
      const bool is_parcel = e->kind == Entry::kParcel;
      const bool is_send = is_parcel
                               ? static_cast<Block&>(*e).head.expects_answer() &&
                                     !mailbox.closed.load(std::memory_order_relaxed)
                               : e->kind == Entry::kRendezvous;
      operations += is_send ? 1 : 0;
    }
    mailbox.unlock();
    *static_cast<int64_t*>(sum) += operations;
  };
  for_each_mailbox(count, &total);
  return total;
}

}  // namespace mpc::msg
