#pragma once
extern int library_counter;
extern int* library_pointer;
extern _Thread_local int library_thread_variable;
int library_add(int value);
int second_add(int value);        // of the library's own library
int program_callback(int value);  // of the program
int overridden(void);             // of the second library and of a preloaded one
