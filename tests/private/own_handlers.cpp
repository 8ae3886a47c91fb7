// Handlers that libstdc++ and libc store once per process are the rank's own: set_terminate(),
// set_new_handler(), the default memory resource, pthread_atfork().
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory_resource>
#include <new>
#include <string>

#include "host_api.h"

namespace {

bool is_odd() { return test_rank() % 2 == 1; }

void let_others_run() {
  for (int i = 0; i < 20; ++i) test_yield();
  ::usleep(50'000);
}

int in_child(void (*function)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    function();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_terminate() {
  const std::terminate_handler before = std::get_terminate();
  const auto own = [] { ::_exit(40 + test_rank()); };
  if (is_odd()) CHECK_THAT(std::set_terminate(own) == before);
  let_others_run();
  CHECK_THAT((std::get_terminate() == before) == !is_odd());
  if (is_odd()) CHECK_THAT(in_child([] { std::terminate(); }) == 40 + test_rank());
  if (is_odd())
    CHECK_THAT(in_child([]() noexcept { std::string().at(1); }) == 40 + test_rank());
  std::set_terminate(nullptr);
  CHECK_THAT(std::get_terminate() == before);
}

int missing;

void check_new_handler() {
  if (is_odd()) {
    CHECK_THAT(std::set_new_handler([] {
                 ++missing;
                 throw std::bad_alloc();
               }) == nullptr);
  }
  let_others_run();
  volatile size_t bytes = PTRDIFF_MAX / 2;
  CHECK_THAT(::operator new(bytes, std::nothrow) == nullptr);
  let_others_run();
  CHECK_THAT(missing == (is_odd() ? 1 : 0));
  CHECK_THAT((std::get_new_handler() != nullptr) == is_odd());
  std::set_new_handler(nullptr);
}

void check_memory_resource() {
  if (is_odd())
    CHECK_THAT(std::pmr::set_default_resource(std::pmr::null_memory_resource()) ==
               std::pmr::new_delete_resource());
  let_others_run();
  CHECK_THAT(
      std::pmr::get_default_resource() ==
      (is_odd() ? std::pmr::null_memory_resource() : std::pmr::new_delete_resource()));
  std::pmr::set_default_resource(nullptr);
}

int order;  // digits: what ran
void note(int digit) { order = 10 * order + digit; }

void check_fork_handlers() {
  ::pthread_atfork([] { note(2); }, [] { note(3); }, [] { note(5); });
  ::pthread_atfork([] { note(1); }, [] { note(4); }, [] { note(6); });
  let_others_run();
  if (is_odd()) return let_others_run();
  CHECK_THAT(order == 0);
  CHECK_THAT(in_child([] { ::_exit(order == 1256 ? 9 : 8); }) == 9);
  CHECK_THAT(order == 1234);
}

}  // namespace

int main() {
  check_terminate();
  check_new_handler();
  check_memory_resource();
  check_fork_handlers();
  if (is_odd()) CHECK_THAT(order == 0);
  return check_failures != 0;
}
