#include "nbc/engine/engine.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/counter.h"
#include "base/settings.h"
#include "nbc/engine/collective.h"
#include "nbc/engine/rank_state.h"
#include "nbc/engine/rescue.h"
#include "nbc/engine/trace_points.h"
#include "runtime/job/job.h"
#include "runtime/message/background.h"
#include "runtime/message/copy_batch.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::nbc {

namespace {

IntSetting local_work_bytes{"nbc.local_work_bytes", 32 << 10, "bytes",
                            "Reductions and copies from this size on wait for a rank "
                            "that waits for them, instead of "
                            "running on whatever core completed the message before.",
                            0};

IntSetting start_nodes_setting{
    "nbc.start_nodes", 6, "nodes",
    "Nodes of other ranks that a non-blocking start runs, once it has made them ready, "
    "before "
    "it leaves the rest to a rank that waits on an idle core",
    0};

Counter relay_counter{"nbc.relays",
                      "Times that a non-blocking start left others' nodes to a "
                      "rank that waits"};
Counter fused_counter{"nbc.fused_reductions",
                      "Reductions done together with a message's copy"};

// The nodes that are ready, on this execution (a thread_local belongs to the user-level
// thread). A completion inside of a start adds to the list that is being worked off, so the
// stack does not grow with the length of a chain of nodes.
struct ReadyList {
  NodeState* first = nullptr;
  NodeState** last = &first;
  bool is_running = false;
  // Of a non-blocking start: how many nodes of other ranks it still runs; see relay().
  const job::Rank* starter = nullptr;
  int64_t budget = 0;

