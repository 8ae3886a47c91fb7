#pragma once
// Partition tag: the tags by which messages of partitioned communication are matched.
//
// Role:      in the context of a communicator's partitioned communication, announcements have the
//            user's tags, and are matched in the order of the calls of init. Partitions have
//            negative tags, each one of its own.
// Users:     mpi/p2p/partitioned_send.cpp, mpi/p2p/partitioned_receive.cpp.
// Threads:   values.
// See also:  docs/design/0030-partitioned.md.

#include <climits>
#include <cstdint>

#include "runtime/message/message.h"

namespace mpc::mpi {

// What a sender tells its receiver, once.
struct PartitionAnnouncement {
  int64_t bytes = 0;  // of all partitions
  int32_t partitions = 0;
  uint32_t first_number = 0;
};

// INT_MIN .. -65537, so that none is MPI_ANY_TAG. The numbers repeat after 2^31 partitions; a
// communication that old must have been freed by then.
inline int partition_tag(uint32_t first_number, int partition) noexcept {
  constexpr uint32_t kTags = 0x7fff0000;
  const uint32_t number = (first_number + static_cast<uint32_t>(partition)) % kTags;
  return INT_MIN + static_cast<int>(number);
}
static_assert(INT_MIN + 0x7fff0000 < msg::kAnyTag);

}  // namespace mpc::mpi
