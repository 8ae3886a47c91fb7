#include "runtime/loader/linker_error.h"

#include <cstdlib>
#include <cstring>

namespace mpc::loader {
namespace {

// A thread's latest failure, and the text that dlerror() returned last. No objects with a
// destructor: exit handlers may ask after those of the thread have run.
thread_local char* t_error = nullptr;
thread_local char* t_given = nullptr;

struct Cleaner {
  ~Cleaner() {
    clear_error();
    std::free(t_given);
    t_given = nullptr;
  }
  bool is_there = false;
};
thread_local Cleaner t_cleaner;

}  // namespace

void set_error(const std::string& text) noexcept {
  t_cleaner.is_there = true;
  clear_error();
  t_error = ::strdup(text.c_str());
}
void clear_error() noexcept {
  std::free(t_error);
  t_error = nullptr;
}
const char* take_error() noexcept {
  if (t_error == nullptr) return nullptr;
  std::free(t_given);
  t_given = t_error;
  t_error = nullptr;
  return t_given;
}

}  // namespace mpc::loader
