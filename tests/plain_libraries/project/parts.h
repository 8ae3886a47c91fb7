// What the libraries of this project offer to its program. None of them knows MPI.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
// libinner: command line, environment and streams of libc. Each returns 0, or the line that found something wrong.
int check_options(int argc, char** argv);
int check_environment(int number);
int check_streams(int number);
int check_thread_locals(int number);
// libouter: the variables of libsettings.
int check_settings(int number);
// The objects.
int check_objects(int argc, char** argv);
extern __thread int objects_local;
// libcxx.
int check_cxx(int number);
// libsettings.
struct setting {
  const char* name;
  int* value;
};
extern int setting_level;
extern struct setting settings[2];
extern const char* setting_names[3];
int read_level(void);
extern __thread int setting_local;
int read_local(void);
#ifdef __cplusplus
}
#endif
