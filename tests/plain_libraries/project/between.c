#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

#define CHECK(what) \
  if (!(what)) return __LINE__

// The library and this code must mean the same variables, in each rank its own.
int check_settings(int number) {
  CHECK(setting_level == 3 && read_level() == 3);
  setting_level += number;
  usleep(10000);
  CHECK(read_level() == 3 + number);
  CHECK(settings[0].value == &setting_level && strcmp(settings[0].name, "level") == 0);
  CHECK(*settings[0].value == 3 + number);
  CHECK(settings[1].value == NULL);
  *settings[0].value = 90 + number;
  CHECK(read_level() == 90 + number && setting_level == 90 + number);
  CHECK(strcmp(setting_names[0], "level") == 0 &&
        strcmp(setting_names[1], "made") == 0 && !setting_names[2]);
  setting_local += number;
  CHECK(read_local() == 1 + number);
  fprintf(stderr, "settings of %d\n", number);
  return 0;
}
