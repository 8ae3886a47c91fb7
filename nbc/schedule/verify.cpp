#include "nbc/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "nbc/schedule/reachability.h"

namespace mpc::nbc {

Symbol SymbolTable::atom() {
  pairs_.emplace_back(0, 0);
  return static_cast<Symbol>(pairs_.size() - 1);
}

Symbol SymbolTable::combine(Symbol a, Symbol b) {
  auto [entry, is_new] = known_.try_emplace({a, b}, 0);
  if (is_new) {
    pairs_.emplace_back(a, b);
    entry->second = static_cast<Symbol>(pairs_.size() - 1);
  }
  return entry->second;
}

std::vector<Symbol> SymbolTable::sequence(Symbol s) const {
  std::vector<Symbol> out, todo{s};
  while (!todo.empty()) {
    const Symbol next = todo.back();
    todo.pop_back();
    if (is_atom(next)) {
      out.push_back(next);
      continue;
    }
    todo.push_back(pairs_[next].second);
    todo.push_back(pairs_[next].first);
  }
  return out;
}

int64_t VerifyType::size() const {
  int64_t bytes = 0;
  for (const auto& [offset, length] : blocks) bytes += length;
  return bytes;
}

namespace {

struct Memory {
  int64_t low = 0;
  std::vector<Symbol> cells;
  bool contains(int64_t offset) const {
    return offset >= low && offset < low + static_cast<int64_t>(cells.size());
  }
  Symbol& at(int64_t offset) { return cells[static_cast<size_t>(offset - low)]; }
};

struct Part {
  const Schedule* schedule = nullptr;
  std::vector<const VerifyType*> types;
  std::map<uint16_t, Memory> memory;
  std::vector<uint32_t> waiting;
};

const VerifyType& byte_type() {
  static const VerifyType type;
  return type;
}

// Started messages of one pair and tag without a partner yet: all sends or all receives.
struct Channel {
  bool are_sends = false;
  std::vector<NodeId> waiting;  // in order
};

}  // namespace

struct Verifier::State {
  explicit State(int rank_count) : parts(static_cast<size_t>(rank_count)) {}

  Error error(int rank, NodeId node, const std::string& what) const {
    return {Errc::kInternal,
            fmt::format("rank {} node {}: {}\n{}", rank, node, what,
                        parts[static_cast<size_t>(rank)].schedule->dump())};
  }
  const VerifyType* type_of(const Part& part, uint16_t index) const {
    if (index == kByteType) return &byte_type();
    return index < part.types.size() ? part.types[index] : nullptr;
  }
  // Offsets of the bytes that `ref` names, in packed order.
  Result<std::vector<int64_t>> bytes_of(int rank, NodeId id, const BufferRef& ref) {
    Part& part = parts[static_cast<size_t>(rank)];
    std::vector<int64_t> out;
    if (ref.count == 0) return out;
    const VerifyType* type = type_of(part, ref.type);
    if (type == nullptr) return error(rank, id, "uses a type that is not bound");
    const auto memory = part.memory.find(ref.slot);
    if (memory == part.memory.end())
      return error(rank, id, "uses a slot that is not bound");
    for (Count i = 0; i < ref.count; ++i)
      for (const auto& [offset, length] : type->blocks)
        for (int64_t k = 0; k < length; ++k) {
          out.push_back(ref.offset + i * type->extent + offset + k);
          if (!memory->second.contains(out.back()))
            return error(
                rank, id,
                fmt::format("outside of slot {} at byte {}", ref.slot, out.back()));
        }
    return out;
  }
  Result<> check_races(int rank);
  Result<> check_order(int rank, const Reachability& reach);
  Result<> transfer(int from_rank, NodeId from_id, const BufferRef& from, int to_rank,
                    NodeId to_id, const BufferRef& to);
  Result<> run_local(int rank, NodeId id);

