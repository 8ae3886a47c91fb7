#include "runtime/message/remote_trace.h"

#include "runtime/message/mailbox.h"
#include "runtime/message/match_note.h"

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

void trace_begin(const trace::Site& site, int own_rank, const Key& key, int64_t bytes,
                 int from, uint64_t id) noexcept {
  trace::begin(site,
               {static_cast<uint64_t>(bytes),
                static_cast<uint64_t>(traced_source(own_rank, key)),
                static_cast<uint64_t>(key.tag), key.context, flow_of(from, id)},
               own_rank);
}

void trace_fetched(const Operation& receive) noexcept {
  const Status& status = receive.status;
  const int rank = receive.mailbox->world_rank;
  const Key key{receive.key.context, status.source, status.tag};
  trace::instant(kFetchedSite,
                 {static_cast<uint64_t>(status.bytes),
                  static_cast<uint64_t>(traced_source(rank, key)),
                  static_cast<uint64_t>(key.tag), key.context},
                 rank);
}

}  // namespace mpc::msg::remote
