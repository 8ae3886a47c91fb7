#include "runtime/trace/message_counts.h"

#include "base/traffic.h"

namespace mpc::trace {

void write_messages(Output& out) noexcept {
  out << ",\"messages\":[";
  bool is_first = true;
  traffic::for_each([&](const traffic::Flow& flow) {
    out << (is_first ? "[" : ",[") << flow.to << "," << flow.from << ","
        << flow.messages << "," << flow.bytes << "]";
    is_first = false;
  });
  out << "]";
}

}  // namespace mpc::trace
