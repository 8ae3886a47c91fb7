#include "base/counter.h"

#include <algorithm>
#include <cstring>

namespace mpc {
namespace {

// Filled by constructors at namespace scope, before main and on one thread.
constinit Counter* first = nullptr;

}  // namespace

Counter::Counter(const char* name, const char* help) noexcept
    : name_(name), help_(help), next_(first) {
  first = this;
}

std::vector<const Counter*> Counter::all() {
  std::vector<const Counter*> counters;
  for (const Counter* counter = first; counter != nullptr; counter = counter->next_)
    counters.push_back(counter);
  std::sort(counters.begin(), counters.end(), [](const Counter* a, const Counter* b) {
    return std::strcmp(a->name_, b->name_) < 0;
  });
  return counters;
}

}  // namespace mpc
