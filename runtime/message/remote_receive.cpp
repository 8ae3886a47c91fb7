// Receives that have met a message of another process: their data, and what its sender is told.
#include "runtime/message/endpoint.h"
#include "runtime/message/network.h"
#include "runtime/message/parcel.h"
#include "runtime/message/remote.h"

namespace mpc::msg::remote {
namespace {

void unpack_operation(void* data, size_t offset, const void* in, size_t n) noexcept {
  const auto& op = *static_cast<const Operation*>(data);
  dt::unpack(op.buffer, *op.type, op.count, offset, in, n);
}

void fetch_is_over(transport::Completion& completion,
                   transport::Outcome outcome) noexcept {
  Operation& receive = *reinterpret_cast<Remote&>(completion).operation;
  endpoint_of(receive.mailbox->world_rank).ended_fetch(receive, outcome);
}

void fetch(Endpoint& mine, Operation& receive, int from, transport::Bulk bulk,
           size_t bytes) {
  receive.remote = {{&fetch_is_over}, &receive, 0, from, 0, false, false, false, false};
  mine.add_fetch(receive);
  const uint64_t id = receive.remote.id;
  const transport::Target target =
      receive.type->is_contiguous()
          ? transport::Target{receive.buffer, bytes, nullptr}
          : transport::Target{&receive, bytes, &unpack_operation};
  mine.net().fetch(from, bulk, target, receive.remote.completion);
  mine.started_fetch(id);  // the receive may be complete, and gone
}

}  // namespace

bool take_parcel(Operation& receive, Block& parcel) noexcept {
  Endpoint& mine = endpoint_of(receive.mailbox->world_rank);
  const ParcelHead head = head_of(parcel);
  const int64_t bytes = parcel.bytes;
  fill_status(receive, parcel.key, bytes);
  if (head.bulk == 0) unpack_into(receive, data_of(parcel), bytes);
  EagerPool::give_back(&parcel);
  if (head.bulk != 0 && !receive.status.failed && bytes != 0) {
    fetch(mine, receive, head.from, head.bulk, static_cast<size_t>(bytes));
    return false;
  }
  if (head.bulk !=
      0) {  // its sender is done; a message that is too long is not fetched
    mine.net().refuse(head.from, head.bulk);
  } else if (head.is_awaited) {
    mine.post_at_once(head.from, transport::PacketKind::kAck, head.id, false);
  }
  return true;
}

void forget(Mailbox& mine) noexcept {
  if (has_network()) endpoint_of(mine.world_rank).forget(mine);
}

}  // namespace mpc::msg::remote
