// What libc keeps once per process, and a rank has for itself: locale, time zone, results in
// static memory, handlers of signals, children's environment.
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "host_api.h"

extern char** environ;

static int is_odd(void) { return test_rank() % 2; }

static void yield_often(void) {
  for (int i = 0; i < 20; ++i) test_yield();
}

static void* locale_in_thread(void* unused) {
  CHECK_THAT(MB_CUR_MAX == (is_odd() ? 6 : 1));
  return unused;
}

static void check_locale(void) {
  CHECK_THAT(!strcmp(setlocale(LC_ALL, NULL), "C"));
  if (is_odd()) {
    CHECK_THAT(!strcmp(setlocale(LC_CTYPE, "C.UTF-8"), "C.UTF-8"));
    CHECK_THAT(setlocale(LC_ALL, "no such locale") == NULL);
  }
  yield_often();
  const char* all = setlocale(LC_ALL, NULL);
  CHECK_THAT(is_odd() ? !strncmp(all, "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;", 30)
                      : !strcmp(all, "C"));
  CHECK_THAT(!strcmp(nl_langinfo(CODESET), is_odd() ? "UTF-8" : "ANSI_X3.4-1968"));
  wchar_t wide = 0;
  CHECK_THAT(mbtowc(&wide, "\xc3\xa9", 2) == (is_odd() ? 2 : -1));
  CHECK_THAT(!strcmp(localeconv()->decimal_point, "."));
  pthread_t thread;
  CHECK_THAT(pthread_create(&thread, NULL, locale_in_thread, NULL) == 0);
  pthread_join(thread, NULL);
  CHECK_THAT(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
  // Half a character, and other ranks before the rest.
  if (is_odd()) {
    CHECK_THAT(mbrtowc(&wide, "\xc3", 1, NULL) == (size_t)-2);
    yield_often();
    CHECK_THAT(mbrtowc(&wide, "\xa9", 1, NULL) == 1 && wide == 0xe9);
  }
  setenv("LC_ALL", is_odd() ? "C.UTF-8" : "C", 1);
  CHECK_THAT(!strcmp(setlocale(LC_ALL, ""), is_odd() ? "C.UTF-8" : "C"));
}

static void check_time_zone(void) {
  char zone[32], text[64];
  const int hours = test_rank() % 10;
  snprintf(zone, sizeof zone, "AAA%d", hours);
  setenv("TZ", zone, 1);
  tzset();
  yield_often();
  CHECK_THAT(timezone == 3600L * hours && !strcmp(tzname[0], "AAA"));
  const time_t noon = 12 * 3600;
  struct tm broken;
  for (int i = 0; i < 20; ++i) {
    test_yield();
    CHECK_THAT(localtime(&noon)->tm_hour == 12 - hours);
    CHECK_THAT(localtime_r(&noon, &broken)->tm_hour == 12 - hours);
    CHECK_THAT(mktime(&broken) == noon);
    CHECK_THAT(strftime(text, sizeof text, "%Z", &broken) == 3);
  }
}

static void check_results(void) {
  const struct passwd* root = getpwuid(0);
  const struct protoent* protocol = getprotobyname(is_odd() ? "tcp" : "udp");
  char* digits = l64a(1000 + test_rank());
  char name[L_tmpnam];
  const char* temporary = tmpnam(NULL);
  if (temporary != NULL) strcpy(name, temporary);
  yield_often();
  CHECK_THAT(root == NULL || root->pw_uid == 0);
  CHECK_THAT(protocol == NULL || protocol->p_proto == (is_odd() ? 6 : 17));
  CHECK_THAT(a64l(digits) == 1000 + test_rank());
  CHECK_THAT(temporary == NULL || !strcmp(name, temporary));
  CHECK_THAT(hcreate(10) != 0);
  CHECK_THAT(hsearch((ENTRY){.key = "own", .data = &check_failures}, ENTER) != NULL);
  yield_often();
  CHECK_THAT(hsearch((ENTRY){.key = "own"}, FIND)->data == &check_failures);
  hdestroy();
  volatile double value = is_odd() ? -0.5 : 0.5;
  (void)lgamma(value);
  yield_often();
  CHECK_THAT(signgam == (is_odd() ? -1 : 1));
}

static void check_children(void) {
  char command[100], line[32] = "";
  setenv("MPC_TEST_CHILD", is_odd() ? "odd" : "even", 1);
  snprintf(command, sizeof command, "test \"$MPC_TEST_CHILD\" = %s",
           is_odd() ? "odd" : "even");
  CHECK_THAT(system(command) == 0);
  FILE* pipe = popen("echo $MPC_TEST_CHILD; exit 3", "r");
  CHECK_THAT(pipe != NULL && fgets(line, sizeof line, pipe) != NULL);
  CHECK_THAT(!strcmp(line, is_odd() ? "odd\n" : "even\n"));
  CHECK_THAT(WEXITSTATUS(pclose(pipe)) == 3);
  pipe = popen("read word; test \"$word\" = hello", "w");
  CHECK_THAT(pipe != NULL && fputs("hello\n", pipe) >= 0 && pclose(pipe) == 0);
  // A child can be told to end, although the runtime keeps SIGTERM from its own threads.
  pid_t child = 0;
  char* const argv[] = {"sleep", "100", NULL};
  CHECK_THAT(posix_spawnp(&child, "sleep", NULL, NULL, argv, environ) == 0);
  int status = 0;
  CHECK_THAT(kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child);
  CHECK_THAT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static volatile sig_atomic_t seen, seen_term;
static void on_signal(int signal) {
  if (signal == SIGTERM) ++seen_term;
  if (signal == SIGUSR1) ++seen;
}

static void check_signals(void) {
  struct sigaction action = {.sa_handler = on_signal}, before;
  CHECK_THAT(sigaction(SIGUSR1, &action, &before) == 0 && before.sa_handler == SIG_DFL);
  CHECK_THAT(sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_handler == on_signal);
  CHECK_THAT(signal(SIGUSR2, is_odd() ? SIG_IGN : on_signal) == SIG_DFL);
  CHECK_THAT(signal(SIGTERM, on_signal) == SIG_DFL);
  for (int i = 1; i <= 5; ++i) {
    yield_often();
    CHECK_THAT(raise(SIGUSR1) == 0 && seen == i);
    CHECK_THAT(raise(SIGTERM) == 0 && seen_term == i);
    CHECK_THAT(raise(SIGUSR2) == 0);
  }
  CHECK_THAT(signal(SIGUSR2, SIG_DFL) == (is_odd() ? SIG_IGN : on_signal));
}

int main(int argc, char** argv) {
  check_locale();
  check_time_zone();
  check_results();
  check_children();
  if (argc < 2 || strcmp(argv[1], "without-signals")) check_signals();
  return check_failures;
}
