#include "runtime/message/losses.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/service_thread.h"
#include "runtime/job/crash.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/control.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/lost_members.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/outside.h"
#include "runtime/message/routes.h"
#include "runtime/wireup/wireup.h"

namespace mpc::msg {
namespace {

namespace losses = job::losses;

// How long to wait for the last messages of the dead, unless the network says that there are none.
constexpr std::chrono::milliseconds kLastMessages{300};
// How long the network may take to end its operations with the dead.
constexpr std::chrono::seconds kMostEnd{5};
constexpr std::chrono::milliseconds kLook{50};

// --- the thread -------------------------------------------------------------------------------

class Undertaker {
 public:
  explicit Undertaker(job::Job& job)
      : job_(job),
        process_(job.wireup() != nullptr ? job.wireup()->index() : 0),
        end_(endpoint_of_process(
            job.wireup() != nullptr
                ? process_
                : job::neighbours::far_process(job::neighbours::own_slot()))) {}
  Result<> start();
  void announce(int process);
  void look();
  void note_broken(int peer);
  // When it returns nothing of the network is used any more.
  void stop();

 private:
  static void* thread_main(void* self);
  [[noreturn]] void run();
  void bury(const std::vector<int>& processes);
  void wait_for_last_messages(const std::vector<int>& processes);
  static void take_what_is_left(const std::vector<int>& processes);
  bool is_known_to_net(int process) const {
    return broken_.contains(process) || broken_.contains(-1);
  }
  void end_what_is_in_vain();
  static void fail_receives(Mailbox& mine, Work& work);
  static void recall_sends(Mailbox& mine, Work& work);
  void notify_ranks();
  void look_after_net();

