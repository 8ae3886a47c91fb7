// Receives that have met a message of another process: their data, and the answer to the sender.
#include <algorithm>

#include "runtime/message/copy_scope.h"
#include "runtime/message/endpoint.h"
#include "runtime/message/network.h"
#include "runtime/message/parcel.h"
#include "runtime/message/remote.h"
#include "runtime/message/remote_trace.h"

namespace mpc::msg::remote {
namespace {

// Data that do not fit into the buffer are dropped, as from a sender of the same process.
void unpack_operation(void* data, size_t offset, const void* in, size_t n) noexcept {
  const auto& op = *static_cast<const Operation*>(data);
  const auto room = static_cast<size_t>(op.bytes);
  if (offset >= room) return;
  const CopyScope scope(&op, nullptr);
  dt::unpack(op.buffer, *op.type, op.count, offset, in, std::min(n, room - offset));
}

void fetch_is_over(transport::Completion& completion,
                   transport::Outcome outcome) noexcept {
  Operation& receive = *reinterpret_cast<Remote&>(completion).operation;
  endpoint_towards(receive.remote.peer, receive.mailbox->world_rank)
      .ended_fetch(receive, outcome);
}

void fetch(Endpoint& mine, Operation& receive, int from, transport::Bulk bulk,
           size_t bytes) {
  receive.remote = {
      {&fetch_is_over}, &receive, 0, from, 0, false, false, false, false, false};
  mine.add_fetch(receive);
  const uint64_t id = receive.remote.id;
  const bool is_plain =
      receive.type->is_contiguous() && bytes <= static_cast<size_t>(receive.bytes);
  const transport::Target target =
      is_plain ? transport::Target{receive.buffer, bytes, nullptr}
               : transport::Target{&receive, bytes, &unpack_operation};
  mine.count_fetch();
  mine.net().fetch(from, bulk, target, receive.remote.completion);
  mine.started_fetch(id);  // the receive may be complete, and destroyed
}

// False: there is nothing to fetch, or no room for any of it; the sender has finished.
bool fetch_or_refuse(Endpoint& mine, Operation& receive, const Key& key,
                     const ParcelHead& head, int64_t bytes) {
  if (bytes == 0 || receive.bytes == 0) {
    mine.count_refusal();
    mine.net().refuse(head.from, head.bulk);
    return false;
  }
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace_begin(kFetchSite, receive.mailbox->world_rank, key, bytes, head.from,
                head.id);
  fetch(mine, receive, head.from, head.bulk, static_cast<size_t>(bytes));
  if (is_traced) [[unlikely]]
    trace::end(kFetchSite);  // the receive may be destroyed
  return true;
}

}  // namespace

bool take_parcel(Operation& receive, Block& parcel) noexcept {
  const int own_rank = receive.mailbox->world_rank;
  const ParcelHead head = parcel.head;
  Endpoint& mine = endpoint_towards(head.from, own_rank);
  const Key key = parcel.key;
  const int64_t bytes = parcel.bytes;
  fill_status(receive, key, bytes);
  if (head.bulk != 0) {
    mine.release(parcel, own_rank);
    return !fetch_or_refuse(mine, receive, key, head, bytes);
  }
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    trace_begin(kCopySite, own_rank, key, bytes, head.from, head.id);
  unpack_into(receive, parcel.data(), bytes);
  if (is_traced) [[unlikely]]
    trace::end(kCopySite);
  mine.release(parcel, own_rank);
  if (head.is_awaited)
    mine.post_at_once(
        {head.from, transport::PacketKind::kAck, head.id, false, own_rank});
  return true;
}

void release(Block* parcels, int own_rank) noexcept {
  while (parcels != nullptr) {
    Block* const next = parcels->next_free;
    endpoint_towards(parcels->head.from, own_rank).release(*parcels, own_rank);
    parcels = next;
  }
}

void forget(Mailbox& mine) noexcept {
  for_each_endpoint(
      mine.world_rank,
      [](Endpoint& each, void* mailbox) {
        each.forget(*static_cast<Mailbox*>(mailbox));
      },
      &mine);
}

}  // namespace mpc::msg::remote
