#pragma once
// Schedule: one rank's part of a collective, as a graph of send, recv, reduce and copy nodes.
//
// Role:      uKACC's ADG: pure data, no thread, no clock, no transport. Built once per
//            (collective, communicator, sizes), reusable: buffers are bound when it is started.
// Users:     nbc/algorithms creates them; nbc/engine, the verifier and the simulator execute them.
// Threads:   a builder belongs to one thread; a finished Schedule is immutable and shareable.
// See also:  Nomura et al. (graphs), Hoefler et al. 2007 (rounds), docs/design/0004-schedules.md.
//
// Buffers are named by slots, not addresses: slot 0 the user's send buffer, slot 1 the receive
// buffer, slot 2 the schedule's own scratch memory (allocated per start), further slots for
// alltoallw-like calls. A BufferRef is slot + byte offset, with a count and a type index into the
// types bound at the start, so that a cached schedule serves any buffer and any datatype of
// the same shape.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/datatype/datatype.h"

namespace mpc::nbc {

using dt::Count;

enum class NodeKind : uint8_t { kSend, kRecv, kReduce, kCopy, kNop };

// Where a node may run when trees are split (Denis et al. 2018): on the rank's application
// core, and only while the rank is in a call, or on any communication core.
enum class Where : uint8_t { kAny, kApplication };

enum Slot : uint16_t { kSendBuffer = 0, kRecvBuffer = 1, kScratch = 2 };

// Indices into the types bound at the start (alltoallw binds more), and the engine's own type
// for packed data.
enum TypeIndex : uint16_t { kSendType = 0, kRecvType = 1, kByteType = 0xffff };

struct BufferRef {
  uint16_t slot = kRecvBuffer;
  uint16_t type = 0;   // index into the types bound at start
  int64_t offset = 0;  // bytes from the slot's address
  Count count = 0;     // elements of that type
};

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;  // from the start on, see connect()

// Tags of one collective: a node's tag_offset is below this.
inline constexpr int kTagsPerCollective = 1024;

// A copy node that is repeated, each time displaced by the strides: n blocks in one node.
struct Repeat {
  Count times = 1;
  int64_t from_stride = 0, to_stride = 0;  // bytes, may be negative
};

struct Node {
  NodeKind kind = NodeKind::kNop;
  Where where = Where::kAny;
  int level = 0;  // tree level of this edge, 0 at the root; for the split and the trace
  int peer = -1;  // rank in the communicator, of send and recv
  int tag_offset =
      0;           // distinguishes messages of one collective between the same ranks
  BufferRef from;  // send, copy: source; reduce: the operand `in`
  BufferRef to;    // recv, copy: destination; reduce: `inout`: to = from op to
  Repeat repeat;   // copy only
  uint32_t first_successor = 0, successor_count = 0;  // in Schedule::successors()
  uint32_t predecessor_count = 0;
  uint32_t request = 0;  // number of this message among the schedule's messages
};

class Schedule {
 public:
  Schedule() = default;  // without nodes: complete as soon as it starts
  std::span<const Node> nodes() const noexcept { return nodes_; }
  std::span<const NodeId> successors(const Node& node) const noexcept {
    return {successors_.data() + node.first_successor, node.successor_count};
  }
  // Nodes without predecessors, receives first.
  std::span<const NodeId> start_nodes() const noexcept { return start_; }
  int64_t scratch_bytes() const noexcept { return scratch_bytes_; }
  int tag_count() const noexcept { return tag_count_; }
  // Nodes without successors: when all of them are complete, everything is.
  uint32_t sink_count() const noexcept { return sink_count_; }
  // Sends and receives: those that need a request.
  uint32_t message_count() const noexcept { return message_count_; }
  bool has_reductions() const noexcept { return has_reductions_; }

  std::string dump() const;      // text, one node a line
  std::string graphviz() const;  // dot

 private:
  friend class ScheduleBuilder;
  std::vector<Node> nodes_;
  std::vector<NodeId> successors_;
  std::vector<NodeId> start_;
  int64_t scratch_bytes_ = 0;
  int tag_count_ = 1;
  uint32_t sink_count_ = 0, message_count_ = 0;
  bool has_reductions_ = false;
};

// The builder, as in uKACC (Nomura et al.: Init, MakeSend/Recv/CalcNode, ConnectNode, Issue).
class ScheduleBuilder {
 public:
  NodeId send(int peer, BufferRef from, int tag_offset = 0);
  NodeId recv(int peer, BufferRef to, int tag_offset = 0);
  NodeId reduce(BufferRef in,
                BufferRef inout);  // inout = in op inout (MPI's order of operands)
  NodeId copy(BufferRef from, BufferRef to, Repeat repeat = {});
  NodeId nop();
  // `after` may start only when `before` is complete. kNoNode on either side has no effect.
  void connect(NodeId before, NodeId after);
  Node& node(NodeId id) noexcept { return nodes_[id]; }
  size_t node_count() const noexcept { return nodes_.size(); }
  // Bytes of scratch memory, aligned to 64; the returned BufferRef has slot kScratch.
  BufferRef scratch(int64_t bytes, Count count, uint16_t type);
  // The builder is empty afterwards.
  // Errors: kInternal (a cycle, a node that does not exist, a tag or count out of range).
  Result<std::shared_ptr<const Schedule>> finish();

 private:
  NodeId add(const Node& node);

  std::vector<Node> nodes_;
  std::vector<std::pair<NodeId, NodeId>> edges_;
  int64_t scratch_bytes_ = 0;
  bool too_large_ = false;
};

}  // namespace mpc::nbc
