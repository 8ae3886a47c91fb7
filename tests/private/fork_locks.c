// A forked child may open libraries and choose a locale, whatever other ranks do at the fork, and open libraries while a thread of
// its rank does.
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_api.h"

static atomic_int is_over;

static int opens(void) {
  void* library = dlopen("libm.so.6", RTLD_NOW);
  const int found = library != NULL && dlsym(library, "sin") != NULL;
  if (library != NULL) dlclose(library);
  return found;
}

static int open_and_choose(void) {
  return opens() && setlocale(LC_ALL, "C.UTF-8") != NULL &&
         setlocale(LC_ALL, "C") != NULL;
}

static void* keep_doing(void* unused) {
  while (!atomic_load(&is_over)) CHECK_THAT(opens());
  return unused;
}

int main(void) {
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, keep_doing, NULL) == 0);
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(open_and_choose() ? 7 : 8);
    }
    for (int k = 0; k < 5; ++k) CHECK_THAT(open_and_choose());  // other ranks fork
    int status = 0;
    CHECK_THAT(waitpid(child, &status, 0) == child);
    CHECK_THAT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  atomic_store(&is_over, 1);
  pthread_join(thread, NULL);
  return check_failures;
}
