// setlocale() of a rank: the thread's locale (uselocale) in place of the process's. State that libc
// has per process and locale is the rank's own, too: localeconv()'s buffer, the states of the
// conversions to and from wide characters.
//
// See also: setlocale(3), newlocale(3), uselocale(3).

#include <langinfo.h>
#include <pthread.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <cuchar>
#include <cwchar>

#include <map>
#include <mutex>
#include <string>

#include "runtime/interpose/environment.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/rank_locale.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {

struct RankLocale {
  locale_t locale = nullptr;  // null: "C", as the process has it
  std::string name;           // what setlocale(category, nullptr) returned last
  lconv conventions{};
  std::mbstate_t states[12]{};  // by State
};

namespace {

// One state for each function that has its own if the caller gives none.
enum State {
  kMblen,
  kMbtowc,
  kWctomb,
  kMbrlen,
  kMbrtowc,
  kWcrtomb,
  kMbsrtowcs,
  kWcsrtombs,
  kMbrtoc16,
  kC16rtomb,
  kMbrtoc32,
  kC32rtomb
};

constexpr struct {
  int category, mask;
  const char* name;
} kCategories[] = {{LC_CTYPE, LC_CTYPE_MASK, "LC_CTYPE"},
                   {LC_NUMERIC, LC_NUMERIC_MASK, "LC_NUMERIC"},
                   {LC_TIME, LC_TIME_MASK, "LC_TIME"},
                   {LC_COLLATE, LC_COLLATE_MASK, "LC_COLLATE"},
                   {LC_MONETARY, LC_MONETARY_MASK, "LC_MONETARY"},
                   {LC_MESSAGES, LC_MESSAGES_MASK, "LC_MESSAGES"},
                   {LC_PAPER, LC_PAPER_MASK, "LC_PAPER"},
                   {LC_NAME, LC_NAME_MASK, "LC_NAME"},
                   {LC_ADDRESS, LC_ADDRESS_MASK, "LC_ADDRESS"},
                   {LC_TELEPHONE, LC_TELEPHONE_MASK, "LC_TELEPHONE"},
                   {LC_MEASUREMENT, LC_MEASUREMENT_MASK, "LC_MEASUREMENT"},
                   {LC_IDENTIFICATION, LC_IDENTIFICATION_MASK, "LC_IDENTIFICATION"}};

const char* name_of(locale_t locale, int category) {
  return locale != nullptr ? ::nl_langinfo_l(NL_LOCALE_NAME(category), locale) : "C";
}

// Source: libc's setlocale(LC_ALL, nullptr): one name, or "LC_CTYPE=...;LC_NUMERIC=...; ...".
std::string name_of_all(locale_t locale) {
  std::string list;
  bool are_same = true;
  for (const auto& c : kCategories) {
    const char* name = name_of(locale, c.category);
    are_same = are_same && std::strcmp(name, name_of(locale, LC_CTYPE)) == 0;
    list += std::string(list.empty() ? "" : ";") + c.name + "=" + name;
  }
  return are_same ? name_of(locale, LC_CTYPE) : list;
}

// Held where libc makes a locale, under a lock of its own that a forked child would not find free: it may be another rank's
// thread that is there.
constinit std::mutex g_making;

// Earlier than the lock of the environment is registered: so that fork() acquires it later, as make_locale() does.
__attribute__((constructor(200))) void register_making() {
  const auto unlock = [] { g_making.unlock(); };
  ::pthread_atfork([] { g_making.lock(); }, unlock, unlock);
}

// Locales do not change and are few: ranks share them, and none is ever freed (localeconv() and
// nl_langinfo() have returned pointers into them).
locale_t shared_locale(locale_t made) {
  static auto* const known = new std::map<std::string, locale_t>;
  const std::lock_guard lock(g_making);
  const auto [entry, is_new] = known->emplace(name_of_all(made), made);
  if (!is_new) ::freelocale(made);
  return entry->second;
}

int mask_of(int category) {
  if (category == LC_ALL) return LC_ALL_MASK;
  for (const auto& c : kCategories)
    if (c.category == category) return c.mask;
  return 0;
}

// newlocale() itself consumes the base: it gets one that is used nowhere else.
locale_t make_locale(int mask, const char* name, locale_t present) {
  const BorrowedEnvironment environment;  // "" asks LC_ALL, LANG ...
  const std::lock_guard lock(g_making);
  locale_t base = present != nullptr ? ::duplocale(present)
                                     : ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (base == nullptr) return nullptr;
  locale_t made = ::newlocale(mask, name, base);
  if (made == nullptr) ::freelocale(base);
  return made;
}

RankLocale* rank_locale() {
  LibcState* state = libc_state();
  if (state == nullptr) return nullptr;
  const std::lock_guard lock(state->mutex);
  if (state->locale == nullptr)
    state->locale = new RankLocale;  // lives on with its threads
  return state->locale;
}

RankLocale* existing() {
  LibcState* state = libc_state();
  return state != nullptr ? state->locale : nullptr;
}

std::mbstate_t* state_or_own(std::mbstate_t* given, State which) {
  if (given != nullptr) return given;
  RankLocale* own = rank_locale();
  return own != nullptr ? &own->states[which] : nullptr;
}

}  // namespace

void use_rank_locale_here(const job::Rank& rank) noexcept {
  const auto* state = rank.libc;
  if (state != nullptr && state->locale != nullptr && state->locale->locale != nullptr)
    MPC_NEXT(uselocale, locale_t(*)(locale_t))(state->locale->locale);
}

}  // namespace mpc::interpose

