#include "runtime/loader/hook_calls.h"

namespace mpc::loader {
namespace {

using StartHook = void (*)(int, char**, char**);
using EndHook = void (*)();

template <class Function>
Function function_at(char* address) {
  return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

void call_start_hooks(const Hooks& hooks, char* base, int argc, char** argv,
                      char** envp) {
  if (hooks.init != 0) function_at<StartHook>(base + hooks.init)(argc, argv, envp);
  const auto* functions = reinterpret_cast<StartHook*>(base + hooks.init_array);
  for (size_t i = 0; i < hooks.init_count; ++i) functions[i](argc, argv, envp);
}

void call_end_hooks(const Hooks& hooks, char* base) {
  const auto* functions = reinterpret_cast<EndHook*>(base + hooks.fini_array);
  for (size_t i = hooks.fini_count; i-- > 0;) functions[i]();
  if (hooks.fini != 0) function_at<EndHook>(base + hooks.fini)();
}

}  // namespace mpc::loader
