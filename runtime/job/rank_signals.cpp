#include "runtime/job/rank_signals.h"

namespace mpc::job::rank_signals {
namespace {

constinit Functions g_functions{nullptr, nullptr, nullptr};

}  // namespace

void set(const Functions& functions) noexcept { g_functions = functions; }

int takers(int signal) {
  return g_functions.takers != nullptr ? g_functions.takers(signal) : 0;
}

void give(int signal) {
  if (g_functions.give != nullptr) g_functions.give(signal);
}

int push() { return g_functions.push != nullptr ? g_functions.push() : 0; }

}  // namespace mpc::job::rank_signals
