#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

// One pointer for each world rank that could ever be; only touched pages cost memory.
constexpr int kMaxRanks = 1 << 20;
std::atomic<Mailbox*> g_table[kMaxRanks];

std::mutex g_lifetime;  // of the numbers below
int g_created = 0;      // ranks that called create_mailbox()
int g_ended = 0;        // of these, destroyed
int g_table_end = 0;    // highest world rank with a mailbox, plus one

Mailbox* make_mailbox(int world_rank) {
  auto fresh = std::make_unique<Mailbox>(world_rank);
  Mailbox* expected = nullptr;
  // release pairs with the acquire in mailbox_of().
  if (!g_table[world_rank].compare_exchange_strong(expected, fresh.get(),
                                                   std::memory_order_acq_rel,
                                                   std::memory_order_acquire)) {
    return expected;  // another rank was first
  }
  std::lock_guard guard(g_lifetime);
  if (g_table_end <= world_rank) g_table_end = world_rank + 1;
  return fresh.release();
}

// Calls `visit(mailbox)` for each one there is.
template <class Visit>
void for_each_mailbox(Visit visit) {
  int end;
  {
    std::lock_guard guard(g_lifetime);
    end = g_table_end;
  }
  for (int i = 0; i < end; ++i) {
    if (Mailbox* mailbox = g_table[i].load(std::memory_order_acquire)) visit(*mailbox);
  }
}

void discard_unexpected(Mailbox& mailbox) {
  while (Entry* entry = mailbox.unexpected.first()) {
    mailbox.unexpected.remove(*entry);
    if (entry->kind == Entry::kBlock) {
      EagerPool::give_back(static_cast<Block*>(entry));
    } else {
      static_cast<Operation*>(entry)->is_orphan = true;
    }
  }
}

// Waits until nobody is between taking a receive out of its queue and completing it.
// Gives up after some time: in a busy mailbox the count may never be seen at zero, and only
// a rank that ends with operations under way (an error of the program) depends on it.
void wait_for_copies(Mailbox& mailbox) noexcept {
  constexpr int kTurns = 20000;  // some ms
  ShortWait wait;
  // acquire pairs with the release in Work::run_all().
  for (int i = 0; i < kTurns && mailbox.copies.load(std::memory_order_acquire) != 0;
       ++i) {
    wait.once();
  }
}

// The sends of an ending rank that others have not taken: no pointer to them may be left.
// Slow, but a rank that has called MPI_Finalize has none.
void withdraw_sends(Mailbox& mine) {
  for_each_mailbox([&](Mailbox& other) {
    Work work;
    other.lock_now();
    other.drain(work);
    Entry* next;
    for (Entry* e = other.unexpected.first(); e != nullptr; e = next) {
      next = e->next[0];
      if (e->kind != Entry::kRendezvous) continue;
      if (static_cast<Operation*>(e)->origin == &mine) other.unexpected.remove(*e);
    }
    other.unlock();
    work.run();
    wait_for_copies(other);
  });
}

void free_all_mailboxes() {
  for (int i = 0; i < g_table_end; ++i) {
    Mailbox* mailbox = g_table[i].load(std::memory_order_relaxed);
    if (mailbox != nullptr) discard_unexpected(*mailbox);
  }
  for (int i = 0; i < g_table_end; ++i) {  // blocks have gone back to their pools now
    delete g_table[i].exchange(nullptr, std::memory_order_relaxed);
  }
  g_table_end = g_created = g_ended = 0;
}

}  // namespace

Mailbox& mailbox_of(int world_rank) {
  DCHECK(world_rank >= 0 && world_rank < kMaxRanks, "no such world rank");
  Mailbox* mailbox = g_table[world_rank].load(std::memory_order_acquire);
  return mailbox != nullptr ? *mailbox : *make_mailbox(world_rank);
}

void create_mailbox(job::Rank& rank) {
  CHECK(rank.world_rank >= 0 && rank.world_rank < kMaxRanks, "world rank out of range");
  Mailbox& mailbox = mailbox_of(rank.world_rank);
  mailbox.owner.store(&rank, std::memory_order_relaxed);  // read by itself, or compared
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
  // release pairs with the acquire of senders that look without the lock.
  mine.closed.store(true, std::memory_order_release);
  while (Entry* entry = mine.posted.first()) {
    mine.posted.remove(static_cast<Operation&>(*entry));
  }
  discard_unexpected(mine);
  mine.unlock();
  work.run();
  wait_for_copies(mine);
  if (mine.has_sent_pointers.load(std::memory_order_relaxed) &&
      rank.phase.load(std::memory_order_relaxed) != job::kAfterFinalize) {
    withdraw_sends(mine);
  }
  std::atomic_ref(rank.mailbox)
      .store(nullptr, std::memory_order_relaxed);  // see notify()
  std::lock_guard guard(g_lifetime);
  if (++g_ended == g_created && g_ended >= rank.world_size) free_all_mailboxes();
}

int64_t operations_in_flight() noexcept {
  int64_t total = 0;
  for_each_mailbox([&](Mailbox& mailbox) {
    Work work;
    mailbox.lock_now();
    total += static_cast<int64_t>(mailbox.posted.size());
    for (Entry* e = mailbox.unexpected.first(); e != nullptr; e = e->next[0]) {
      total += e->kind == Entry::kRendezvous ? 1 : 0;
    }
    mailbox.unlock();
    work.run();
  });
  return total;
}

Unreceived unreceived(job::Rank& self) {
  Mailbox& mine = mailbox_of(self);
  Unreceived out;
  Work work;
  mine.lock_now();
  mine.drain(work);
  for (const Entry* entry = mine.unexpected.first(); entry != nullptr;
       entry = entry->next[0]) {
    if (entry->key.context % 2 != 0) continue;  // of a collective
    if (out.count++ == 0) {
      out.source = entry->key.source;
      out.tag = entry->key.tag;
      out.bytes = entry->bytes;
    }
  }
  mine.unlock();
  work.run();
  return out;
}

}  // namespace mpc::msg
