// A child's exit() writes and rewinds the files of its own rank only. argv[1]: a folder, argv[2]:
// how many ranks there are.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_api.h"

static char path[512];

static FILE* open_own(const char* folder, const char* name, const char* mode) {
  snprintf(path, sizeof path, "%s/%s%d", folder, name, test_rank());
  FILE* file = fopen(path, mode);
  CHECK_THAT(file != NULL);
  return file;
}

static void say(const char* folder, const char* name) {
  fclose(open_own(folder, name, "w"));
}

static void wait_for(const char* folder, const char* name, int rank) {
  snprintf(path, sizeof path, "%s/%s%d", folder, name, rank);
  while (access(path, F_OK) != 0) test_yield();
}

int main(int argc, char** argv) {
  CHECK_THAT(argc == 3);
  FILE* in = open_own(argv[1], "in", "w+");
  fputs("1\n2\n", in);
  rewind(in);
  FILE* out = open_own(argv[1], "out", "w");
  fprintf(out, "once\n");  // stays in the buffer
  char line[16];
  CHECK_THAT(fgets(line, sizeof line, in) != NULL && !strcmp(line, "1\n"));
  const off_t place = lseek(fileno(in), 0, SEEK_CUR);
  say(argv[1], "ready");
  if (test_rank() == 0) {
    for (int rank = 1; rank < atoi(argv[2]); ++rank) wait_for(argv[1], "ready", rank);
    fflush(out);
    const pid_t child = fork();
    if (child == 0) exit(0);
    int status;
    CHECK_THAT(waitpid(child, &status, 0) == child && status == 0);
    say(argv[1], "ended");
  }
  wait_for(argv[1], "ended", 0);
  // In rank 0 as in any process; the others know nothing of the child.
  if (test_rank() != 0) CHECK_THAT(lseek(fileno(in), 0, SEEK_CUR) == place);
  fclose(in);
  fclose(out);
  FILE* file = open_own(argv[1], "out", "r");
  CHECK_THAT(fgets(line, sizeof line, file) != NULL && !strcmp(line, "once\n"));
  CHECK_THAT(fgets(line, sizeof line, file) == NULL);
  fclose(file);
  return check_failures;
}
