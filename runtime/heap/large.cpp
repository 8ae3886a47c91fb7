#include "runtime/heap/large.h"

#include "runtime/heap/memory.h"

namespace mpc::heap {

void Large::destroy() noexcept {
  AddressMap::remove(block, 1);
  unmap(reinterpret_cast<char*>(this), bytes);
}

}  // namespace mpc::heap
