// Functions of libc that return a pointer to memory of their own, or have state between calls:
// each rank has that memory. Those with a form that takes the caller's buffer (NAME_r) use it.

#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <search.h>
#include <shadow.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {

// A structure and the strings that it points to.
template <class T>
struct Entry {
  T value{};
  std::unique_ptr<char[]> text;
  size_t bytes = 0;

  void grow() {
    bytes = bytes == 0 ? 1024 : 2 * bytes;
    text.reset(new char[bytes]);
  }
};

// Per rank what libc has once. As in libc, one buffer serves the functions of one kind.
struct StaticResults {
  Entry<passwd> user, user_of_file;
  Entry<group> group_entry, group_of_file;
  Entry<spwd> shadow;
  Entry<hostent> host;
  Entry<servent> service;
  Entry<protoent> protocol;
  Entry<netent> network;
  Entry<mntent> mount;
  hsearch_data table{};
  ether_addr address{};
  char address_text[18];
  char terminal[PATH_MAX];
  char pseudo_terminal[64];
  char login[256];
  char temporary[L_tmpnam];
  char digits[512];
  char base64[8];
};

namespace {

StaticResults* results() {
  LibcState* state = libc_state();
  if (state == nullptr) return nullptr;
  const std::lock_guard lock(state->mutex);
  if (state->results == nullptr)
    state->results = new StaticResults;  // lives on with its threads
  return state->results;
}

// call(value, text, bytes, &found) returns an error; ERANGE: the text was too small.
template <class T, class Call>
T* look_up(Entry<T>& entry, Call call) {
  if (entry.bytes == 0) entry.grow();
  for (;; entry.grow()) {
    T* found = nullptr;
    const int error = call(&entry.value, entry.text.get(), entry.bytes, &found);
    if (error == ERANGE) continue;
    if (error != 0) errno = error;
    return found;
  }
}

char* text_or_null(char* text, int error) {
  if (error == 0) return text;
  errno = error;
  return nullptr;
}

// Where a copy has libm's `signgam`; see loader::private_variable().
size_t g_sign_offset;
__attribute__((constructor)) void register_variables() {
  g_sign_offset =
      loader::private_variable({"signgam", "__signgam"}, nullptr, sizeof(int));
}
void set_sign(int sign) noexcept {
  if (const loader::ProgramInstance* instance = own_instance())
    *static_cast<int*>(instance->variable(g_sign_offset)) = sign;
  else
    ::signgam = sign;
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::look_up;
using mpc::interpose::results;
using mpc::interpose::StaticResults;

// --- data bases ------------------------------------------------------------------------------

// MPC_LOOK_UP(type, member of StaticResults, function, (parameters), what NAME_r gets first ...)
#define MPC_LOOK_UP(type, entry, name, parameters, ...)                         \
  MPC_EXPORT type* name parameters {                                            \
    StaticResults* own = results();                                             \
    if (own == nullptr) return NEXT(name)(__VA_ARGS__);                         \
    return look_up(own->entry,                                                  \
                   [&](type* value, char* text, size_t bytes, type** found) {   \
                     return ::name##_r(__VA_ARGS__, value, text, bytes, found); \
                   });                                                          \
  }
// The same for functions that also return h_errno.
#define MPC_LOOK_UP_HOST(type, entry, name, parameters, ...)                   \
  MPC_EXPORT type* name parameters {                                           \
    StaticResults* own = results();                                            \
    if (own == nullptr) return NEXT(name)(__VA_ARGS__);                        \
    return look_up(                                                            \
        own->entry, [&](type* value, char* text, size_t bytes, type** found) { \
          return ::name##_r(__VA_ARGS__, value, text, bytes, found, &h_errno); \
        });                                                                    \
  }
MPC_LOOK_UP(passwd, user, getpwnam, (const char* name), name)
MPC_LOOK_UP(passwd, user, getpwuid, (uid_t id), id)
MPC_LOOK_UP(passwd, user_of_file, fgetpwent, (FILE * file), file)
MPC_LOOK_UP(group, group_entry, getgrnam, (const char* name), name)
MPC_LOOK_UP(group, group_entry, getgrgid, (gid_t id), id)
MPC_LOOK_UP(group, group_of_file, fgetgrent, (FILE * file), file)
MPC_LOOK_UP(spwd, shadow, getspnam, (const char* name), name)
MPC_LOOK_UP(servent, service, getservbyname, (const char* name, const char* protocol),
            name, protocol)
MPC_LOOK_UP(servent, service, getservbyport, (int port, const char* protocol), port,
            protocol)
MPC_LOOK_UP(protoent, protocol, getprotobyname, (const char* name), name)
MPC_LOOK_UP(protoent, protocol, getprotobynumber, (int number), number)
MPC_LOOK_UP_HOST(hostent, host, gethostbyname, (const char* name), name)
MPC_LOOK_UP_HOST(hostent, host, gethostbyname2, (const char* name, int family), name,
                 family)
MPC_LOOK_UP_HOST(hostent, host, gethostbyaddr,
                 (const void* address, socklen_t size, int family), address, size,
                 family)
MPC_LOOK_UP_HOST(netent, network, getnetbyname, (const char* name), name)
MPC_LOOK_UP_HOST(netent, network, getnetbyaddr, (uint32_t network, int type), network,
                 type)

MPC_EXPORT mntent* getmntent(FILE* file) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(getmntent)(file);
  while (own->mount.bytes < 4096) own->mount.grow();
  return ::getmntent_r(file, &own->mount.value, own->mount.text.get(),
                       static_cast<int>(own->mount.bytes));
}

// --- names -----------------------------------------------------------------------------------

MPC_EXPORT char* ttyname(int fd) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(ttyname)(fd);
  return mpc::interpose::text_or_null(
      own->terminal, ::ttyname_r(fd, own->terminal, sizeof own->terminal));
}
MPC_EXPORT char* ptsname(int fd) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(ptsname)(fd);
  return mpc::interpose::text_or_null(
      own->pseudo_terminal,
      ::ptsname_r(fd, own->pseudo_terminal, sizeof own->pseudo_terminal));
}
MPC_EXPORT char* getlogin() {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(getlogin)();
  return mpc::interpose::text_or_null(own->login,
                                      ::getlogin_r(own->login, sizeof own->login));
}
MPC_EXPORT char* tmpnam(char* text) noexcept {
  StaticResults* own = text == nullptr ? results() : nullptr;
  if (own == nullptr) return NEXT(tmpnam)(text);
  return NEXT(tmpnam)(own->temporary);
}
MPC_EXPORT char* ether_ntoa(const ether_addr* address) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(ether_ntoa)(address);
  return ::ether_ntoa_r(address, own->address_text);
}
MPC_EXPORT ether_addr* ether_aton(const char* text) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(ether_aton)(text);
  return ::ether_aton_r(text, &own->address);
}

