#include "nbc/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

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

// Bit matrix: which nodes come after which.
class Reachability {
 public:
  explicit Reachability(const Schedule& schedule)
      : count_(schedule.nodes().size()),
        words_((count_ + 63) / 64),
        bits_(count_ * words_) {
    const auto nodes = schedule.nodes();
    std::vector<uint32_t> waiting(count_);
    for (size_t i = 0; i < count_; ++i) waiting[i] = nodes[i].predecessor_count;
    std::vector<NodeId> order(schedule.start_nodes().begin(),
                              schedule.start_nodes().end());
    for (size_t i = 0; i < order.size(); ++i)
      for (NodeId next : schedule.successors(nodes[order[i]]))
        if (--waiting[next] == 0) order.push_back(next);
    position_.resize(count_);
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (size_t i = order.size(); i-- > 0;) {
      uint64_t* row = &bits_[order[i] * words_];
      for (NodeId next : schedule.successors(nodes[order[i]])) {
        row[next / 64] |= 1ull << (next % 64);
        for (size_t w = 0; w < words_; ++w) row[w] |= bits_[next * words_ + w];
      }
    }
  }
  bool is_before(NodeId a, NodeId b) const {
    return bits_[a * words_ + b / 64] >> (b % 64) & 1;
  }
  bool are_ordered(NodeId a, NodeId b) const {
    return is_before(a, b) || is_before(b, a);
  }
  size_t position(NodeId id) const { return position_[id]; }

 private:
  size_t count_, words_;
  std::vector<uint64_t> bits_;
  std::vector<size_t> position_;
};

}  // namespace

struct Verifier::State {
  explicit State(int rank_count) : parts(static_cast<size_t>(rank_count)) {}

  // Started messages of one pair and tag that have not met: all sends or all receives.
  struct Channel {
    bool are_sends = false;
    std::vector<NodeId> waiting;  // in order
  };

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
  Result<> simulate();

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

// Messages with the same peer and tag must be ordered, or which meets which would be chance.
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
// Long: one loop; what is ready, complete and stuck is its own state.
Result<> Verifier::State::simulate() {
  std::deque<std::pair<int, NodeId>> ready, complete;
  std::unordered_map<uint64_t, Channel> channels;
  const auto ranks = static_cast<uint64_t>(parts.size());
  std::vector<std::pair<int, NodeId>>
      stuck;  // started, and at that time without a partner
  std::vector<std::vector<bool>> done(parts.size());
  size_t left = 0;
  for (size_t r = 0; r < parts.size(); ++r) {
    const auto nodes = parts[r].schedule->nodes();
    done[r].resize(nodes.size());
    left += nodes.size();
    for (const Node& node : nodes) parts[r].waiting.push_back(node.predecessor_count);
    for (NodeId id : parts[r].schedule->start_nodes())
      ready.emplace_back(static_cast<int>(r), id);
  }
  while (!ready.empty()) {
    const auto [rank, id] = ready.front();
    ready.pop_front();
    const Node& node = parts[static_cast<size_t>(rank)].schedule->nodes()[id];
    if (node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv) {
      const bool is_send = node.kind == NodeKind::kSend;
      const int from_rank = is_send ? rank : node.peer;
      const int to_rank = is_send ? node.peer : rank;
      Channel& channel = channels[(static_cast<uint64_t>(from_rank) * ranks +
                                   static_cast<uint64_t>(to_rank)) *
                                      kTagsPerCollective +
                                  static_cast<uint64_t>(node.tag_offset)];
      if (channel.waiting.empty() || channel.are_sends == is_send) {
        channel.are_sends = is_send;
        channel.waiting.push_back(id);
        stuck.emplace_back(rank, id);
        continue;
      }
      const NodeId other = channel.waiting.front();
      channel.waiting.erase(channel.waiting.begin());
      const NodeId from_id = is_send ? id : other, to_id = is_send ? other : id;
      const Node& from =
          parts[static_cast<size_t>(from_rank)].schedule->nodes()[from_id];
      const Node& to = parts[static_cast<size_t>(to_rank)].schedule->nodes()[to_id];
      MPC_TRY(transfer(from_rank, from_id, from.from, to_rank, to_id, to.to));
      complete.emplace_back(from_rank, from_id);
      complete.emplace_back(to_rank, to_id);
    } else {
      MPC_TRY(run_local(rank, id));
      complete.emplace_back(rank, id);
    }
    for (; !complete.empty(); complete.pop_front()) {
      const auto [r, finished] = complete.front();
      Part& part = parts[static_cast<size_t>(r)];
      --left;
      done[static_cast<size_t>(r)][finished] = true;
      for (NodeId next : part.schedule->successors(part.schedule->nodes()[finished]))
        if (--part.waiting[next] == 0) ready.emplace_back(r, next);
    }
  }
  for (const auto& [rank, id] : stuck)
    if (!done[static_cast<size_t>(rank)][id])
      return error(rank, id, "a message without its partner, or a deadlock");
  if (left != 0) return {Errc::kInternal, "nodes that never became ready"};
  return {};
}

Result<> Verifier::run() {
  for (size_t r = 0; r < state_->parts.size(); ++r)
    MPC_TRY(state_->check_races(static_cast<int>(r)));
  return state_->simulate();
}

}  // namespace mpc::nbc
