// What libstdc++ stores once per process and a program sets: std::set_terminate(), set_new_handler()
// and std::pmr::set_default_resource(). A rank sets its own.
//
// libstdc++ gets one handler of each kind, which calls that of the caller's rank.

#include <cstdlib>
#include <exception>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

namespace {

using mpc::interpose::libc_state;
using mpc::interpose::LibcState;
using std::pmr::memory_resource;

// The process's, before a rank set one.
constinit std::terminate_handler g_terminate_handler = nullptr;

std::terminate_handler next_get_terminate() {
  return MPC_NEXT(_ZSt13get_terminatev, std::terminate_handler(*)())();
}

[[noreturn]] void terminate_rank() {
  const LibcState* state = libc_state();
  auto* handler = state != nullptr && state->terminate_handler != nullptr
                      ? state->terminate_handler
                      : g_terminate_handler;
  handler();
  std::abort();  // it must not return
}

// Source: C++20 [new.delete.single]: without a handler operator new throws.
void find_memory_for_rank() {
  const LibcState* state = libc_state();
  if (state == nullptr || state->new_handler == nullptr) throw std::bad_alloc();
  state->new_handler();
}

}  // namespace

MPC_EXPORT std::terminate_handler _ZSt13set_terminatePFvvE(
    std::terminate_handler handler) noexcept {
  const auto next = MPC_NEXT(_ZSt13set_terminatePFvvE,
                             std::terminate_handler(*)(std::terminate_handler));
  LibcState* state = libc_state();
  if (state == nullptr) return next(handler);
  static std::once_flag once;
  std::call_once(once, [&] {
    g_terminate_handler = next_get_terminate();
    next(&terminate_rank);
  });
  const std::lock_guard lock(state->mutex);
  auto* const before = std::exchange(state->terminate_handler, handler);
  return before != nullptr ? before : g_terminate_handler;
}
MPC_EXPORT std::terminate_handler _ZSt13get_terminatev() noexcept {
  const LibcState* state = libc_state();
  if (state != nullptr && state->terminate_handler != nullptr)
    return state->terminate_handler;
  auto* const handler = next_get_terminate();
  // Libstdc++ asks, too, and calls what it gets.
  return handler == &terminate_rank && state != nullptr ? g_terminate_handler : handler;
}

MPC_EXPORT std::new_handler _ZSt15set_new_handlerPFvvE(
    std::new_handler handler) noexcept {
  const auto next =
      MPC_NEXT(_ZSt15set_new_handlerPFvvE, std::new_handler(*)(std::new_handler));
  LibcState* state = libc_state();
  if (state == nullptr) return next(handler);
  static std::once_flag once;
  std::call_once(once, [&] { next(&find_memory_for_rank); });
  const std::lock_guard lock(state->mutex);
  return std::exchange(state->new_handler, handler);
}
MPC_EXPORT std::new_handler _ZSt15get_new_handlerv() noexcept {
  const LibcState* state = libc_state();
  if (state != nullptr) return state->new_handler;
  return MPC_NEXT(_ZSt15get_new_handlerv, std::new_handler(*)())();
}

MPC_EXPORT memory_resource* _ZNSt3pmr20get_default_resourceEv() noexcept {
  const LibcState* state = libc_state();
  if (state != nullptr && state->memory_resource != nullptr)
    return static_cast<memory_resource*>(state->memory_resource);
  return MPC_NEXT(_ZNSt3pmr20get_default_resourceEv, memory_resource * (*)())();
}
MPC_EXPORT memory_resource* _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE(
    memory_resource* wanted) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr)
    return MPC_NEXT(_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE,
                    memory_resource * (*)(memory_resource*))(wanted);
  memory_resource* const before = _ZNSt3pmr20get_default_resourceEv();
  const std::lock_guard lock(state->mutex);
  state->memory_resource = wanted != nullptr ? wanted : std::pmr::new_delete_resource();
  return before;
}
