// The environment: only the rank itself sees its setenv(). The variable `environ` itself
// is private to each copy of the program (runtime/loader), so that both ways agree.

#include "runtime/interpose/environment.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

struct Environment {
  LibcState& state;
  char**& array;  // the rank's environ
};

// The caller's rank's environment, if it is in one.
struct Own {
  job::Rank* rank = own_rank();
  bool is_rank() const {
    return rank != nullptr && rank->instance != nullptr && rank->libc;
  }
  Environment get() const { return {*rank->libc, rank->instance->environment()}; }
};

char** find(char** array, std::string_view name) {
  for (char** entry = array; entry != nullptr && *entry != nullptr; ++entry)
    if (std::strncmp(*entry, name.data(), name.size()) == 0 &&
        (*entry)[name.size()] == '=')
      return entry;
  return nullptr;
}

bool is_bad_name(const char* name) {
  return name[0] == '\0' || std::strchr(name, '=') != nullptr;
}

// Makes the array ours, so that it can grow; the program
// may have set environ to an array of its own.
void own_array(const Environment& e) {
  std::vector<char*>& own = e.state.environment;
  if (!own.empty() && e.array == own.data()) return;
  std::vector<char*> copy;
  for (char** entry = e.array; entry != nullptr && *entry != nullptr; ++entry)
    copy.push_back(*entry);
  copy.push_back(nullptr);
  own = std::move(copy);
  e.array = own.data();
}

void put(const Environment& e, std::string_view name, char* text) {
  if (char** entry = find(e.array, name)) {
    *entry = text;
    return;
  }
  own_array(e);
  e.state.environment.back() = text;
  e.state.environment.push_back(nullptr);
  e.array = e.state.environment.data();
}

int set(const Environment& e, const char* name, const char* value) {
  const std::string text = std::string(name) + "=" + value;
  auto& known = e.state.environment_strings[name];
  for (auto& old : known)  // setting the same values again and again must not grow
    if (text == old.get()) {
      put(e, name, old.get());
      return 0;
    }
  auto made = std::make_unique<char[]>(text.size() + 1);
  std::memcpy(made.get(), text.c_str(), text.size() + 1);
  put(e, name, made.get());
  known.push_back(std::move(made));
  return 0;
}

void remove(char** array, std::string_view name) {
  for (char** entry = find(array, name); entry != nullptr; entry = find(entry, name))
    for (char** move = entry; (*move = move[1]) != nullptr; ++move) {
    }
}

std::mutex g_borrow_mutex;

__attribute__((constructor)) void register_hooks() {
  ::pthread_atfork([] { g_borrow_mutex.lock(); }, [] { g_borrow_mutex.unlock(); },
                   [] { g_borrow_mutex.unlock(); });
}

}  // namespace

char** present_environment() noexcept {
  const Own own;
  return own.is_rank() ? own.get().array : ::environ;
}

BorrowedEnvironment::BorrowedEnvironment() noexcept {
  char** array = present_environment();
  g_borrow_mutex.lock();
  before_ = std::exchange(::environ, array);
}
BorrowedEnvironment::~BorrowedEnvironment() {
  ::environ = before_;
  g_borrow_mutex.unlock();
}

}  // namespace mpc::interpose

using mpc::interpose::Own;

MPC_EXPORT char* getenv(const char* name) noexcept {
  const Own own;
  if (!own.is_rank()) return NEXT(getenv)(name);
  const auto e = own.get();
  std::lock_guard lock(e.state.mutex);
  char** entry = mpc::interpose::find(e.array, name);
  return entry != nullptr ? *entry + std::strlen(name) + 1 : nullptr;
}
MPC_EXPORT char* secure_getenv(const char* name) noexcept { return getenv(name); }

MPC_EXPORT int setenv(const char* name, const char* value, int replace) noexcept {
  const Own own;
  if (!own.is_rank()) return NEXT(setenv)(name, value, replace);
  if (mpc::interpose::is_bad_name(name)) {
    errno = EINVAL;
    return -1;
  }
  const auto e = own.get();
  std::lock_guard lock(e.state.mutex);
  if (replace == 0 && mpc::interpose::find(e.array, name) != nullptr) return 0;
  return mpc::interpose::set(e, name, value);
}
MPC_EXPORT int unsetenv(const char* name) noexcept {
  const Own own;
  if (!own.is_rank()) return NEXT(unsetenv)(name);
  if (mpc::interpose::is_bad_name(name)) {
    errno = EINVAL;
    return -1;
  }
  const auto e = own.get();
  std::lock_guard lock(e.state.mutex);
  mpc::interpose::own_array(e);
  mpc::interpose::remove(e.array, name);
  // Entries have moved up; the vector's own end must be the null again.
  size_t count = 0;
  while (e.array[count] != nullptr) ++count;
  e.state.environment.resize(count + 1);
  return 0;
}
MPC_EXPORT int putenv(char* text) noexcept {
  const char* equals = std::strchr(text, '=');
  if (equals == nullptr) return unsetenv(text);
  const Own own;
  if (!own.is_rank()) return NEXT(putenv)(text);
  const auto e = own.get();
  std::lock_guard lock(e.state.mutex);
  mpc::interpose::put(e, {text, static_cast<size_t>(equals - text)}, text);
  return 0;
}
MPC_EXPORT int clearenv() noexcept {
  const Own own;
  if (!own.is_rank()) return NEXT(clearenv)();
  const auto e = own.get();
  std::lock_guard lock(e.state.mutex);
  e.array = nullptr;
  return 0;
}
