// Serves the requests of other processes to the members of this
// one, on the thread that takes them from the net.
//
// Nothing here waits: a lock that is held is queued for, answers need no room.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/datatype/type_bytes.h"
#include "runtime/rma/accumulate.h"
#include "runtime/rma/port.h"
#include "runtime/rma/port_operation.h"
#include "runtime/rma/window_share.h"

namespace mpc::rma {

namespace {

// The reply to a packet that requests data.
Packet reply_to(const Packet& packet) noexcept {
  Packet reply;
  reply.verb = Verb::kData;
  reply.ticket = packet.ticket;
  reply.target = packet.target;
  reply.disp = packet.disp;
  reply.offset = packet.offset;
  reply.bytes = packet.bytes;
  return reply;
}

// A member of another process in the queue of a lock; destroyed when it has the lock.
class RemoteWaiter final : public LockWaiter {
 public:
  RemoteWaiter(Port& port, int process, const Packet& packet,
               std::shared_ptr<WindowShare> share)
      : LockWaiter(packet.lock, packet.origin),
        port_(port),
        process_(process),
        ticket_(packet.ticket),
        share_(std::move(share)) {}
  void granted() noexcept override {
    port_.answer(process_, ticket_);
    delete this;
  }

 private:
  Port& port_;
  const int process_;
  const uint64_t ticket_;
  const std::shared_ptr<WindowShare> share_;
};

}  // namespace

dt::TypeRef Port::find_type(int from, uint64_t number) {
  if (number < kFirstTypeNumber)
    return dt::TypeRef(dt::predefined(static_cast<uint32_t>(number)));
  const auto& types = link(from).types;
  const auto found = types.find(number);
  return found != types.end() ? found->second : dt::TypeRef{};
}

void Port::serve(int from, const Packet& packet, std::span<const std::byte> data) {
  switch (packet.verb) {
    case Verb::kType: {
      dt::TypeRef type = dt::from_bytes(data);
      CHECK(type, "another process has sent what is no datatype");
      link(from).types[packet.type] = std::move(type);
      return;
    }
    case Verb::kDropType:
      link(from).types.erase(packet.type);
      return;
    case Verb::kFlush:  // everything that came before it has been done
      return answer(from, packet.ticket);
    default:
      break;
  }
  std::shared_ptr<WindowShare> share = find_window(packet.window);
  // All members have freed it, and the sender of this did not wait for it: an unlock.
  if (share == nullptr) return;
  Target& target = share->target(packet.target);
  switch (packet.verb) {
    case Verb::kLock:
      return lock(from, packet, std::move(share));
    case Verb::kUnlock:
      return target.lock.unlock(packet.lock);
    case Verb::kPost:
      target.posts.post(packet.origin);
      return pass_post_on(packet);
    case Verb::kComplete:
      return target.note_completed();
    default:
      break;
  }
  const dt::TypeRef type = find_type(from, packet.type);
  CHECK(type, "another process uses a datatype that it has not told");
  char* at = nullptr;
  const Fit fit = target.find(packet.disp, *type, packet.count, &at);
  const AccumulateGate::Passage who{share->gate(), packet.target, packet.target, false};
  const Operation op{from, packet, data, at, *type, who};
  if (is_transfer(packet.verb)) return serve_long(op, std::move(share), fit);
  if (fit != Fit::kFits) return fail(from, packet, fit);
  serve_operation(op);
}

void Port::fail(int from, const Packet& packet, Fit fit) {
  Packet reply = reply_to(packet);
  reply.fit = fit;
  if (packet.ticket == 0 || is_transfer(packet.verb)) {
    reply.verb = Verb::kFailed;
    reply.window = packet.window;
    reply.origin = packet.origin;
  }
  send(from, reply);
}

void Port::lock(int from, const Packet& packet, std::shared_ptr<WindowShare> share) {
  TargetLock& lock = share->target(packet.target).lock;
  if (lock.try_lock(packet.lock, packet.origin)) return answer(from, packet.ticket);
  auto waiter = std::make_unique<RemoteWaiter>(*this, from, packet, std::move(share));
  if (lock.lock_or_queue(*waiter)) return answer(from, packet.ticket);
  (void)waiter.release();  // granted() destroys it
}

void Port::serve_operation(const Operation& op) {
  switch (op.packet.verb) {
    case Verb::kPut:
      return put(op);
    case Verb::kGet:
      return get(op);
    case Verb::kCompareAndSwap:
      return compare_and_swap(op);
    default:
      return accumulate(op);
  }
}

void Port::put(const Operation& op) {
  dt::unpack(op.at, op.type, op.packet.count, op.packet.offset, op.data.data(),
             op.data.size());
}

void Port::get(const Operation& op) {
  Parcel parcel(op.packet.bytes);
  dt::pack(op.at, op.type, op.packet.count, op.packet.offset, parcel.data(),
           op.packet.bytes);
  send(op.from, reply_to(op.packet), parcel);
}

void Port::accumulate(const Operation& op) {
  const dt::Datatype* const element = dt::predefined(op.packet.element);
  ElementOp bound;
  CHECK(element != nullptr && ElementOp::make(op.packet.op, *element, &bound),
        "another process wants an operation that there is not");
  const auto count = static_cast<Count>(op.packet.bytes) / element->extent();
  const auto first = static_cast<Count>(op.packet.offset);
  const Buffer target{op.at, &op.type, op.packet.count};
  Buffer origin;
  if (!op.data.empty())
    origin = {const_cast<std::byte*>(op.data.data()), element, count};
  if (op.packet.verb == Verb::kAccumulate)
    return rma::accumulate(op.who, bound, target, origin, nullptr, first);
  Parcel parcel(op.packet.bytes);
  std::memset(parcel.data(), 0, op.packet.bytes);  // gaps
  const Buffer result{parcel.data(), element, count};
  rma::accumulate(op.who, bound, target, origin, &result, first);
  send(op.from, reply_to(op.packet), parcel);
}

void Port::compare_and_swap(const Operation& op) {
  const auto bytes = static_cast<size_t>(op.packet.bytes);
  CHECK(op.data.size() == 2 * bytes, "another process compares with nothing");
  Parcel parcel(bytes);
  AccumulateGate::pass(op.who, [&] {
    rma::compare_and_swap(op.type, op.at, op.data.data(), op.data.data() + bytes,
                          parcel.data());
  });
  send(op.from, reply_to(op.packet), parcel);
}

}  // namespace mpc::rma
