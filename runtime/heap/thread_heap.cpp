#include "runtime/heap/thread_heap.h"

#include <pthread.h>

#include "runtime/heap/owner.h"

namespace mpc::heap {
namespace {

pthread_key_t g_key;
constinit bool g_has_key = false;  // written before there are threads

char* pointer(uintptr_t address) noexcept {
  return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

Heap* heap_in(uintptr_t chunk) noexcept {
  return reinterpret_cast<Heap*>(reinterpret_cast<Chunk*>(pointer(chunk))->reserved());
}
uintptr_t chunk_of(const Heap* heap) noexcept {
  return reinterpret_cast<uintptr_t>(heap) / kSlotBytes * kSlotBytes;
}

// The stack of idle heaps. Heaps are never unmapped and first chunks are slots, so the low bits
// of a link are free for a tag, which each push changes: a pop that was overtaken sees that.
constexpr uintptr_t kTagMask = kSlotBytes - 1;

void push_idle(Owner& owner, Heap* heap) noexcept {
  uintptr_t top = owner.idle.load(std::memory_order_relaxed);
  uintptr_t mine;
  do {
    const uintptr_t below = top & ~kTagMask;
    heap->next_idle.store(below != 0 ? heap_in(below) : nullptr,
                          std::memory_order_relaxed);
    mine = chunk_of(heap) | ((top + 1) & kTagMask);
    // Release pairs with the acquire in pop_idle(): the next thread sees what this one did.
  } while (!owner.idle.compare_exchange_weak(top, mine, std::memory_order_release,
                                             std::memory_order_relaxed));
}

Heap* pop_idle(Owner& owner) noexcept {
  // Acquire pairs with the release in push_idle().
  uintptr_t top = owner.idle.load(std::memory_order_acquire);
  for (;;) {
    if ((top & ~kTagMask) == 0) return nullptr;
    Heap* heap = heap_in(top & ~kTagMask);
    Heap* below = heap->next_idle.load(std::memory_order_relaxed);
    const uintptr_t next = below != nullptr ? chunk_of(below) : 0;
    // Release: a heap that a later pop finds here was pushed by another thread.
    if (owner.idle.compare_exchange_weak(top, next | (top & kTagMask),
                                         std::memory_order_acq_rel,
                                         std::memory_order_acquire))
      return heap;
  }
}

Heap* take_heap(Owner& owner) noexcept {
  if (Heap* heap = pop_idle(owner)) return heap;
  Heap* heap = Heap::make(owner);
  if (heap == nullptr) return nullptr;
  heap->next_of_owner = owner.heaps.load(std::memory_order_relaxed);
  // Release pairs with the acquire of readers of the list.
  while (!owner.heaps.compare_exchange_weak(heap->next_of_owner, heap,
                                            std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
  return heap;
}

void leave_heap(Heap* heap) noexcept {
  heap->trim();
  push_idle(heap->owner(), heap);
}

// pthread_setspecific() may allocate, so t_heap comes first.
void use_heap(Heap* heap) noexcept {
  t_heap = heap;
  if (g_has_key) pthread_setspecific(g_key, heap);
}

void thread_ends(void* heap) {
  t_heap = nullptr;
  leave_heap(static_cast<Heap*>(heap));
}

__attribute__((constructor)) void make_key() {
  g_has_key = pthread_key_create(&g_key, &thread_ends) == 0;
}

}  // namespace

thread_local constinit Heap* t_heap = nullptr;

Heap* make_thread_heap() noexcept {
  Heap* heap = take_heap(owner_of(kProcess));
  if (heap != nullptr) use_heap(heap);
  return t_heap;
}

void enter_owner(int rank, int node) noexcept {
  if (rank < 0 || rank >= kMaxRanks) return;
  Owner& owner = owner_of(rank);
  if (node >= 0) owner.node_plus_1.store(node + 1, std::memory_order_relaxed);
  Heap* old = t_heap;
  if (old != nullptr && &old->owner() == &owner) return;
  Heap* heap = take_heap(owner);
  if (heap == nullptr) return;  // little memory is left: continue with the present heap
  use_heap(heap);
  if (old != nullptr) leave_heap(old);
}

}  // namespace mpc::heap
