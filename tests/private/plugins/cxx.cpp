// Exceptions, statics and thread_locals with constructors.
#include "plugin.h"

#include <typeinfo>

namespace {
struct Noted {
  explicit Noted(const char* end) : end_(end) { host_note("object+ "); }
  ~Noted() { host_note(end_); }
  const char* end_;
};
Noted object("object- ");
struct Counted {
  Counted() : value(++made) {}
  int value;
  static int made;
};
int Counted::made = 0;
thread_local Counted per_thread;
}  // namespace

extern "C" int cxx_thread() { return per_thread.value; }
extern "C" int* cxx_unique() { return &Unique<int>::value; }
extern "C" void cxx_throw(const char* text) { throw PluginError(text); }
extern "C" bool cxx_catches(void (*thrower)()) {
  try {
    thrower();
  } catch (const HostError& error) {
    return std::string(error.what()) == "of the host";
  }
  return false;
}
extern "C" int cxx_local_static() {
  static Noted late("late- ");
  static int calls = 0;
  return ++calls;
}