  SymbolTable symbols;
  std::vector<Part> parts;
  bool may_be_short = false;
};

Verifier::Verifier(int rank_count) : state_(std::make_unique<State>(rank_count)) {}
Verifier::~Verifier() = default;
SymbolTable& Verifier::symbols() noexcept { return state_->symbols; }
void Verifier::allow_short_messages() noexcept { state_->may_be_short = true; }

void Verifier::set_schedule(int rank, const Schedule& schedule,
                            std::vector<const VerifyType*> types) {
  Part& part = state_->parts[static_cast<size_t>(rank)];
  part.schedule = &schedule;
  part.types = std::move(types);
  Memory scratch;
  scratch.cells.assign(static_cast<size_t>(schedule.scratch_bytes()), 0);
  part.memory[kScratch] = std::move(scratch);
}

void Verifier::set_buffer(int rank, uint16_t slot, int64_t low,
                          std::vector<Symbol> content) {
  state_->parts[static_cast<size_t>(rank)].memory[slot] = {low, std::move(content)};
}

Symbol Verifier::at(int rank, uint16_t slot, int64_t offset) const {
  Part& part = state_->parts[static_cast<size_t>(rank)];
  const auto memory = part.memory.find(slot);
  if (memory == part.memory.end() || !memory->second.contains(offset)) return 0;
  return memory->second.at(offset);
}

// Messages with the same peer and tag must be ordered, otherwise
// chance would decide which ones meet.
Result<> Verifier::State::check_order(int rank, const Reachability& reach) {
  const Schedule& schedule = *parts[static_cast<size_t>(rank)].schedule;
  std::map<std::tuple<NodeKind, int, int>, std::vector<NodeId>> streams;
  for (NodeId id = 0; id < schedule.nodes().size(); ++id) {
    const Node& node = schedule.nodes()[id];
    if (node.kind != NodeKind::kSend && node.kind != NodeKind::kRecv) continue;
    if (node.peer < 0 || node.peer >= static_cast<int>(parts.size()))
      return error(rank, id, "a peer that does not exist");
    streams[{node.kind, node.peer, node.tag_offset}].push_back(id);
  }
  for (auto& [key, stream] : streams) {
    std::sort(stream.begin(), stream.end(), [&](NodeId a, NodeId b) {
      return reach.position(a) < reach.position(b);
    });
    for (size_t i = 1; i < stream.size(); ++i)
      if (!reach.is_before(stream[i - 1], stream[i]))
        return error(
            rank, stream[i],
            fmt::format("same peer and tag as node {}, and no order between them",
                        stream[i - 1]));
  }
  return {};
}

// Two nodes that touch the same byte, one of them writing, must be ordered.
Result<> Verifier::State::check_races(int rank) {
  const Schedule& schedule = *parts[static_cast<size_t>(rank)].schedule;
  const Reachability reach(schedule);
  MPC_TRY(check_order(rank, reach));
  struct Access {
    NodeId node;
    bool is_write;
  };
  std::map<uint16_t, std::vector<std::vector<Access>>> touched;  // by slot and byte
  for (const auto& [slot, memory] : parts[static_cast<size_t>(rank)].memory)
    touched[slot].resize(memory.cells.size());
  auto touch = [&](NodeId id, const BufferRef& ref, bool is_write) -> Result<> {
    auto bytes = bytes_of(rank, id, ref);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return {};
    const int64_t low = parts[static_cast<size_t>(rank)].memory[ref.slot].low;
    auto& of_slot = touched[ref.slot];
    for (int64_t offset : *bytes) {
      auto& list = of_slot[static_cast<size_t>(offset - low)];
      for (const Access& other : list)
        if ((is_write || other.is_write) && other.node != id &&
            !reach.are_ordered(other.node, id))
          return error(rank, id,
                       fmt::format("races with node {} for slot {} byte {}", other.node,
                                   ref.slot, offset));
      list.push_back({id, is_write});
    }
    return {};
  };
  for (NodeId id = 0; id < schedule.nodes().size(); ++id) {
    const Node& node = schedule.nodes()[id];
    const bool reads = node.kind == NodeKind::kSend || node.kind == NodeKind::kCopy ||
                       node.kind == NodeKind::kReduce;
    const bool writes = node.kind == NodeKind::kRecv || node.kind == NodeKind::kCopy ||
                        node.kind == NodeKind::kReduce;
    BufferRef from = node.from, to = node.to;
    for (Count i = 0; i < node.repeat.times; ++i) {
      if (reads) MPC_TRY(touch(id, from, false));
      if (writes) MPC_TRY(touch(id, to, true));
      from.offset += node.repeat.from_stride;
      to.offset += node.repeat.to_stride;
    }
  }
  return {};
}

Result<> Verifier::State::transfer(int from_rank, NodeId from_id, const BufferRef& from,
                                   int to_rank, NodeId to_id, const BufferRef& to) {
  auto sources = bytes_of(from_rank, from_id, from);
  if (!sources) return sources.error();
  auto targets = bytes_of(to_rank, to_id, to);
  if (!targets) return targets.error();
  const bool is_short = may_be_short && sources->size() < targets->size();
  if (sources->size() != targets->size() && !is_short)
    return error(to_rank, to_id,
                 fmt::format("expects {} bytes, gets {} from rank {} node {}",
                             targets->size(), sources->size(), from_rank, from_id));
  if (sources->empty()) return {};
  Memory& source = parts[static_cast<size_t>(from_rank)].memory[from.slot];
  Memory& target = parts[static_cast<size_t>(to_rank)].memory[to.slot];
  for (size_t i = 0; i < sources->size(); ++i) {
    const Symbol value = source.at((*sources)[i]);
    if (value == 0)
      return error(from_rank, from_id,
                   fmt::format("reads slot {} byte {}, which nobody wrote", from.slot,
                               (*sources)[i]));
    target.at((*targets)[i]) = value;
  }
  return {};
}

Result<> Verifier::State::run_local(int rank, NodeId id) {
  Part& part = parts[static_cast<size_t>(rank)];
  const Node& node = part.schedule->nodes()[id];
  if (node.kind == NodeKind::kCopy) {
    BufferRef from = node.from, to = node.to;
    for (Count i = 0; i < node.repeat.times; ++i) {
      MPC_TRY(transfer(rank, id, from, rank, id, to));
      from.offset += node.repeat.from_stride;
      to.offset += node.repeat.to_stride;
    }
  } else if (node.kind == NodeKind::kReduce) {
    auto in = bytes_of(rank, id, node.from);
    if (!in) return in.error();
    auto inout = bytes_of(rank, id, node.to);
    if (!inout) return inout.error();
    if (in->size() != inout->size() || node.from.type != node.to.type)
      return error(rank, id, "reduces values of different types or counts");
    for (size_t i = 0; i < in->size(); ++i) {
      const Symbol a = part.memory[node.from.slot].at((*in)[i]);
      Symbol& b = part.memory[node.to.slot].at((*inout)[i]);
      if (a == 0 || b == 0) return error(rank, id, "reduces bytes that nobody wrote");
      b = symbols.combine(a, b);
    }
  }
  return {};
}

// Runs all schedules with synchronous sends.
class Verifier::Simulation {
 public:
  explicit Simulation(Verifier::State& state);
  Result<> run();

