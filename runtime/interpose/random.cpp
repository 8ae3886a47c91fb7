// rand(), random() and drand48() with a generator of each rank's own: by the same functions of
// libc (the _r forms), so the same sequence for the same seed.

#include <cerrno>
#include <cstdlib>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::libc_state;
using mpc::interpose::LibcState;

namespace {

long next_random(LibcState& state) {
  std::lock_guard lock(state.mutex);
  int32_t value = 0;
  random_r(&state.random, &value);
  return value;
}

void seed_random(LibcState& state, unsigned seed) {
  std::lock_guard lock(state.mutex);
  srandom_r(seed, &state.random);
}

// libc returns the state array that was in use, whose first word tells its type.
char* current_array(const random_data& data) {
  return reinterpret_cast<char*>(data.state - 1);
}

}  // namespace

MPC_EXPORT long random() noexcept {
  LibcState* state = libc_state();
  return state != nullptr ? next_random(*state) : NEXT(random)();
}
MPC_EXPORT int rand() noexcept {
  LibcState* state = libc_state();
  return state != nullptr ? static_cast<int>(next_random(*state)) : NEXT(rand)();
}
MPC_EXPORT void srandom(unsigned seed) noexcept {
  LibcState* state = libc_state();
  state != nullptr ? seed_random(*state, seed) : NEXT(srandom)(seed);
}
MPC_EXPORT void srand(unsigned seed) noexcept {
  LibcState* state = libc_state();
  state != nullptr ? seed_random(*state, seed) : NEXT(srand)(seed);
}
MPC_EXPORT char* initstate(unsigned seed, char* array, size_t size) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(initstate)(seed, array, size);
  std::lock_guard lock(state->mutex);
  char* old = current_array(state->random);
  return initstate_r(seed, array, size, &state->random) == 0 ? old : nullptr;
}
MPC_EXPORT char* setstate(char* array) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(setstate)(array);
  std::lock_guard lock(state->mutex);
  char* old = current_array(state->random);
  return setstate_r(array, &state->random) == 0 ? old : nullptr;
}

// --- drand48 ---------------------------------------------------------------------------------

namespace {

template <class Result, class Draw>
Result draw48(LibcState& state, const Draw& draw) {
  std::lock_guard lock(state.mutex);
  Result result{};
  draw(&state.drand48, &result);
  return result;
}

}  // namespace

MPC_EXPORT double drand48() noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(drand48)();
  return draw48<double>(*state, drand48_r);
}
MPC_EXPORT double erand48(unsigned short x[3]) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(erand48)(x);
  return draw48<double>(*state, [&](auto* d, auto* r) { erand48_r(x, d, r); });
}
MPC_EXPORT long lrand48() noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(lrand48)();
  return draw48<long>(*state, lrand48_r);
}
MPC_EXPORT long nrand48(unsigned short x[3]) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(nrand48)(x);
  return draw48<long>(*state, [&](auto* d, auto* r) { nrand48_r(x, d, r); });
}
MPC_EXPORT long mrand48() noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(mrand48)();
  return draw48<long>(*state, mrand48_r);
}
MPC_EXPORT long jrand48(unsigned short x[3]) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(jrand48)(x);
  return draw48<long>(*state, [&](auto* d, auto* r) { jrand48_r(x, d, r); });
}
MPC_EXPORT void srand48(long seed) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(srand48)(seed);
  std::lock_guard lock(state->mutex);
  srand48_r(seed, &state->drand48);
}
MPC_EXPORT unsigned short* seed48(unsigned short seed[3]) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(seed48)(seed);
  std::lock_guard lock(state->mutex);
  seed48_r(seed, &state->drand48);
  return state->drand48.__old_x;
}
MPC_EXPORT void lcong48(unsigned short parameters[7]) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(lcong48)(parameters);
  std::lock_guard lock(state->mutex);
  lcong48_r(parameters, &state->drand48);
}