  job::Job& job_;
  const int process_;
  Endpoint& end_;
  std::mutex lock_;
  std::condition_variable news_;
  std::vector<int> announced_;  // this and the next two are guarded by the lock
  std::set<int> broken_;
  bool is_to_look_ = false;
  std::mutex turn_;          // held by the thread while it uses the network
  bool is_stopped_ = false;  // guarded by turn_
  // Only for the thread: a lost process, and by when the network must end its operations with it.
  struct Unfinished {
    int process;
    std::chrono::steady_clock::time_point end;
  };
  std::vector<Unfinished> unfinished_;
};

// Never destroyed: orders may come when the job ends.
constinit Undertaker* g_undertaker = nullptr;
// A number that only orders: see Undertaker::end_what_is_in_vain().
constinit std::atomic<uint32_t> g_looks{0};
using OnLoss = void (*)(job::Job&, int);
constinit OnLoss g_on_loss = nullptr;
using Close = void (*)(int process) noexcept;
constinit Close g_close = nullptr;
using TakeLeft = bool (*)(int process) noexcept;
constinit TakeLeft g_take_left = nullptr;

Result<> Undertaker::start() {
  auto thread = start_service_thread("what follows from losses", &thread_main, this);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

void Undertaker::announce(int process) {
  const std::lock_guard lock(lock_);
  announced_.push_back(process);
  news_.notify_all();
}

void Undertaker::look() {
  const std::lock_guard lock(lock_);
  is_to_look_ = true;
  news_.notify_all();
}

void Undertaker::note_broken(int peer) {
  const std::lock_guard lock(lock_);
  broken_.insert(peer);
  news_.notify_all();
}

void Undertaker::stop() {
  const std::lock_guard turn(turn_);
  is_stopped_ = true;
}

void* Undertaker::thread_main(void* self) {
  job::crash::prepare_kernel_thread();
  static_cast<Undertaker*>(self)->run();
}

void Undertaker::run() {
  for (;;) {
    std::vector<int> dead;
    {
      std::unique_lock lock(lock_);
      const auto has_news = [this] { return is_to_look_ || !announced_.empty(); };
      if (unfinished_.empty())
        news_.wait(lock, has_news);
      else
        news_.wait_for(lock, kLook, has_news);
      is_to_look_ = false;
      dead = std::exchange(announced_, {});
    }
    const std::lock_guard turn(turn_);
    if (is_stopped_) {
      unfinished_.clear();
      continue;
    }
    if (!dead.empty()) {
      bury(dead);
    } else {
      end_what_is_in_vain();
    }
    look_after_net();
  }
}

// Several at once: all processes of a lost host.
void Undertaker::bury(const std::vector<int>& processes) {
  // From now on other processes may want their offers back, whatever the rank here does.
  if (!losses::any()) begin_to_serve();
  wait_for_last_messages(processes);
  take_what_is_left(processes);
  for (const int process : processes) {
    losses::note(process);
    // Nothing more comes from a lost host, not even the end of its connections.
    const bool is_known = [&] {
      const std::lock_guard lock(lock_);
      return is_known_to_net(process);
    }();
    if (!is_known && g_close != nullptr) g_close(process);
    end_.lose(process);
    unfinished_.push_back({process, std::chrono::steady_clock::now() + kMostEnd});
  }
  end_what_is_in_vain();
  if (g_on_loss != nullptr)
    for (const int process : processes) g_on_loss(job_, process);
  notify_ranks();
}

// Messages that they sent before their death are received as usual, as far as these have reached the network.
void Undertaker::wait_for_last_messages(const std::vector<int>& processes) {
  std::unique_lock lock(lock_);
  news_.wait_for(lock, kLastMessages, [&] {
    return std::all_of(processes.begin(), processes.end(),
                       [this](int process) { return is_known_to_net(process); });
  });
}

// What lies in memory of this process has come before the end: it is taken now, because once the process
// is known as lost its messages are dropped. Another thread may be taking it.
void Undertaker::take_what_is_left(const std::vector<int>& processes) {
  if (g_take_left == nullptr) return;
  const auto end = std::chrono::steady_clock::now() + kLastMessages;
  for (const int process : processes)
    while (g_take_left(process) && std::chrono::steady_clock::now() < end)
      sched_yield();
}

void Undertaker::end_what_is_in_vain() {
  // acq_rel, on both sides: whoever is second sees what the first one did before. So either this search finds
  // the send, or look_after_local_send() finds the mark.
  g_looks.fetch_add(1, std::memory_order_acq_rel);
  for_each_mailbox(
      [](Mailbox& mine, void*) {
        Work work;
        mine.lock_now();
        mine.drain(work);
        fail_receives(mine, work);
        recall_sends(mine, work);
        mine.unlock();
        work.run();
        mine.outside.note_end(mine);
      },
      nullptr);
  end_.recall_offers([](int rank, ContextId context) {
    return is_collective(context) && has_lost_member(rank, context);
  });
}

// Caller: holds the mailbox's lock.
void Undertaker::fail_receives(Mailbox& mine, Work& work) {
  std::map<ContextId, int> told;
  Entry* next = nullptr;
  for (Entry* entry = mine.posted.first(); entry != nullptr; entry = next) {
    next = entry->next[0];
    const Key key = entry->key;
    const Loss loss = see_loss(mine.world_rank, key.context, key.source);
    if (!loss.is_there) continue;
    if (key.source == kAnySource) told.emplace(key.context, loss.source);
    auto& receive = static_cast<Operation&>(*entry);
    mine.posted.remove(receive);
    receive.status = Status{};
    receive.status.source = loss.source;
    receive.status.tag = key.tag;
    receive.status.failed = true;
    receive.status.error = Errc::kLost;
    work.add_completion(receive);
  }
  for (const auto& [context, source] : told)
    note_told(mine.world_rank, context, source);
}

// What other ranks of this process have offered in collectives that are broken: the receives have failed, or are never
// posted. Caller: holds the lock of the receiver's mailbox.
void Undertaker::recall_sends(Mailbox& mine, Work& work) {
  Entry* next = nullptr;
  for (Entry* entry = mine.unexpected.first(); entry != nullptr; entry = next) {
    next = entry->next[0];
    if (entry->kind != Entry::kRendezvous || !is_collective(entry->key.context) ||
        !has_lost_member(mine.world_rank, entry->key.context))
      continue;
    auto& send = static_cast<Operation&>(*entry);
    mine.unexpected.remove(send);
    work.add_sent(send);
    send.status.failed = true;
    send.status.error = Errc::kLost;
  }
}

void Undertaker::notify_ranks() {
  const job::RankRange ranks = job_.local_ranks();
  for (int r = ranks.first; r < ranks.end; ++r) notify(job_.rank(r));
}

// UCX ends its operations with the dead when it has lost the connection. If it did not, nobody
// could say when their memory is free.
void Undertaker::look_after_net() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(unfinished_, [&](const Unfinished& u) {
    if (!end_.has_under_way(u.process)) return true;
    if (now < u.end) return false;
    end_job(job_, fmt::format(
                      "mpcrun: process {} has died, and the network does not let go of "
                      "the messages that process {} has under way with it; the job is "
                      "ended",
                      u.process, process_));
    return true;
  });
}

}  // namespace

Result<> watch_losses(job::Job& job) {
  auto* const undertaker = new Undertaker(job);
  MPC_TRY(undertaker->start());
  g_undertaker = undertaker;
  g_cares_for_posted.store(true, std::memory_order_relaxed);
  losses::on_loss([](int process) { g_undertaker->announce(process); });
  return {};
}

void forget_losses() noexcept {
  if (g_undertaker != nullptr) g_undertaker->stop();
}

void take_left_by(bool (*take)(int process) noexcept) noexcept { g_take_left = take; }

void close_lost_by(void (*close)(int process) noexcept) noexcept { g_close = close; }

void on_loss(void (*handler)(job::Job& job, int process)) noexcept {
  g_on_loss = handler;
}

void note_broken(int peer) noexcept {
  if (g_undertaker != nullptr) g_undertaker->note_broken(peer);
}

void look_after_receive(int rank, ContextId context, int source) {
  if (see_loss(rank, context, source).is_there) g_undertaker->look();
}

void look_after_send(int rank, ContextId context) {
  if (is_collective(context) && has_lost_member(rank, context)) g_undertaker->look();
}

void look_after_local_send(int rank, ContextId context) {
  if (!losses::are_survived()) return;
  // The send is published; see end_what_is_in_vain().
  g_looks.fetch_add(1, std::memory_order_acq_rel);
  if (losses::any()) look_after_send(rank, context);
}

void end_job(job::Job& job, const std::string& why) {
  if (job.wireup() == nullptr) job.abort(1, why);
  job.wireup()->tell(wireup::Report::kEnding, 1, why);
}

}  // namespace mpc::msg
