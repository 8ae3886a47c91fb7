#include "nbc/algorithms/inter.h"

#include "nbc/algorithms/parts.h"

namespace mpc::nbc {
namespace {

void send_if_any(B& b, int peer, const BufferRef& ref, const TypeShape& type) {
  if (total_bytes(ref.count, type) > 0) b.send(peer, ref);
}
NodeId recv_if_any(B& b, int peer, const BufferRef& ref, const TypeShape& type) {
  return total_bytes(ref.count, type) > 0 ? b.recv(peer, ref) : kNoNode;
}

void barrier(B& b, int remote_size) {
  const BufferRef nothing{kScratch, kByteType, 0, 0};
  for (int peer = 0; peer < remote_size; ++peer) {
    b.recv(peer, nothing);
    b.send(peer, nothing);
  }
}

// The buffer of a broadcast is on the receive side at all ranks.
void bcast(B& b, const Shape& s, int remote_size) {
  const BufferRef buffer =
      elements(kRecvBuffer, kRecvType, s.recv_type, 0, s.recv_count);
  if (s.root >= 0) recv_if_any(b, s.root, buffer, s.recv_type);
  if (s.root != kIsRoot) return;
  for (int peer = 0; peer < remote_size; ++peer)
    send_if_any(b, peer, buffer, s.recv_type);
}

void gather(B& b, const Shape& s, int remote_size) {
  if (s.root >= 0) send_if_any(b, s.root, send_block(s, 0), s.send_type);
  if (s.root != kIsRoot) return;
  for (int peer = 0; peer < remote_size; ++peer)
    recv_if_any(b, peer, recv_block(s, peer, remote_size), s.recv_type);
}

void scatter(B& b, const Shape& s, int remote_size) {
  if (s.root >= 0) recv_if_any(b, s.root, recv_block(s, 0, remote_size), s.recv_type);
  if (s.root != kIsRoot) return;
  for (int peer = 0; peer < remote_size; ++peer)
    send_if_any(b, peer, send_block(s, peer), s.send_type);
}

// Allgather and alltoall in all forms.
void exchange(B& b, const Shape& s, int remote_size) {
  for (int peer = 0; peer < remote_size; ++peer) {
    recv_if_any(b, peer, recv_block(s, peer, remote_size), recv_block_type(s, peer));
    send_if_any(b, peer, send_block(s, peer), send_block_type(s, peer));
  }
}

// Receives the whole vector of each remote rank and combines elements [first, first + count) of
// them, in rank order, in the receive buffer. Only one vector is in memory at a time.
void reduce_remote(B& b, const Shape& s, int remote_size, Count all, Count first,
                   Count count) {
  const BufferRef target = elements(kRecvBuffer, kRecvType, s.recv_type, 0, count);
  const BufferRef whole = typed_scratch(b, kRecvType, s.recv_type, all);
  const BufferRef mine = part(whole, s.recv_type, first, count);
  NodeId last = kNoNode;  // the node that uses `whole`
  for (int peer = remote_size - 1; peer >= 0; --peer) {
    const NodeId received = after(b, last, b.recv(peer, whole));
    if (count == 0) {
      last = received;
      continue;
    }
    const bool is_first = peer == remote_size - 1;
    last = after(b, received, is_first ? b.copy(mine, target) : b.reduce(mine, target));
  }
}

Count sum(std::span<const Count> counts) {
  Count total = 0;
  for (const Count c : counts) total += c;
  return total;
}

void reduce(B& b, const Shape& s, int remote_size) {
  const BufferRef mine = elements(kSendBuffer, kSendType, s.send_type, 0, s.recv_count);
  if (total_bytes(s.recv_count, s.recv_type) == 0) return;
  if (s.root >= 0) b.send(s.root, mine);
  if (s.root == kIsRoot)
    reduce_remote(b, s, remote_size, s.recv_count, 0, s.recv_count);
}

// Allreduce and reduce_scatter: every rank sends everything to every rank of the other group.
void reduce_all(B& b, const Shape& s, int remote_size) {
  Count all = s.recv_count, first = 0, count = s.recv_count;
  const auto me = static_cast<size_t>(s.rank);
  if (s.coll == Coll::kReduceScatterBlock) {
    all = s.recv_count * s.size;
    first = s.recv_count * s.rank;
  } else if (s.coll == Coll::kReduceScatter) {
    all = sum(s.recv_counts);
    first = sum(s.recv_counts.first(me));
    count = s.recv_counts[me];
  }
  if (total_bytes(all, s.recv_type) == 0) return;
  const BufferRef mine = elements(kSendBuffer, kSendType, s.send_type, 0, all);
  for (int peer = 0; peer < remote_size; ++peer) b.send(peer, mine);
  reduce_remote(b, s, remote_size, all, first, count);
}

}  // namespace

Result<std::shared_ptr<const Schedule>> build_inter(const Shape& shape,
                                                    int remote_size) {
  B b;
  switch (shape.coll) {
    case Coll::kBarrier:
      barrier(b, remote_size);
      break;
    case Coll::kBcast:
      bcast(b, shape, remote_size);
      break;
    case Coll::kGather:
    case Coll::kGatherv:
      gather(b, shape, remote_size);
      break;
    case Coll::kScatter:
    case Coll::kScatterv:
      scatter(b, shape, remote_size);
      break;
    case Coll::kAllgather:
    case Coll::kAllgatherv:
    case Coll::kAlltoall:
    case Coll::kAlltoallv:
    case Coll::kAlltoallw:
      exchange(b, shape, remote_size);
      break;
    case Coll::kReduce:
      reduce(b, shape, remote_size);
      break;
    case Coll::kAllreduce:
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      reduce_all(b, shape, remote_size);
      break;
    default:
      return Error{Errc::kComm, std::string(name_of(shape.coll)) +
                                    " is not defined on intercommunicators"};
  }
  return b.finish();
}

}  // namespace mpc::nbc
