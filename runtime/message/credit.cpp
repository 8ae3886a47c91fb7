#include "runtime/message/credit.h"

#include <algorithm>

#include "base/check.h"
#include "base/settings.h"

namespace mpc::msg {
namespace {

// Default: a thousand messages of the eager limit; chosen, not tuned.
IntSetting s_unexpected{"net.unexpected_bytes",
                        8 << 20,
                        "bytes",
                        "Memory of a rank that messages of other processes may fill "
                        "before they are received; beyond it data stay with their "
                        "senders until then; 0: always",
                        0,
                        1 << 30};

uint32_t share_of(size_t bytes, size_t least, int senders) noexcept {
  return bytes == 0 ? 0
                    : static_cast<uint32_t>(
                          std::max(bytes / static_cast<size_t>(senders), least) / 64);
}

}  // namespace

size_t Credit::bytes_from_settings() noexcept {
  return static_cast<size_t>(s_unexpected.get());
}

Credit::Counts Credit::make_counts(size_t n) {
  Counts counts(static_cast<uint32_t*>(std::calloc(n, sizeof(uint32_t))));
  CHECK(counts != nullptr, "no memory for the processes of the job");
  return counts;
}

Credit::Credit(const job::ProcessMap& map, int process, size_t bytes)
    : first_rank_(map.ranks_of(process).first),
      own_ranks_(static_cast<size_t>(map.ranks_of(process).size())),
      share_(share_of(bytes, kLeastShareBytes, std::max(map.processes() - 1, 1))),
      due_(std::max(share_ / 2, 1u)),
      used_(make_counts(static_cast<size_t>(map.ranks()))),
      owed_(make_counts(static_cast<size_t>(map.processes()) * own_ranks_)) {}

}  // namespace mpc::msg