using mpc::interpose::RankLocale;

MPC_EXPORT char* setlocale(int category, const char* name) noexcept {
  RankLocale* own = mpc::interpose::rank_locale();
  if (own == nullptr) return NEXT(setlocale)(category, name);
  const int mask = mpc::interpose::mask_of(category);
  if (mask == 0) return nullptr;
  if (name != nullptr) {
    locale_t made = mpc::interpose::make_locale(mask, name, own->locale);
    if (made == nullptr) return nullptr;
    const locale_t before = own->locale;
    own->locale = mpc::interpose::shared_locale(made);
    const locale_t here = NEXT(uselocale)(nullptr);
    if (here == LC_GLOBAL_LOCALE || here == before) NEXT(uselocale)(own->locale);
  }
  own->name = category == LC_ALL ? mpc::interpose::name_of_all(own->locale)
                                 : mpc::interpose::name_of(own->locale, category);
  return own->name.data();
}

// For the rank its setlocale() is the "global" locale.
MPC_EXPORT locale_t uselocale(locale_t wanted) noexcept {
  const RankLocale* own = mpc::interpose::existing();
  const bool has_own = own != nullptr && own->locale != nullptr;
  if (has_own && wanted == LC_GLOBAL_LOCALE) wanted = own->locale;
  const locale_t before = NEXT(uselocale)(wanted);
  return has_own && before == own->locale ? LC_GLOBAL_LOCALE : before;
}
MPC_EXPORT locale_t duplocale(locale_t locale) noexcept {
  const RankLocale* own = mpc::interpose::existing();
  const bool is_own =
      locale == LC_GLOBAL_LOCALE && own != nullptr && own->locale != nullptr;
  return NEXT(duplocale)(is_own ? own->locale : locale);
}

MPC_EXPORT lconv* localeconv() noexcept {
  RankLocale* own = mpc::interpose::rank_locale();
  if (own == nullptr) return NEXT(localeconv)();
  static std::mutex mutex;  // libc has one buffer
  const std::lock_guard lock(mutex);
  own->conventions = *NEXT(localeconv)();
  return &own->conventions;
}

// --- conversions with a state ----------------------------------------------------------------

MPC_EXPORT int mblen(const char* text, size_t size) noexcept {
  RankLocale* own = mpc::interpose::rank_locale();
  if (own == nullptr) return NEXT(mblen)(text, size);
  own->states[mpc::interpose::kMblen] =
      {};  // no encoding of libc's locales has shift states
  if (text == nullptr) return 0;
  const auto used =
      ::mbrtowc(nullptr, text, size, &own->states[mpc::interpose::kMblen]);
  return static_cast<int>(used) < 0 ? -1 : static_cast<int>(used);
}
MPC_EXPORT int mbtowc(wchar_t* wide, const char* text, size_t size) noexcept {
  RankLocale* own = mpc::interpose::rank_locale();
  if (own == nullptr) return NEXT(mbtowc)(wide, text, size);
  own->states[mpc::interpose::kMbtowc] = {};
  if (text == nullptr) return 0;
  const auto used = ::mbrtowc(wide, text, size, &own->states[mpc::interpose::kMbtowc]);
  return static_cast<int>(used) < 0 ? -1 : static_cast<int>(used);
}
MPC_EXPORT int wctomb(char* text, wchar_t wide) noexcept {
  RankLocale* own = mpc::interpose::rank_locale();
  if (own == nullptr) return NEXT(wctomb)(text, wide);
  own->states[mpc::interpose::kWctomb] = {};
  if (text == nullptr) return 0;
  return static_cast<int>(::wcrtomb(text, wide, &own->states[mpc::interpose::kWctomb]));
}

#define MPC_OWN_STATE(result, name, which, parameters, ...)             \
  MPC_EXPORT result name parameters noexcept {                          \
    state = mpc::interpose::state_or_own(state, mpc::interpose::which); \
    return NEXT(name)(__VA_ARGS__, state);                              \
  }
MPC_OWN_STATE(size_t, mbrlen, kMbrlen, (const char* t, size_t n, mbstate_t* state), t,
              n)
MPC_OWN_STATE(size_t, mbrtowc, kMbrtowc,
              (wchar_t * w, const char* t, size_t n, mbstate_t* state), w, t, n)
MPC_OWN_STATE(size_t, wcrtomb, kWcrtomb, (char* t, wchar_t w, mbstate_t* state), t, w)
MPC_OWN_STATE(size_t, mbsrtowcs, kMbsrtowcs,
              (wchar_t * w, const char** t, size_t n, mbstate_t* state), w, t, n)
MPC_OWN_STATE(size_t, wcsrtombs, kWcsrtombs,
              (char* t, const wchar_t** w, size_t n, mbstate_t* state), t, w, n)
MPC_OWN_STATE(size_t, mbrtoc16, kMbrtoc16,
              (char16_t* w, const char* t, size_t n, mbstate_t* state), w, t, n)
MPC_OWN_STATE(size_t, c16rtomb, kC16rtomb, (char* t, char16_t w, mbstate_t* state), t,
              w)
MPC_OWN_STATE(size_t, mbrtoc32, kMbrtoc32,
              (char32_t* w, const char* t, size_t n, mbstate_t* state), w, t, n)
MPC_OWN_STATE(size_t, c32rtomb, kC32rtomb, (char* t, char32_t w, mbstate_t* state), t,
              w)