  void append(NodeState& node) noexcept {
    node.next_ready = nullptr;
    *last = &node;
    last = &node.next_ready;
  }
  void push(Collective& owner, NodeId id, bool goes_up = false) noexcept {
    NodeState& node = owner.states[id];
    node.goes_up = goes_up;
    node.owner = &owner;
    node.id = id;
    append(node);
  }
  void append_chain(NodeState* node) noexcept {
    while (node != nullptr) {
      NodeState* const next = node->next_ready;
      append(*node);
      node = next;
    }
  }
  void clear() noexcept {
    first = nullptr;
    last = &first;
  }
  NodeState* pop() noexcept {
    NodeState* node = first;
    if (node == nullptr) return nullptr;
    first = node->next_ready;
    if (first == nullptr) last = &first;
    return node;
  }
};
thread_local ReadyList ready_list;

// The last node is complete. kFinishing says so to the owner, who may go on, but neither end
// nor reuse or free the collective before kDone: until then it is woken or called back.
void finish(Collective& c) {
  if (trace::enabled()) [[unlikely]]
    tracing::collective_ends(c);
  sched::Execution* const waiter = c.waiter;
  if (waiter != nullptr && waiter == &sched::Execution::self()) {
    c.state.store(kDone, std::memory_order_release);  // own eyes only
    return;
  }
  // release pairs with is_complete(): all that the nodes wrote.
  c.state.store(kFinishing, std::memory_order_release);
  if (waiter != nullptr) {
    waiter->unpark();
  } else {
    if (c.on_complete != nullptr) c.on_complete(c.on_complete_argument);
    msg::notify(*c.rank);
  }
  c.state.store(kDone, std::memory_order_release);  // pairs with settle()
}

// Successors that have nothing left to wait for become ready. The collective is not touched
// after the last of its counters has fallen: it may be complete and gone then.
void complete_node(Collective& c, NodeId id, ReadyList& list) {
  if (trace::enabled()) [[unlikely]]
    tracing::node_ends(c, id);
  const Node* const nodes = c.nodes;
  const auto successors = c.schedule->successors(nodes[id]);
  if (successors.empty()) {
    // acq_rel: the one that gets to zero has seen what all other nodes wrote.
    if (c.sinks_left.load(std::memory_order_acquire) == 1 ||
        c.sinks_left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finish(c);
    return;
  }
  NodeState* const states = c.states;
  for (const NodeId next : successors) {
    // acq_rel, likewise: of all predecessors.
    if (nodes[next].predecessor_count == 1 ||
        states[next].waiting.fetch_sub(1, std::memory_order_acq_rel) == 1)
      list.push(
          c, next,
          nodes[id].kind == NodeKind::kReduce || nodes[id].level > nodes[next].level);
  }
}

void message_done(msg::Request* request, void* argument);
bool take_and_reduce(msg::Request* request, void* argument, const void* data) noexcept;
constexpr msg::Sequel kReduction{&take_and_reduce};

void start_message(Collective& c, const Node& node, NodeId id) {
  Message& message = c.messages[node.request];
  message.owner = &c;
  message.node = id;
  message.fused = kNoNode;
  message.request.set_on_complete(message_done, &message);
  message.request.set_for_application(node.where == Where::kApplication ||
                                      (c.waiter != nullptr && !msg::waits_help()));
  const Binding& b = c.binding;
  if (node.kind == NodeKind::kSend) {
    msg::start_send(*c.rank, message.request,
                    {c.address(node.from), node.from.count, &c.type(node.from),
                     b.world_ranks[static_cast<size_t>(node.peer)], b.context,
                     b.tag_base + node.tag_offset, b.my_rank, msg::Mode::kStandard});
  } else {
    message.request.set_sequel(c.schedule->has_reductions() ? &kReduction : nullptr);
    const bool is_large =
        node.to.count * c.type(node.to).size() >= local_work_bytes.get();
    message.request.set_whole_bytes(is_large ? c.received_bytes() : 0);
    msg::start_recv(*c.rank, message.request,
                    {c.address(node.to), node.to.count, &c.type(node.to), node.peer,
                     b.context, b.tag_base + node.tag_offset});
  }
}

void do_copy(const Collective& c, const Node& node) {
  Place from = node.from, to = node.to;
  const dt::Datatype &from_type = c.type(from), &to_type = c.type(to);
  const bool is_plain = from_type.is_contiguous() && to_type.is_contiguous();
  const int64_t bytes =
      std::min(from.count * from_type.size(), to.count * to_type.size());
  for (Count i = 0; i < node.repeat.times; ++i) {
    if (is_plain)
      std::memcpy(c.address(to), c.address(from), static_cast<size_t>(bytes));
    else
      dt::copy(c.address(to), to_type, to.count, c.address(from), from_type,
               from.count);
    from.offset += node.repeat.from_stride;
    to.offset += node.repeat.to_stride;
  }
}

int64_t bytes_of(const Collective& c, const Node& node) noexcept {
  return node.to.count * c.type(node.to).size() * node.repeat.times;
}

void do_local(const Collective& c, const Node& node) {
  using Emulated = sched::EmulatedLocal;
  if (node.kind == NodeKind::kCopy) {
    const Emulated emulated(Emulated::kCopy, bytes_of(c, node));
    do_copy(c, node);
  } else if (node.kind == NodeKind::kReduce) {
    const Emulated emulated(Emulated::kReduce, bytes_of(c, node));
    const Reduction& r = c.binding.reduction;
    r.apply(r.context, c.address(node.from), c.address(node.to), node.to.count);
  }
}

bool is_user_code(const Collective& c, const Node& node) noexcept {
  return node.kind == NodeKind::kReduce && c.binding.reduction.is_user;
}

// A function of the user that nobody but the rank may call, in a call of its own.
bool stays_with_rank(const Collective& c, const Node& node) noexcept {
  return is_user_code(c, node) && !c.binding.reduction.may_run_in_background;
}

bool is_own_progress(const Collective& c) noexcept {
  return c.rank->progress != nullptr && c.rank->progress->is_running_here();
}

// True if this execution is the rank itself: not its progress thread, nor another rank that
// completes a message of it.
bool is_rank_itself(const Collective& c) noexcept {
  return job::current_rank() == c.rank && !is_own_progress(c);
}

// True on some rank's own core, in a call of that rank: not on a progress thread.
bool is_some_rank() noexcept {
  const job::Rank* rank = job::current_rank();
  return rank != nullptr &&
         (rank->progress == nullptr || !rank->progress->is_running_here());
}

// The caller leaves a user's operation to the rank's progress thread wherever the data are: what
// it costs is not known.
sched::ProgressData place_of_data(const Collective& c, bool is_user) noexcept {
  if (is_user) return {};
  return msg::place_of_data(*c.rank, *c.rank, c.received_bytes());
}

enum class Runner : uint8_t { kHere, kRank, kProgress };

// Who runs a node that is ready.
//  - Nodes of a split tree's lower levels: the rank, when it is there. But towards the root
//    the rank that has completed what they wait for goes on for the others: the last of a
//    subtree to start does the kept levels, while those that came before compute already.
//  - User code runs as its rank, from a wait or another call of the rank, never from within
//    the completion of a message; on its progress thread if the program has said that it is
//    ready for several threads.
//  - Large work of a blocking call goes to the rank: it has a core of its own, and whoever
//    completed the message has other things to do.
//  - Large work of a non-blocking one goes to the rank's progress thread, if that has a core.
Runner runner_of(const Collective& c, const Node& node, bool goes_up) noexcept {
  if (node.where == Where::kApplication) {
    const bool is_user = is_user_code(c, node);
    const bool is_upwards = (node.kind == NodeKind::kReduce && !is_user) ||
                            (node.kind == NodeKind::kSend && goes_up);
    return is_rank_itself(c) || (is_upwards && is_some_rank()) ? Runner::kHere
                                                               : Runner::kRank;
  }
  if (node.kind == NodeKind::kSend && c.waiter != nullptr &&
      c.waiter != &sched::Execution::self() &&
      node.from.count * c.type(node.from).size() >= local_work_bytes.get()) {
    return Runner::kRank;  // it copies, if the receive is posted
  }
  if (node.kind != NodeKind::kReduce && node.kind != NodeKind::kCopy)
    return Runner::kHere;
  const bool is_user = is_user_code(c, node);
  if (stays_with_rank(c, node)) return Runner::kRank;
  const int64_t bytes = bytes_of(c, node);
  if (c.waiter != nullptr) {
    const bool is_large =
        bytes >= local_work_bytes.get() && c.waiter != &sched::Execution::self();
    return is_user || is_large ? Runner::kRank : Runner::kHere;
  }
  if (is_own_progress(c)) return Runner::kHere;
  const bool is_leavable =
      bytes >= local_work_bytes.get() && c.rank->progress != nullptr &&
      (msg::ShortCall::is_inside() || !is_rank_itself(c) || !msg::waits_help());
  if (is_leavable && !sched::is_kept_here(bytes, place_of_data(c, is_user)))
    return Runner::kProgress;
  return is_user ? Runner::kRank : Runner::kHere;
}

bool is_same(const Place& a, const Place& b) noexcept {
  return a.slot == b.slot && a.offset == b.offset && a.count == b.count &&
         a.type == b.type;
}

// The reduction that comes after a receive, if this execution, which is about to copy the
// receive's data, can do both: it waits for nothing else and would run here as well.
NodeId fusible_reduction(const Collective& c, const Node& node) noexcept {
  const auto successors = c.schedule->successors(node);
  if (successors.size() != 1) return kNoNode;
  const NodeId id = successors.front();
  const Node& next = c.nodes[id];
  if (next.kind != NodeKind::kReduce || c.binding.reduction.is_user) return kNoNode;
  if (!is_same(node.to, next.to) && !is_same(node.to, next.from)) return kNoNode;
  // acquire, as in complete_node(): what its other predecessors wrote. Once only this receive is
  // left, nobody else counts.
  if (next.predecessor_count > 1 &&
      c.states[id].waiting.load(std::memory_order_acquire) != 1)
    return kNoNode;
  return runner_of(c, next, false) == Runner::kHere ? id : kNoNode;
}

// Copy and reduction in one go: each byte comes from memory once less.
void take_pieces(const Collective& c, const Node& receive, const Node& reduction,
                 const void* data) noexcept {
  constexpr int64_t kPieceBytes = 16 << 10;  // two operands stay in a first-level cache
  const Reduction& r = c.binding.reduction;
  auto *from = static_cast<std::byte*>(c.address(reduction.from)),
       *to = static_cast<std::byte*>(c.address(reduction.to)),
       *arriving = static_cast<std::byte*>(c.address(receive.to));
  const Count count = receive.to.count;
  if (r.apply3 != nullptr && arriving == to)
    return r.apply3(r.context, from, data, to, count);
  const int64_t size = c.type(receive.to).size();
  const Count most = std::max<Count>(kPieceBytes / size, 1);
  for (Count done = 0; done < count; done += most) {
    const Count n = std::min(most, count - done);
    const int64_t at = done * size;
    std::memcpy(arriving + at, static_cast<const std::byte*>(data) + at,
                static_cast<size_t>(n * size));
    r.apply(r.context, from + at, to + at, n);
  }
}

bool take_and_reduce(msg::Request*, void* argument, const void* data) noexcept {
  Message& message = *static_cast<Message*>(argument);
  const Collective& c = *message.owner;
  const Node& receive = c.nodes[message.node];
  const NodeId id = fusible_reduction(c, receive);
  const dt::Datatype& type = c.type(receive.to);
  if (id == kNoNode || !type.is_contiguous() || type.size() == 0) return false;
  if (trace::enabled()) [[unlikely]]
    tracing::node_begins(c, id);
  take_pieces(c, receive, c.nodes[id], data);
  message.fused = id;
  fused_counter.add();
  return true;
}

void hand_to_rank(Collective& c, NodeId id) {
  NodeState& node = c.states[id];
  node.owner = &c;
  node.id = id;
  job::Rank& rank = *c.rank;
  const bool is_own = c.waiter == &sched::Execution::self();
  const bool is_nonblocking = c.waiter == nullptr;
  RankState& state = RankState::of(rank);
  const bool stays = stays_with_rank(c, c.nodes[id]);
  // The collective may be complete and reused from the push on.
  stays ? state.push_user(node) : state.push(node);
  if (is_nonblocking && !stays) expect_rescues(rank);
  if (!is_own) msg::notify(rank);  // the waiter looks after its own progress anyway
}

void work_on(const Collective& c, const Node& node) {
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    tracing::work_begins(c, node);
  do_local(c, node);
  if (is_traced) [[unlikely]]
    tracing::work_ends(node);
}

// True if anything was done.
bool run_user_nodes(RankState& rank, ReadyList& list) {
  NodeState *done = nullptr, *next = nullptr;
  do {
    if (!rank.enter_user_code()) break;
    for (NodeState* node = rank.pop_user(); node != nullptr; node = next) {
      next = node->next_ready;
      work_on(*node->owner, node->owner->nodes[node->id]);
      node->next_ready = done;
      done = node;
    }
    rank.leave_user_code();
  } while (rank.has_user_nodes());
  const bool has_run = done != nullptr;
  for (; done != nullptr; done = next) {
    next = done->next_ready;
    complete_node(*done->owner, done->id, list);
  }
  return has_run;
}

// A user's function is run once at a time in a rank, though the rank, its progress thread and
// its other threads may all have one to run: it may keep state of its own, as programs without
// threads may. Who comes while another one is in it leaves the node to that one.
void run_user_code(Collective& c, NodeId id, ReadyList& list) {
  NodeState& node = c.states[id];
  node.owner = &c;
  node.id = id;
  RankState& rank = RankState::of(*c.rank);
  rank.push_user(node);  // the collective may be complete and reused from here on
  run_user_nodes(rank, list);
}

void execute(Collective& c, NodeId id, ReadyList& list) {
  const Node& node = c.nodes[id];
  if (trace::enabled()) [[unlikely]]
    tracing::node_begins(c, id);
  if (node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv) {
    start_message(c, node, id);
    return;
  }
  if (is_user_code(c, node)) return run_user_code(c, id, list);
  work_on(c, node);
  complete_node(c, id, list);
}

void run_all(ReadyList& list);

#ifdef MPC_WITHOUT_PROGRESS

constexpr bool leave_to_progress(Collective&, NodeId) noexcept { return false; }

#else

// A node on the rank's progress thread, or on the rank that took it back.
void run_in_background(sched::ProgressItem& item) noexcept {
  const NodeState& state = static_cast<NodeState&>(item);
  ReadyList& list = ready_list;
  // The messages that it starts are not copied one after the other here.
  const msg::CopyBatch batch;
  execute(*state.owner, state.id, list);
  if (!list.is_running) run_all(list);
}

bool leave_to_progress(Collective& c, NodeId id) noexcept {
  NodeState& state = c.states[id];
  state.owner = &c;
  state.id = id;
  state.run = &run_in_background;
  const bool is_user = is_user_code(c, c.nodes[id]);
  const bool is_any = msg::ShortCall::is_inside() || is_user || !msg::waits_help();
  const auto need =
      is_any ? sched::ProgressNeed::kAnyCore : sched::ProgressNeed::kFreeCore;
  job::Rank& rank = *c.rank;
  if (!rank.progress->submit(state, bytes_of(c, c.nodes[id]), need,
                             place_of_data(c, is_user)))
    return false;
  msg::call_waiting(rank);  // the collective may be gone
  return true;
}

#endif

void run_node(Collective& c, NodeId id, ReadyList& list) {
  const Node& node = c.nodes[id];
  Runner runner = runner_of(c, node, c.states[id].goes_up);
  if (runner == Runner::kProgress) {
    if (leave_to_progress(c, id)) return;
    const bool is_user = is_user_code(c, node);
    runner = is_user ? Runner::kRank : Runner::kHere;
  }
  if (runner == Runner::kRank)
    hand_to_rank(c, id);
  else
    execute(c, id, list);
}

// A rank that waits, and would begin at once with what is left to it: it is parked on a core
// that is awake and idle, or on the only core that there is, which the starting rank gives up
// when it waits, too.
bool can_take_over(const job::Rank& rank) noexcept {
  const job::Job* const job = rank.job;
  const bool has_one_core = job != nullptr && job->application_workers() == 1 &&
                            job->communication_workers() == 0;
  return has_one_core ? msg::is_parked(rank) : msg::is_parked_idly(rank);
}

// Who starts last finds that all others wait for him, and would run their nodes one after the
// other before his call returns. Having done a few he leaves the rest to a rank that waits: to
// the owner of the first node, if that can take over. False: it cannot.
bool relay(ReadyList& list) {
  job::Rank& to = *list.first->owner->rank;
  if (!can_take_over(to)) return false;
  ReadyList others;
  NodeState *all = list.first, *last = nullptr;
  list.clear();
  while (all != nullptr) {
    NodeState* const next = all->next_ready;
    if (all->owner->rank == list.starter) {
      list.append(*all);
    } else {
      others.append(*all);
      last = all;
    }
    all = next;
  }
  // The last touch of the nodes is the push, unless they come back.
  RankState& state = RankState::of(to);
  RankState::Relay relay(state);
  relay.push(*others.first, *last);
  if (msg::call_parked(to)) {
    relay_counter.add();
    return true;
  }
  NodeState* const left = state.pop_relayed();
  list.append_chain(left);
  return left == nullptr;
}

void run_all(ReadyList& list) {
  list.is_running = true;
  while (list.first != nullptr) {
    if (list.starter != nullptr && list.first->owner->rank != list.starter &&
        --list.budget < 0 && relay(list))
      continue;
    NodeState* const node = list.pop();
    run_node(*node->owner, node->id, list);
  }
  list.is_running = false;
}

void message_done(msg::Request* request, void* argument) {
  const Message& message = *static_cast<Message*>(argument);
  Collective& c = *message.owner;
  const msg::Status& status = request->status();
  if (status.failed) {
    c.fail(status.error);
  } else if (c.binding.needs_whole_messages && request->is_short() &&
             c.nodes[message.node].kind == NodeKind::kRecv) [[unlikely]] {
    c.fail(Errc::kCount);
  }
  ReadyList& list = ready_list;
  const NodeId fused = message.fused;
  if (fused != kNoNode && trace::enabled()) [[unlikely]]
    tracing::node_ends(c, message.node);
  complete_node(c, fused != kNoNode ? fused : message.node, list);
  if (!list.is_running) run_all(list);
}

void start_nodes(Collective& c) {
  c.prepare();
  if (trace::enabled()) [[unlikely]]
    tracing::collective_begins(c);
  const Schedule& schedule = *c.schedule;
  if (schedule.nodes().empty()) return finish(c);
  ReadyList& list = ready_list;
  const bool is_outermost = !list.is_running;
  // In one go, so that the collective cannot be complete (and gone) before the last start.
  for (const NodeId id : schedule.start_nodes()) list.push(c, id);
  if (is_outermost) run_all(list);
}

bool is_over(void* argument) {
  Collective& c = *static_cast<Collective*>(argument);
  if (is_complete(c)) return true;
  return help(*c.rank) && is_complete(c);
}

void settle(const Collective& c) noexcept {
  // acquire pairs with finish(). A few instructions of the completer, unless the system took
  // its core away.
  for (int turn = 0; c.state.load(std::memory_order_acquire) == kFinishing; ++turn) {
    if (turn < 100)
      __builtin_ia32_pause();
    else
      sched::Execution::self().yield();
  }
}

[[gnu::constructor]] void register_with_messages() { msg::add_progress_hook(help); }

}  // namespace

CollectivePtr create(job::Rank& self, std::shared_ptr<const Schedule> schedule,
                     const Binding& binding) {
  CollectivePtr c(RankState::of(self).take(self));
  if (!c->bind_copy(std::move(schedule), binding))
    CHECK(false, "no memory for a collective");
  return c;
}

void CollectiveDeleter::operator()(Collective* collective) const noexcept {
  settle(*collective);
  CHECK(collective->state.load(std::memory_order_acquire) != kRunning,
        "a collective in flight is dropped");
  RankState::of(*collective->rank).give_back(collective);
}

void start(Collective& collective) {
  settle(collective);
  job::Rank& rank = *collective.rank;
  {
    const msg::ShortCall short_call;
    ReadyList& list = ready_list;
    list.starter = &rank;
    list.budget = start_nodes_setting.get();
    start_nodes(collective);
    list.starter = nullptr;
  }
  // The collective is the caller's: it does not vanish, complete or not.
  if (!is_complete(collective)) msg::leave(rank);
}

bool is_complete(const Collective& collective) noexcept {
  return collective.state.load(std::memory_order_acquire) >=
         kFinishing;  // see finish()
}

const msg::Status& status(const Collective& collective) noexcept {
  return collective.status;
}

void set_on_complete(Collective& collective, void (*fn)(void*), void* argument) {
  collective.on_complete = fn;
  collective.on_complete_argument = argument;
}

UserCode::UserCode(job::Rank& self) : state_(RankState::of(self)) {
  if (state_.is_in_user_code_here()) return;
  while (!state_.enter_user_code()) sched::Execution::self().yield();
  is_outermost_ = true;
}

UserCode::~UserCode() {
  if (!is_outermost_) return;
  state_.leave_user_code();
  if (!state_.has_user_nodes()) return;
  ReadyList& list = ready_list;
  run_user_nodes(state_, list);
  if (!list.is_running) run_all(list);
}

bool help_in_background(job::Rank& rank) {
  RankState* const state = RankState::find(rank);
  if (state == nullptr || !state->has_nodes()) return false;
  ReadyList& list = ready_list;
  // Until there are none: what a node starts may hand this rank its next node.
  while (NodeState* node = state->pop_all()) {
    while (node != nullptr) {
      NodeState* next = node->next_ready;  // the collective may be gone after the node
      Collective& c = *node->owner;
      const NodeId id = node->id;
      execute(c, id, list);
      if (!list.is_running) run_all(list);
      node = next;
    }
  }
  return true;
}

bool help(job::Rank& self) {
  RankState* const mine = RankState::find(self);
  if (mine == nullptr) return false;
  bool has_helped = false;
  ReadyList& list = ready_list;
  if (NodeState* const chain = mine->has_relayed() ? mine->pop_relayed() : nullptr) {
    list.append_chain(chain);
    if (!list.is_running) run_all(list);
    has_helped = true;
  }
  for (bool has_more = true; has_more; has_helped |= has_more) {
    has_more = help_in_background(self);
    if (mine->has_user_nodes() && run_user_nodes(*mine, list)) {
      if (!list.is_running) run_all(list);
      has_more = true;
    }
  }
  return has_helped;
}

msg::Status run(job::Rank& self, const Schedule& schedule, const Binding& binding,
                const sched::WaitReason& why) {
  if (schedule.nodes().empty()) return {};
  RankState& mine = RankState::of(self);
  Collective* c = mine.take(self);
  if (!c->bind(schedule, binding)) {
    mine.give_back(c);
    msg::Status status;
    status.failed = true;
    status.error = Errc::kNoMem;
    return status;
  }
  c->waiter = &sched::Execution::self();
  start_nodes(*c);
  if (!is_over(c)) msg::wait_until(self, nullptr, 0, is_over, c, why);
  settle(*c);
  const msg::Status status = c->status;
  mine.give_back(c);
  return status;
}

}  // namespace mpc::nbc
