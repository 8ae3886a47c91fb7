#include "runtime/message/remote_trace.h"

#include "runtime/message/mailbox.h"

namespace mpc::msg::remote {
namespace {

constexpr trace::Site kSend{
    "message", "send", {"bytes", "dest", "tag", "context", "flow"}};

}  // namespace

void trace_send(const job::Rank& self, const SendArgs& args, size_t bytes, int process,
                uint64_t id) noexcept {
  trace::instant(kSend,
                 {bytes, static_cast<uint64_t>(args.dest_world),
                  static_cast<uint64_t>(args.tag), args.context, flow_of(process, id)},
                 self.world_rank);
}

void trace_fetched(const Operation& receive) noexcept {
  const Status& status = receive.status;
  trace::instant(
      kFetchedSite,
      {static_cast<uint64_t>(status.bytes), static_cast<uint64_t>(status.source),
       static_cast<uint64_t>(status.tag), receive.key.context},
      receive.mailbox->world_rank);
}

}  // namespace mpc::msg::remote
