// How a rank ends, in several ways; prints what runs. argv[1] says how.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "host_api.h"

namespace {

void say(const char* word) {
  std::printf("%d %s\n", test_rank(), word);
  std::fflush(stdout);  // _exit() and quick_exit() do not
}

struct Object {
  explicit Object(const char* name) : name_(name) {}
  ~Object() { say(name_); }
  const char* name_;
};
Object global("~global");
thread_local Object thread_object("~thread_local");
Object& local_static() {
  static Object object("~local static");
  return object;
}

volatile sig_atomic_t signals;
[[gnu::noinline]] void leave(const std::string& how) {
  if (how == "exit") std::exit(0);
  if (how == "_exit") ::_exit(0);
  if (how == "_Exit") ::_Exit(0);
  if (how == "quick_exit") std::quick_exit(0);
}

void in_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("MPC_TEST_CHILD", "seen", 1);
    execlp("sh", "sh", "-c",
           "exit $([ \"$MPC_TEST_CHILD\" = seen ] && echo 7 || echo 8)", nullptr);
    ::_exit(9);
  }
  int status = 0;
  CHECK_THAT(::waitpid(child, &status, 0) == child);
  CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  const pid_t second = ::fork();
  if (second == 0) ::_exit(5);
  CHECK_THAT(::waitpid(second, &status, 0) == second && WEXITSTATUS(status) == 5);
}

}  // namespace

int main(int, char** argv) {
  const std::string how = argv[1];
  // (libc forgets those of the main thread in pthread_exit)
  if (how != "pthread_exit")
    (void)*const_cast<const char* volatile*>(&thread_object.name_);
  (void)local_static();
  std::atexit([] { say("atexit 1"); });
  std::atexit([] {
    say("atexit 2");
    std::atexit([] { say("atexit from atexit"); });
  });
  on_exit(
      [](int status, void* text) {
        std::printf("%d on_exit %d %s\n", test_rank(), status,
                    static_cast<char*>(text));
      },
      const_cast<char*>("argument"));
  std::at_quick_exit([] { say("at_quick_exit"); });
  test_yield();
  if (how == "handler") {
    std::atexit([] { std::exit(0); });
    std::exit(0);
  }
  if (how == "raise") {
    signal(SIGUSR1, [](int) { ++signals; });
    CHECK_THAT(raise(SIGUSR1) == 0 && signals >= 1);
    return check_failures;
  }
  if (how == "pthread_exit") {
    std::thread([] {
      test_yield();
      usleep(20000);
      say("thread");
    }).detach();
    pthread_exit(nullptr);
  }
  if (how == "fork") {
    in_child();
    std::fflush(stdout);
    return check_failures;
  }
  leave(how);
  return 0;
}
