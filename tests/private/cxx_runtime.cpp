// Exceptions, unwinding, thread_local, dladdr, dlsym and friends inside a copy.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host_api.h"

namespace {

int global = 42;
thread_local std::string thread_text = "fresh";
thread_local int* thread_pointer = &global;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
int unwound;
struct Guard {
  ~Guard() {
    ++unwound;
    test_yield();  // switch in the middle of unwinding
  }
};
[[gnu::noinline]] void throw_from(int depth) {
  Guard guard;
  if (depth == 0) throw Failure("rank " + std::to_string(test_rank()));
  throw_from(depth - 1);
  asm volatile("");
}

void check_exceptions() {
  for (int round = 0; round < 10; ++round) {
    unwound = 0;
    try {
      throw_from(5);
      CHECK_THAT(!"thrown");
    } catch (const Failure& failure) {
      test_yield();
      CHECK_THAT(failure.what() == "rank " + std::to_string(test_rank()));
      try {
        std::vector<int>().at(3) = 1;
      } catch (const std::out_of_range&) {
        test_yield();
      }
      try {
        throw;
      } catch (const std::runtime_error& again) {
        CHECK_THAT(&again == &failure);
      }
    }
    CHECK_THAT(unwound == 6);
  }
}

void check_threads() {
  CHECK_THAT(thread_text == "fresh" && *thread_pointer == global);
  thread_text = "main";
  global = 1000 + test_rank();
  bool right = false;
  const int rank = test_rank();
  std::thread([&] {
    right = thread_text == "fresh" && thread_pointer == &global && test_rank() == rank;
    try {
      throw Failure("in a thread");
    } catch (const Failure&) {
    }
  }).join();
  CHECK_THAT(right && thread_text == "main");
}

int visits, own_visits;
int visit(dl_phdr_info* info, size_t, void*) {
  ++visits;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const auto here = reinterpret_cast<uintptr_t>(&visit);
    own_visits += info->dlpi_phdr[i].p_type == PT_LOAD && here >= begin &&
                  here < begin + info->dlpi_phdr[i].p_memsz;
  }
  return 0;
}

}  // namespace

extern "C" int visible_function() { return 7; }

static void check_dynamic_linker(const char* program) {
  dl_iterate_phdr(visit, nullptr);
  CHECK_THAT(visits > 3 && own_visits == 1);

  Dl_info info{};
  CHECK_THAT(dladdr(reinterpret_cast<void*>(&visible_function), &info) != 0);
  CHECK_THAT(info.dli_sname != nullptr &&
             !std::strcmp(info.dli_sname, "visible_function"));
  CHECK_THAT(info.dli_saddr == reinterpret_cast<void*>(&visible_function));
  CHECK_THAT(info.dli_fname != nullptr &&
             std::strstr(info.dli_fname, program) != nullptr);

  CHECK_THAT(dlsym(RTLD_DEFAULT, "visible_function") ==
             reinterpret_cast<void*>(&visible_function));
  // A sanitizer's runtime comes first, and asks for itself.
  if (dlsym(RTLD_DEFAULT, "__asan_init") != nullptr ||
      dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr)
    return;
  void* self = dlopen(nullptr, RTLD_NOW);
  CHECK_THAT(self != nullptr);
  CHECK_THAT(dlsym(self, "visible_function") ==
             reinterpret_cast<void*>(&visible_function));
  CHECK_THAT(dlsym(self, "no_such_function") == nullptr);
  CHECK_THAT(dlerror() != nullptr);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "environ") == &environ);
  CHECK_THAT(dlsym(RTLD_NEXT, "visible_function") == nullptr);
  CHECK_THAT(dlsym(RTLD_NEXT, "qsort") == reinterpret_cast<void*>(&qsort));
  CHECK_THAT(dlclose(self) == 0);
  CHECK_THAT(visible_function() == 7);
  void* math = dlopen("libm.so.6", RTLD_NOW);
  CHECK_THAT(math != nullptr && dlsym(math, "cos") != nullptr && dlclose(math) == 0);

  void* addresses[50];
  const int count = backtrace(addresses, 50);
  char** lines = backtrace_symbols(addresses, count);
  CHECK_THAT(count >= 3 && std::strstr(lines[0], program) != nullptr);
  std::free(lines);
}

int main(int, char** argv) {
  check_exceptions();
  check_threads();
  const char* name = std::strrchr(argv[0], '/');
  check_dynamic_linker(name != nullptr ? name + 1 : argv[0]);
  return check_failures;
}
