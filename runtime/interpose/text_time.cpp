// strtok() and the calendar functions that return a pointer into libc: each rank's own.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::libc_state;
using mpc::interpose::LibcState;

extern "C" char* strtok(char*, const char*) noexcept;

MPC_EXPORT char* strtok(char* text, const char* separators) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(strtok)(text, separators);
  return ::strtok_r(text, separators, &state->strtok_position);
}

namespace {

// Source: C11 7.27.3.1, with "???" for what has no name, as libc prints it.
char* format_time(const tm* time, char* text, size_t size) {
  static constexpr char kDays[] = "SunMonTueWedThuFriSat";
  static constexpr char kMonths[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (time == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  const bool has_day = time->tm_wday >= 0 && time->tm_wday < 7;
  const bool has_month = time->tm_mon >= 0 && time->tm_mon < 12;
  if (time->tm_year > INT32_MAX - 1900) {
    errno = EOVERFLOW;
    return nullptr;
  }
  std::snprintf(text, size, "%.3s %.3s%3d %.2d:%.2d:%.2d %d\n",
                has_day ? kDays + 3 * time->tm_wday : "???",
                has_month ? kMonths + 3 * time->tm_mon : "???", time->tm_mday,
                time->tm_hour, time->tm_min, time->tm_sec, 1900 + time->tm_year);
  return text;
}

tm* local_time(LibcState& state, const time_t* time) {
  ::tzset();  // localtime() does, localtime_r() need not
  return ::localtime_r(time, &state.broken_down_time);
}

}  // namespace

MPC_EXPORT tm* localtime(const time_t* time) noexcept {
  LibcState* state = libc_state();
  return state != nullptr ? local_time(*state, time) : NEXT(localtime)(time);
}
MPC_EXPORT tm* gmtime(const time_t* time) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(gmtime)(time);
  return ::gmtime_r(time, &state->broken_down_time);
}
MPC_EXPORT char* asctime(const tm* time) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(asctime)(time);
  return format_time(time, state->time_text, sizeof state->time_text);
}
MPC_EXPORT char* ctime(const time_t* time) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(ctime)(time);
  return format_time(local_time(*state, time), state->time_text,
                     sizeof state->time_text);
}
