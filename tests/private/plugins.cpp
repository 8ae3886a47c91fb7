// Libraries that a rank opens: its own data, symbols of its own program, and what dlopen(3) says
// of the rest. The program run alone shows that libc's dynamic linker sees it the same way.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "host_api.h"
#include "plugins/plugin.h"

int host_counter = 100;
// Never destroyed: destructors of libraries that are left open run after those of the program.
static std::string& trace = *new std::string;
extern "C" void host_note(const char* what) { trace += what; }

namespace {

std::string directory;
std::string path_of(const char* name) {
  return directory + "/libplugin_" + name + ".so";
}

template <class Function>
Function* function(void* handle, const char* name) {
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (found == nullptr) {
    ++check_failures;
    const char* text = dlerror();
    std::fprintf(stderr, "rank %d: %s: %s\n", test_rank(), name,
                 text != nullptr ? text : "?");
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

void* open_plugin(const char* name, int flags = RTLD_NOW) {
  void* handle = dlopen(path_of(name).c_str(), flags);
  if (handle == nullptr) {
    ++check_failures;
    std::fprintf(stderr, "rank %d: %s\n", test_rank(), dlerror());
    std::exit(1);
  }
  return handle;
}

void check_data() {
  const int rank = test_rank();
  host_counter = 100 * rank;
  void* handle = open_plugin("first");
  CHECK_THAT(function<int()>(handle, "plugin_value")() == 21);
  function<void(int)>(handle, "plugin_set")(rank + 1);
  test_yield();
  CHECK_THAT(function<int()>(handle, "plugin_value")() == 3 * (rank + 1));
  CHECK_THAT(*function<int>(handle, "value") == rank + 1);
  CHECK_THAT(function<int(int)>(handle, "plugin_zero")(39999) == 0);
  CHECK_THAT(function<int()>(handle, "plugin_host")() == 100 * rank + 1);
  CHECK_THAT(host_counter == 100 * rank + 1);
  CHECK_THAT(function<int()>(handle, "plugin_base")() == 12);
  test_yield();
  CHECK_THAT(function<int()>(handle, "plugin_base")() == 14);
  CHECK_THAT(function<int()>(handle, "plugin_arguments")() == 2);
  CHECK_THAT(function<int()>(handle, "ask_overridden")() == 2);
  CHECK_THAT(function<int(int)>(handle, "plugin_toascii")('a') == 'a');
  CHECK_THAT(dlclose(handle) == 0);
}

void check_environment() {
  void* handle = open_plugin("first");
  const std::string mine = std::to_string(test_rank());
  setenv("PLUGIN_TEST", mine.c_str(), 1);
  test_yield();
  CHECK_THAT(function<const char*(const char*)>(
                 handle, "plugin_environment")("PLUGIN_TEST") == mine);
  CHECK_THAT(function<char**()>(handle, "plugin_environ")() == environ);
  dlclose(handle);
}

void check_thread_locals_in(void* handle) {
  CHECK_THAT(function<int*()>(handle, "plugin_thread_pointer")() ==
             function<int>(handle, "value"));
  CHECK_THAT(function<int*()>(handle, "plugin_hidden_thread_pointer")() ==
             function<int>(handle, "zeroes") + 10);
  CHECK_THAT(function<int()>(handle, "plugin_thread_next")() == 4);
  test_yield();
  CHECK_THAT(function<int()>(handle, "plugin_thread_next")() == 5);
  CHECK_THAT(*function<int>(handle, "counter_thread") == 5);
  CHECK_THAT(function<int()>(handle, "plugin_base_thread_next")() == 31);
  CHECK_THAT(*function<int>(handle, "base_thread") == 31);
}

void check_thread_locals() {
  // A thread that is there before the library.
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  void* handle = nullptr;
  std::thread early([&] {
    pthread_barrier_wait(&barrier);
    check_thread_locals_in(handle);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    check_thread_locals_in(handle);  // of the library opened anew
  });
  handle = open_plugin("first");
  pthread_barrier_wait(&barrier);
  check_thread_locals_in(handle);
  std::thread([&] { check_thread_locals_in(handle); }).join();
  pthread_barrier_wait(&barrier);
  dlclose(handle);
  handle = open_plugin("first");
  check_thread_locals_in(handle);
  pthread_barrier_wait(&barrier);
  early.join();
  dlclose(handle);
  pthread_barrier_destroy(&barrier);
}

void check_hooks() {
  trace.clear();
  void* handle = open_plugin("first");
  CHECK_THAT(trace == "base+ first+ ");
  function<void(int)>(handle, "plugin_set")(1234);
  void* again = open_plugin("first", RTLD_LAZY);
  CHECK_THAT(again == handle);
  CHECK_THAT(dlclose(handle) == 0);
  CHECK_THAT(trace == "base+ first+ ");
  void* base = dlopen(path_of("base").c_str(), RTLD_NOW | RTLD_NOLOAD);
  CHECK_THAT(base != nullptr && base != handle);
  CHECK_THAT(dlclose(handle) == 0);
  CHECK_THAT(trace == "base+ first+ ");  // the other one is bound to its overridden()
  CHECK_THAT(*function<int>(base, "base_value") == 5);
  CHECK_THAT(dlclose(base) == 0);
  // Which of its hooks runs first is the compiler's choice.
  CHECK_THAT(trace == "base+ first+ atexit- first- base- " ||
             trace == "base+ first+ first- atexit- base- ");
  CHECK_THAT(dlopen(path_of("first").c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
  handle = open_plugin("first");
  CHECK_THAT(*function<int>(handle, "value") == 7);
  dlclose(handle);
  trace.clear();
  handle = open_plugin("nested");
  CHECK_THAT(function<int()>(handle, "nested_works")() == 1);
  CHECK_THAT(trace == "nested+ ");
  dlclose(handle);
  CHECK_THAT(trace == "nested+ nested- ");
}

[[noreturn]] void throw_host_error() { throw HostError("of the host"); }

void check_exceptions() {
  trace.clear();
  void* handle = open_plugin("cxx");
  CHECK_THAT(trace == "object+ ");
  for (int round = 0; round < 3; ++round) {
    const std::string text = "rank " + std::to_string(test_rank());
    try {
      function<void(const char*)>(handle, "cxx_throw")(text.c_str());
      CHECK_THAT(!"thrown");
    } catch (const PluginError& error) {
      test_yield();
      CHECK_THAT(error.what() == text);
    }
    CHECK_THAT(function<bool(void (*)())>(handle, "cxx_catches")(throw_host_error));
  }
  CHECK_THAT(function<int*()>(handle, "cxx_unique")() == &Unique<int>::value);
  CHECK_THAT(function<int()>(handle, "cxx_thread")() == 1);
  std::thread([&] { CHECK_THAT(function<int()>(handle, "cxx_thread")() == 2); }).join();
  CHECK_THAT(function<int()>(handle, "cxx_local_static")() == 1);
  test_yield();
  CHECK_THAT(function<int()>(handle, "cxx_local_static")() == 2);
  dlclose(handle);
}

void check_scopes() {
  void* lazy = open_plugin("lazy", RTLD_LAZY | RTLD_LOCAL);
  CHECK_THAT(function<int()>(lazy, "lazy_value")() == 11);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "given") == nullptr);
  CHECK_THAT(dlerror() != nullptr);
  void* giver = open_plugin("giver", RTLD_NOW);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "given") == nullptr);
  CHECK_THAT(open_plugin("giver", RTLD_NOW | RTLD_GLOBAL) == giver);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "given") == dlsym(giver, "given"));
  CHECK_THAT(function<int(int)>(lazy, "lazy_call")(3) == 31);
  CHECK_THAT(function<int(int)>(lazy, "lazy_call")(4) == 41);
  dlclose(giver);
  dlclose(giver);
  CHECK_THAT(function<int(int)>(lazy, "lazy_call")(5) == 51);  // bound to it: it stays
  dlclose(lazy);
  void* self = dlopen(nullptr, RTLD_NOW);
  CHECK_THAT(self != nullptr && dlopen(nullptr, RTLD_LAZY) == self);
  CHECK_THAT(dlsym(self, "host_counter") == &host_counter);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "host_counter") == &host_counter);
  CHECK_THAT(dlsym(RTLD_DEFAULT, "printf") != nullptr);
  CHECK_THAT(dlsym(RTLD_NEXT, "host_counter") == nullptr);
  CHECK_THAT(dlsym(RTLD_NEXT, "malloc") != nullptr);
  void* math = dlopen("libm.so.6", RTLD_NOW);
  CHECK_THAT(math != nullptr);
  auto* cosine = function<double(double)>(math, "cos");
  CHECK_THAT(cosine(0) == 1);
  CHECK_THAT(dlclose(math) == 0);
  // By the handle of libc, too, what a rank has of its own.
  void* libc = dlopen("libc.so.6", RTLD_LAZY);
  setenv("PLUGIN_TEST", "of the rank", 1);
  auto* get = function<char*(const char*)>(libc, "getenv");
  CHECK_THAT(get("PLUGIN_TEST") == getenv("PLUGIN_TEST"));
  dlclose(libc);
  void* versions = open_plugin("versions");
  auto* old = reinterpret_cast<int (*)()>(dlvsym(versions, "versioned", "OLD_1"));
  auto* recent = reinterpret_cast<int (*)()>(dlvsym(versions, "versioned", "NEW_2"));
  CHECK_THAT(old != nullptr && old() == 1);
  CHECK_THAT(recent != nullptr && recent() == 2);
  CHECK_THAT(function<int()>(versions, "versioned")() == 2);
  CHECK_THAT(dlvsym(versions, "versioned", "OTHER_3") == nullptr);
  CHECK_THAT(std::strstr(dlerror(), "versioned") != nullptr);
  dlclose(versions);
}

