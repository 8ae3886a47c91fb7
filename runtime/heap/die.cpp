#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/heap/heap.h"
#include "runtime/heap/owner.h"
#include "runtime/heap/thread_heap.h"

namespace mpc::heap {

void die(const char* what, const void* pointer) noexcept {
  // No heap and no stdio: they may be what is broken.
  char text[256];
  const int rank = t_heap != nullptr ? t_heap->owner().rank() : kProcess;
  int length = std::snprintf(text, sizeof text, "mpcrun: ");
  if (rank != kProcess)
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length),
                            "rank %d: ", rank);
  length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length),
                          "%s: %p\n", what, pointer);
  [[maybe_unused]] const ssize_t ignored =
      ::write(STDERR_FILENO, text, static_cast<size_t>(length));
  std::abort();
}

}  // namespace mpc::heap
