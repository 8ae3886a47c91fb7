// strtok() and the calendar functions that return a pointer into libc, and the time zone (TZ,
// tzname): each rank's own.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <cwchar>

#include "runtime/interpose/environment.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

using mpc::interpose::libc_state;
using mpc::interpose::LibcState;

MPC_EXPORT char* strtok(char* text, const char* separators) noexcept {
  LibcState* state = libc_state();
  if (state == nullptr) return NEXT(strtok)(text, separators);
  return ::strtok_r(text, separators, &state->strtok_position);
}

namespace {

// Source: C11 7.27.3.1, with "???" for values without a name, as libc prints it.
char* format_time(const tm* time, char* text, size_t size) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed",
                                          "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
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
                has_day ? kDays[time->tm_wday] : "???",
                has_month ? kMonths[time->tm_mon] : "???", time->tm_mday, time->tm_hour,
                time->tm_min, time->tm_sec, 1900 + time->tm_year);
  return text;
}

// Offsets in a copy of what <time.h> declares; see loader::private_variable().
struct Offsets {
  size_t names, seconds_west, has_daylight;
};
Offsets g_offsets;

__attribute__((constructor)) void register_variables() {
  g_offsets = {
      mpc::loader::private_variable({"tzname", "__tzname"}, ::tzname, sizeof ::tzname),
      mpc::loader::private_variable({"timezone", "__timezone"}, nullptr,
                                    sizeof ::timezone),
      mpc::loader::private_variable({"daylight", "__daylight"}, nullptr,
                                    sizeof ::daylight)};
}

// While such an object lives, libc's time zone is that of the caller's rank (its TZ).
class BorrowedZone {
 public:
  BorrowedZone() {
    NEXT(tzset)();
    const mpc::loader::ProgramInstance* instance = mpc::interpose::own_instance();
    if (instance == nullptr) return;
    std::memcpy(instance->variable(g_offsets.names), ::tzname, sizeof ::tzname);
    *static_cast<long*>(instance->variable(g_offsets.seconds_west)) = ::timezone;
    *static_cast<int*>(instance->variable(g_offsets.has_daylight)) = ::daylight;
  }

 private:
  mpc::interpose::BorrowedEnvironment environment_;
};

tm* local_time(LibcState& state, const time_t* time) {
  const BorrowedZone zone;  // localtime() sets it, localtime_r() need not
  return NEXT(localtime_r)(time, &state.broken_down_time);
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

// --- functions that use the time zone ---------------------------------------------------------

MPC_EXPORT void tzset() noexcept {
  if (libc_state() == nullptr) return NEXT(tzset)();
  const BorrowedZone zone;
}

#define MPC_WITH_ZONE(result, name, parameters, ...)             \
  MPC_EXPORT result name parameters noexcept {                   \
    if (libc_state() == nullptr) return NEXT(name)(__VA_ARGS__); \
    const BorrowedZone zone;                                     \
    return NEXT(name)(__VA_ARGS__);                              \
  }
MPC_WITH_ZONE(tm*, localtime_r, (const time_t* time, tm* out), time, out)
MPC_WITH_ZONE(char*, ctime_r, (const time_t* time, char* out), time, out)
MPC_WITH_ZONE(time_t, mktime, (tm * time), time)
MPC_WITH_ZONE(time_t, timelocal, (tm * time), time)
MPC_WITH_ZONE(size_t, strftime,
              (char* out, size_t size, const char* format, const tm* time), out, size,
              format, time)
MPC_WITH_ZONE(size_t, strftime_l,
              (char* out, size_t size, const char* format, const tm* time,
               locale_t locale),
              out, size, format, time, locale)
MPC_WITH_ZONE(size_t, wcsftime,
              (wchar_t * out, size_t size, const wchar_t* format, const tm* time), out,
              size, format, time)