void check_error(const char* part) {
  const char* text = dlerror();
  test_yield();
  ::random();  // run alone, ours looks for libc's by dlsym, which frees libc's text
  CHECK_THAT(text != nullptr && std::strstr(text, part) != nullptr);
  CHECK_THAT(dlerror() == nullptr);
}

void check_errors() {
  const std::string missing = "/nosuch/lib" + std::to_string(test_rank()) + ".so";
  CHECK_THAT(dlopen(missing.c_str(), RTLD_NOW) == nullptr);
  test_yield();
  check_error((missing + ": cannot open shared object file: No such file").c_str());
  CHECK_THAT(dlopen("libnosuch.so.9", RTLD_LAZY) == nullptr);
  check_error("libnosuch.so.9: cannot open shared object file");
  CHECK_THAT(dlopen(path_of("undefined").c_str(), RTLD_LAZY) == nullptr);
  check_error("undefined symbol: nobody_has_this");
  CHECK_THAT(dlopen(path_of("unbound").c_str(), RTLD_NOW) == nullptr);
  check_error("undefined symbol: nobody_gives");
  CHECK_THAT(dlopen(path_of("giver").c_str(), 0) == nullptr);
  check_error("invalid mode");
  void* handle = open_plugin("giver");
  CHECK_THAT(dlsym(handle, "not_there") == nullptr);
  check_error("undefined symbol: not_there");
  CHECK_THAT(dlopen(path_of("base").c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
  CHECK_THAT(dlerror() == nullptr);
  CHECK_THAT(dlopen(missing.c_str(), RTLD_NOW) == nullptr);
  CHECK_THAT(dlsym(handle, "given") != nullptr);
  CHECK_THAT(dlerror() == nullptr);  // the later call worked
  dlclose(handle);
}

int count_named(const char* name) {
  struct Search {
    const char* name;
    int count;
  } search{name, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* s = static_cast<Search*>(data);
        s->count += std::strstr(info->dlpi_name, s->name) != nullptr;
        return 0;
      },
      &search);
  return search.count;
}

void check_questions() {
  void* handle = open_plugin("first");
  int* value = function<int>(handle, "value");
  Dl_info info{};
  CHECK_THAT(dladdr(value, &info) != 0);
  CHECK_THAT(info.dli_saddr == value && std::strcmp(info.dli_sname, "value") == 0);
  CHECK_THAT(std::strstr(info.dli_fname, "libplugin_first.so") != nullptr);
  link_map* map = nullptr;
  CHECK_THAT(dladdr1(value, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) !=
             0);
  link_map* asked = nullptr;
  CHECK_THAT(dlinfo(handle, RTLD_DI_LINKMAP, &asked) == 0);
  CHECK_THAT(map == asked &&
             asked->l_addr == reinterpret_cast<ElfW(Addr)>(info.dli_fbase));
  CHECK_THAT(std::strstr(asked->l_name, "libplugin_first.so") != nullptr);
  char origin[4096];
  CHECK_THAT(dlinfo(handle, RTLD_DI_ORIGIN, origin) == 0 && directory == origin);
  CHECK_THAT(count_named("libplugin_first.so") == 1);
  CHECK_THAT(count_named("libplugin_base.so") == 1);
  dlclose(handle);
  CHECK_THAT(count_named("libplugin_first.so") == 0);
}

void check_paths() {
  void* handle = open_plugin("giver");
  // By the program's RUNPATH, and by its name when it is loaded.
  void* same = dlopen("libplugin_giver.so", RTLD_NOW);
  CHECK_THAT(same == handle);
  void* other = dlopen("libplugin_lazy.so", RTLD_LAZY);
  CHECK_THAT(other != nullptr);
  const std::string long_way = directory + "/../" +
                               directory.substr(directory.rfind('/') + 1) +
                               "/libplugin_giver.so";
  void* again = dlopen(long_way.c_str(), RTLD_NOW);
  CHECK_THAT(again == handle);
  for (void* h : {handle, same, again, other})
    if (h != nullptr) dlclose(h);
}

void check_static_thread_locals(const char* name) {
  void* handle = open_plugin(name);
  CHECK_THAT(function<int()>(handle, "static_next")() == 10);
  test_yield();
  CHECK_THAT(function<int()>(handle, "static_next")() == 11);
}

void check_static_thread_locals() {
  check_static_thread_locals("static_tls");
  check_static_thread_locals("descriptors");
  for (const char* name : {"static_tls", "descriptors"}) {
    void* handle = open_plugin(name);
    std::thread([&] {
      CHECK_THAT(function<int()>(handle, "static_next")() == 10);
    }).join();
  }
}

void check_many_times() {
  for (int round = 0; round < 20; ++round) {
    void* handle = open_plugin("first");
    void* cxx = open_plugin("cxx", RTLD_LAZY);
    CHECK_THAT(function<int()>(handle, "plugin_base")() == 12);
    CHECK_THAT(function<int()>(cxx, "cxx_local_static")() == 1);
    dlclose(handle);
    dlclose(cxx);
  }
}

void check_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 10; ++round) {
        void* handle = open_plugin("first");
        CHECK_THAT(function<int(int)>(handle, "plugin_toascii")('b') == 'b');
        CHECK_THAT(dlopen("/nosuch/lib.so", RTLD_NOW) == nullptr);
        check_error("/nosuch/lib.so");
        dlclose(handle);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Ends with 127 and a message, as the dynamic linker does it.
void call_missing() {
  void* lazy = open_plugin("lazy", RTLD_LAZY);
  function<int(int)>(lazy, "lazy_call")(1);
}

// Destructors at the end of the rank, the latest library's first.
void leave_open() {
  open_plugin("first");
  void* cxx = open_plugin("cxx");
  function<int()>(cxx, "cxx_local_static")();
}

}  // namespace

int main(int argc, char** argv) {
  char* path = realpath(argv[0], nullptr);
  directory = path;
  std::free(path);
  directory = directory.substr(0, directory.rfind('/'));
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "missing") call_missing();
  if (what == "crash")
    return function<int(int*)>(open_plugin("crash"), "crash_here")(nullptr);
  check_static_thread_locals();
  check_data();
  check_environment();
  check_thread_locals();
  check_hooks();
  check_exceptions();
  check_scopes();
  check_errors();
  check_questions();
  check_paths();
  check_many_times();
  check_threads();
  leave_open();
  return check_failures == 0 ? 0 : 1;
}