// --- numbers as text -------------------------------------------------------------------------

#define MPC_CONVERT(number, name)                                                \
  MPC_EXPORT char* name(number value, int digits, int* point,                    \
                        int* is_negative) noexcept {                             \
    StaticResults* own = results();                                              \
    if (own == nullptr) return NEXT(name)(value, digits, point, is_negative);    \
    const int error = ::name##_r(value, digits, point, is_negative, own->digits, \
                                 sizeof own->digits);                            \
    return error == 0 ? own->digits : nullptr;                                   \
  }
MPC_CONVERT(double, ecvt)
MPC_CONVERT(double, fcvt)
MPC_CONVERT(long double, qecvt)
MPC_CONVERT(long double, qfcvt)

// Source: POSIX.1 l64a(): the low 32 bits in digits "./0-9A-Za-z", the lowest first.
MPC_EXPORT char* l64a(long value) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(l64a)(value);
  static constexpr char kDigits[] =
      "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  char* out = own->base64;
  for (auto left = static_cast<uint32_t>(value); left != 0; left >>= 6)
    *out++ = kDigits[left & 63];
  *out = '\0';
  return own->base64;
}

// --- the hash table, lgamma's sign -----------------------------------------------------------

MPC_EXPORT int hcreate(size_t count) noexcept {
  StaticResults* own = results();
  return own != nullptr ? ::hcreate_r(count, &own->table) : NEXT(hcreate)(count);
}
MPC_EXPORT void hdestroy() noexcept {
  if (StaticResults* own = results())
    ::hdestroy_r(&own->table);
  else
    NEXT(hdestroy)();
}
MPC_EXPORT ENTRY* hsearch(ENTRY item, ACTION action) noexcept {
  StaticResults* own = results();
  if (own == nullptr) return NEXT(hsearch)(item, action);
  ENTRY* found = nullptr;
  ::hsearch_r(item, action, &found, &own->table);
  return found;
}

#define MPC_LGAMMA(number, name, reentrant)          \
  MPC_EXPORT number name(number value) noexcept {    \
    int sign = 0;                                    \
    const number result = ::reentrant(value, &sign); \
    mpc::interpose::set_sign(sign);                  \
    return result;                                   \
  }
MPC_LGAMMA(double, lgamma, lgamma_r)
MPC_LGAMMA(float, lgammaf, lgammaf_r)
MPC_LGAMMA(long double, lgammal, lgammal_r)
MPC_LGAMMA(double, gamma, lgamma_r)
MPC_LGAMMA(float, gammaf, lgammaf_r)
MPC_LGAMMA(long double, gammal, lgammal_r)