 private:
  using At = std::pair<int, NodeId>;  // rank, node

  const Node& node_at(int rank, NodeId id) const {
    return state_.parts[static_cast<size_t>(rank)].schedule->nodes()[id];
  }
  Channel& channel_of(int from_rank, int to_rank, const Node& node);
  Result<> start_message(int rank, NodeId id, const Node& node);
  void complete_all();
  Result<> what_is_left() const;

  Verifier::State& state_;
  std::unordered_map<uint64_t, Channel> channels_;
  std::deque<At> ready_, complete_;
  std::vector<At> stuck_;  // started, but without a partner at that time
  std::vector<std::vector<bool>> done_;
  size_t left_ = 0;
};

Verifier::Simulation::Simulation(Verifier::State& state)
    : state_(state), done_(state.parts.size()) {
  for (size_t r = 0; r < state.parts.size(); ++r) {
    Part& part = state.parts[r];
    const auto nodes = part.schedule->nodes();
    done_[r].resize(nodes.size());
    left_ += nodes.size();
    for (const Node& node : nodes) part.waiting.push_back(node.predecessor_count);
    for (NodeId id : part.schedule->start_nodes())
      ready_.emplace_back(static_cast<int>(r), id);
  }
}

Channel& Verifier::Simulation::channel_of(int from_rank, int to_rank,
                                          const Node& node) {
  const uint64_t pair = static_cast<uint64_t>(from_rank) * state_.parts.size() +
                        static_cast<uint64_t>(to_rank);
  return channels_[pair * kTagsPerCollective + static_cast<uint64_t>(node.tag_offset)];
}

Result<> Verifier::Simulation::start_message(int rank, NodeId id, const Node& node) {
  const bool is_send = node.kind == NodeKind::kSend;
  const int from_rank = is_send ? rank : node.peer;
  const int to_rank = is_send ? node.peer : rank;
  Channel& channel = channel_of(from_rank, to_rank, node);
  if (channel.waiting.empty() || channel.are_sends == is_send) {
    channel.are_sends = is_send;
    channel.waiting.push_back(id);
    stuck_.emplace_back(rank, id);
    return {};
  }
  const NodeId other = channel.waiting.front();
  channel.waiting.erase(channel.waiting.begin());
  const NodeId from_id = is_send ? id : other, to_id = is_send ? other : id;
  MPC_TRY(state_.transfer(from_rank, from_id, node_at(from_rank, from_id).from, to_rank,
                          to_id, node_at(to_rank, to_id).to));
  complete_.emplace_back(from_rank, from_id);
  complete_.emplace_back(to_rank, to_id);
  return {};
}

void Verifier::Simulation::complete_all() {
  for (; !complete_.empty(); complete_.pop_front()) {
    const auto [rank, finished] = complete_.front();
    Part& part = state_.parts[static_cast<size_t>(rank)];
    --left_;
    done_[static_cast<size_t>(rank)][finished] = true;
    for (NodeId next : part.schedule->successors(node_at(rank, finished)))
      if (--part.waiting[next] == 0) ready_.emplace_back(rank, next);
  }
}

Result<> Verifier::Simulation::what_is_left() const {
  for (const auto& [rank, id] : stuck_)
    if (!done_[static_cast<size_t>(rank)][id])
      return state_.error(rank, id, "a message without its partner, or a deadlock");
  if (left_ != 0) return {Errc::kInternal, "nodes that never became ready"};
  return {};
}

Result<> Verifier::Simulation::run() {
  while (!ready_.empty()) {
    const auto [rank, id] = ready_.front();
    ready_.pop_front();
    const Node& node = node_at(rank, id);
    if (node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv) {
      MPC_TRY(start_message(rank, id, node));
    } else {
      MPC_TRY(state_.run_local(rank, id));
      complete_.emplace_back(rank, id);
    }
    complete_all();
  }
  return what_is_left();
}

Result<> Verifier::run() {
  for (size_t r = 0; r < state_->parts.size(); ++r)
    MPC_TRY(state_->check_races(static_cast<int>(r)));
  return Simulation(*state_).run();
}

}  // namespace mpc::nbc
