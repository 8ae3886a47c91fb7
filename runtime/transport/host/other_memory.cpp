#include "runtime/transport/host/other_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/futex.h"

namespace mpc::transport::host {
namespace {

constexpr size_t kMostAtOnce = 1 << 30;  // the system copies less than 2 GiB at a time

void* address(uint64_t there) noexcept { return reinterpret_cast<void*>(there); }

Access failure(long error) noexcept {
  return error == -ESRCH ? Access::kGone : Access::kRefused;
}

}  // namespace

// The data first: where the mark comes after them they were the process's, too.
Access OtherMemory::read(void* to, uint64_t from, size_t bytes) const noexcept {
  if (process_id_ == 0) return Access::kRefused;
  size_t done = 0;
  do {
    const size_t n = std::min(bytes - done, kMostAtOnce);
    Mark found;
    const iovec own[2] = {{static_cast<char*>(to) + done, n}, {&found, sizeof found}};
    const iovec there[2] = {{address(from + done), n},
                            {address(mark_address_), sizeof found}};
    const long copied =
        raw_syscall(SYS_process_vm_readv, process_id_, reinterpret_cast<long>(own), 2,
                    reinterpret_cast<long>(there), 2);
    if (copied < 0) return failure(copied);
    if (copied != static_cast<long>(n + sizeof found)) return Access::kRefused;
    if (found != mark_) return Access::kGone;
    done += n;
  } while (done < bytes);
  return Access::kDone;
}

Access OtherMemory::write(uint64_t to, const void* from, size_t bytes) const noexcept {
  size_t done = 0;
  while (done < bytes) {
    const size_t n = std::min(bytes - done, kMostAtOnce);
    if (const Access here = read(nullptr, 0, 0); here != Access::kDone) return here;
    const iovec own{const_cast<char*>(static_cast<const char*>(from)) + done, n};
    const iovec there{address(to + done), n};
    const long copied =
        raw_syscall(SYS_process_vm_writev, process_id_, reinterpret_cast<long>(&own), 1,
                    reinterpret_cast<long>(&there), 1);
    if (copied < 0) return failure(copied);
    if (copied != static_cast<long>(n)) return Access::kRefused;
    done += n;
  }
  return Access::kDone;
}

}  // namespace mpc::transport::host
